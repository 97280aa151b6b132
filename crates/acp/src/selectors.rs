//! What a client can choose in a session: the permission mode and the model.
//!
//! Both are config options; the mode is there a second time as the session's `modes`, the older form of the same, and
//! the two are kept in step. [`Selectors`] is what the client has been told of them. A change that the client asked
//! for in one form is told in the other; one that came about otherwise is told in both.

use std::fmt;
use std::sync::Arc;

use weft_agent::{Agent, PermissionMode};
use weft_model::{ModelInfo, Models};
use weft_types::EventBody;

use crate::refusal::RequestError;
use crate::sdk::schema;

/// The ids of the two options.
const MODE: &str = "mode";
const MODEL: &str = "model";

/// What stands for the model as long as none is chosen. It has no slash, so that no model is called so.
const NO_MODEL: &str = "none";

/// How many values an error names.
const NAMED_VALUES: usize = 20;

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// A mode.
    Mode(PermissionMode),
    /// A model, `provider/model`.
    Model(String),
}

/// The form in which a client chose something, and is therefore not told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `session/set_mode`.
    Modes,
    /// `session/set_config_option`, whose answer tells it all.
    Options,
}

/// What the client has been told of a session's selectors.
#[derive(Clone)]
pub(crate) struct Selectors {
    models: Arc<dyn Models>,
    mode: PermissionMode,
    /// The model, `provider/model`; absent as long as there is none to use.
    model: Option<String>,
}

impl fmt::Debug for Selectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selectors")
            .field("mode", &self.mode)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Selectors {
    /// The selectors as they stand with an agent.
    pub(crate) fn of(agent: &Agent) -> Self {
        let models = Arc::clone(agent.models());
        let default = || {
            let model = models.resolve(None).ok()?;
            Some(format!("{}/{}", model.provider, model.name))
        };
        Self {
            mode: agent.mode(),
            model: agent.model().or_else(default),
            models,
        }
    }

    /// The modes, with the one in force.
    pub(crate) fn modes(&self) -> schema::SessionModeState {
        let mode = |mode: PermissionMode| {
            let (name, description) = describe(mode);
            schema::SessionMode::new(mode.as_str(), name).description(description.to_owned())
        };
        schema::SessionModeState::new(self.mode.as_str(), PermissionMode::ALL.map(mode).to_vec())
    }

    /// All options with what is chosen. Without any model there is none to choose.
    pub(crate) fn options(&self) -> Vec<schema::SessionConfigOption> {
        std::iter::once(self.mode_option()).chain(self.model_option()).collect()
    }

    fn mode_option(&self) -> schema::SessionConfigOption {
        let value = |mode: PermissionMode| {
            let (name, description) = describe(mode);
            schema::SessionConfigSelectOption::new(mode.as_str(), name).description(description.to_owned())
        };
        let values = PermissionMode::ALL.map(value).to_vec();
        schema::SessionConfigOption::select(MODE, "Mode", self.mode.as_str(), values)
            .description("What may be done without a question.".to_owned())
            .category(schema::SessionConfigOptionCategory::Mode)
    }

    fn model_option(&self) -> Option<schema::SessionConfigOption> {
        let models = self.listed();
        if models.is_empty() {
            return None;
        }
        let current = self.model.as_deref().unwrap_or(NO_MODEL).to_owned();
        let options = schema::SessionConfigOption::select(MODEL, "Model", current, select(models));
        Some(
            options
                .description("The model that is asked from the next request on.".to_owned())
                .category(schema::SessionConfigOptionCategory::Model),
        )
    }

    /// The models to show: the listed ones and, in front of them if it is not among them, the one in use.
    fn listed(&self) -> Vec<ModelInfo> {
        let mut models = self.models.list();
        match &self.model {
            Some(model) if models.iter().all(|info| info.id != *model) => models.insert(0, self.models.info(model)),
            None if !models.is_empty() => models.insert(
                0,
                ModelInfo {
                    name: "none chosen".to_owned(),
                    ..ModelInfo::unknown(NO_MODEL)
                },
            ),
            _ => {}
        }
        models
    }

    /// What a client's words choose.
    pub(crate) fn parse(&self, option: &str, value: &schema::SessionConfigOptionValue) -> Result<Choice, RequestError> {
        let known: &[&str] = if self.listed().is_empty() {
            &[MODE]
        } else {
            &[MODE, MODEL]
        };
        if !known.contains(&option) {
            return Err(RequestError::invalid(format!("`configId` must be {}", one_of(known))));
        }
        let Some(value) = value.as_value_id() else {
            return Err(RequestError::invalid(format!(
                "`value` of the option `{option}` must be the id of one of its values; leave `type` out"
            )));
        };
        if option == MODE {
            return parse_mode("value", &value.0).map(Choice::Mode);
        }
        let models = self.listed();
        let mut ids = models
            .iter()
            .map(|model| model.id.as_str())
            .filter(|id| *id != NO_MODEL);
        if ids.any(|id| *id == *value.0) {
            return Ok(Choice::Model((*value.0).to_owned()));
        }
        let ids: Vec<_> = models.iter().map(|model| model.id.as_str()).collect();
        Err(RequestError::invalid(format!("`value` must be {}", one_of(&ids))))
    }

    /// Whether that is what stands already.
    pub(crate) fn has(&self, choice: &Choice) -> bool {
        match choice {
            Choice::Mode(mode) => self.mode == *mode,
            Choice::Model(model) => self.model.as_ref() == Some(model),
        }
    }

    /// Notes what the client chose, and gives what it is told of it.
    pub(crate) fn chosen(&mut self, choice: Choice, form: Form) -> Option<schema::SessionUpdate> {
        let is_mode = matches!(choice, Choice::Mode(_));
        self.note(choice);
        match form {
            Form::Modes => Some(self.options_update()),
            Form::Options => is_mode.then(|| self.mode_update()),
        }
    }

    /// Notes what an event says, and gives what the client is told of it: nothing of what it knows.
    pub(crate) fn event(&mut self, body: &EventBody) -> Vec<schema::SessionUpdate> {
        let choice = match body {
            EventBody::SessionMode { mode } => PermissionMode::parse(mode).map(Choice::Mode),
            EventBody::SessionModel { model } => Some(Choice::Model(model.clone())),
            _ => None,
        };
        let Some(choice) = choice.filter(|choice| !self.has(choice)) else {
            return Vec::new();
        };
        let is_mode = matches!(choice, Choice::Mode(_));
        self.note(choice);
        let mode = is_mode.then(|| self.mode_update());
        mode.into_iter().chain([self.options_update()]).collect()
    }

    fn note(&mut self, choice: Choice) {
        match choice {
            Choice::Mode(mode) => self.mode = mode,
            Choice::Model(model) => self.model = Some(model),
        }
    }

    fn mode_update(&self) -> schema::SessionUpdate {
        schema::SessionUpdate::CurrentModeUpdate(schema::CurrentModeUpdate::new(self.mode.as_str()))
    }

    fn options_update(&self) -> schema::SessionUpdate {
        schema::SessionUpdate::ConfigOptionUpdate(schema::ConfigOptionUpdate::new(self.options()))
    }
}

/// The mode of that name, which the client gave as `field`.
pub(crate) fn parse_mode(field: &str, name: &str) -> Result<PermissionMode, RequestError> {
    let names = PermissionMode::ALL.map(PermissionMode::as_str);
    PermissionMode::parse(name).ok_or_else(|| RequestError::invalid(format!("`{field}` must be {}", one_of(&names))))
}

/// A mode's name and what it means, for people.
fn describe(mode: PermissionMode) -> (&'static str, &'static str) {
    match mode {
        PermissionMode::Plan => ("Plan", "Looks and plans, and changes nothing."),
        PermissionMode::Ask => ("Ask", "Asks before it runs commands or changes files."),
        PermissionMode::AcceptEdits => (
            "Accept edits",
            "Changes files in the session's folders without a question, and asks before it runs commands.",
        ),
        PermissionMode::Full => ("Full access", "Never asks."),
    }
}

/// The models as the values of a selector, under their providers if there are several. What is no model stands with
/// the first of them.
fn select(models: Vec<ModelInfo>) -> schema::SessionConfigSelectOptions {
    let mut groups: Vec<schema::SessionConfigSelectGroup> = Vec::new();
    let mut apart = Vec::new();
    for model in models {
        let provider = model.id.split_once('/').map(|(provider, _)| provider.to_owned());
        let value = schema::SessionConfigSelectOption::new(model.id, model.name);
        let Some(provider) = provider else {
            apart.push(value);
            continue;
        };
        match groups.iter_mut().find(|group| *group.group.0 == *provider) {
            Some(group) => group.options.push(value),
            None => groups.push(schema::SessionConfigSelectGroup::new(
                provider.clone(),
                provider,
                vec![value],
            )),
        }
    }
    if let [first, _, ..] = groups.as_mut_slice() {
        first.options.splice(..0, apart);
        return groups.into();
    }
    apart.extend(groups.into_iter().flat_map(|group| group.options));
    apart.into()
}

fn one_of(values: &[&str]) -> String {
    let named: Vec<_> = values
        .iter()
        .take(NAMED_VALUES)
        .map(|value| format!("`{value}`"))
        .collect();
    match (named.as_slice(), values.len().saturating_sub(NAMED_VALUES)) {
        ([one], _) => one.clone(),
        (named, 0) => format!("one of {}", named.join(", ")),
        (named, more) => format!("one of {} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests;

//! What an agent was told to use, and what a session's log tells of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use weft_types::{EventBody, RuleEffect};

use crate::PermissionMode;

/// The model that an agent was told to use, `provider/model`, or none for the default. It may change between two
/// requests.
#[derive(Debug, Default)]
pub struct ModelChoice {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    choice: Option<String>,
    /// Whether it was chosen since the log was last told.
    is_new: bool,
}

impl ModelChoice {
    /// This choice, which no log needs to be told: it is the one that the agent began with.
    pub fn new(choice: Option<String>) -> Self {
        let state = State { choice, is_new: false };
        Self {
            state: Mutex::new(state),
        }
    }

    /// The choice now.
    pub fn get(&self) -> Option<String> {
        self.state().choice.clone()
    }

    /// Chooses another model.
    pub fn set(&self, choice: impl Into<String>) {
        let choice = Some(choice.into());
        let mut state = self.state();
        state.is_new |= state.choice != choice;
        state.choice = choice;
    }

    /// The choice, if the log has not been told of it. It counts as told from here on.
    pub(crate) fn take_new(&self) -> Option<String> {
        let mut state = self.state();
        let is_new = std::mem::take(&mut state.is_new);
        state.choice.clone().filter(|_| is_new)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a store of its own, so that a poisoned lock still guards a sound state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was chosen in a session, as its log tells: a fold of its events, with which the session goes on when it is
/// loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The mode; absent if none was chosen.
    pub mode: Option<PermissionMode>,
    /// The model, `provider/model`: the last one that was chosen or asked; absent if there was neither.
    pub model: Option<String>,
    /// The rules that the user gave in answers to questions, in their order.
    pub rules: Vec<(RuleEffect, String)>,
}

impl Chosen {
    /// Takes the next event. A mode that this version does not know is passed over.
    pub fn push(&mut self, body: &EventBody) {
        match body {
            EventBody::SessionMode { mode } => self.mode = PermissionMode::parse(mode).or(self.mode),
            EventBody::SessionModel { model } | EventBody::RequestHeader { model, .. } => {
                self.model = Some(model.clone());
            }
            EventBody::SessionRule { rule, effect } => self.rules.push((*effect, rule.clone())),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_types::HeaderReason;

    use super::*;

    #[test]
    fn a_choice_is_news_once_and_only_if_it_changed() {
        let choice = ModelChoice::new(Some("a/1".into()));
        assert_eq!(choice.take_new(), None, "what it began with is no news");
        choice.set("a/1");
        assert_eq!(choice.take_new(), None, "nor is the same again");
        choice.set("a/2");
        choice.set("a/3");
        assert_eq!(choice.take_new().as_deref(), Some("a/3"), "the last one counts");
        assert_eq!(choice.take_new(), None);
        assert_eq!(choice.get().as_deref(), Some("a/3"));
    }

    #[test]
    fn the_last_choice_or_request_of_a_log_counts() {
        let header = |model: &str| EventBody::RequestHeader {
            reason: HeaderReason::Initial,
            model: model.to_owned(),
            system: String::new(),
            tools: Vec::new(),
        };
        let mode = |mode: &str| EventBody::SessionMode { mode: mode.to_owned() };
        let mut chosen = Chosen::default();
        for body in [header("a/1"), mode("plan"), mode("a later version's")] {
            chosen.push(&body);
        }
        assert_eq!(
            (chosen.mode, chosen.model.as_deref()),
            (Some(PermissionMode::Plan), Some("a/1"))
        );
        chosen.push(&EventBody::SessionModel { model: "b/2".into() });
        assert_eq!(chosen.model.as_deref(), Some("b/2"));
        chosen.push(&header("b/3"));
        assert_eq!(chosen.model.as_deref(), Some("b/3"));
    }
}

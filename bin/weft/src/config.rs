//! The configuration: layers of settings, later ones win.
//!
//! [`settings`] is the table of everything that can be set; [`Layer`] reads one file; [`Config`] puts
//! the layers over one another: defaults, the user's file, the project's file, environment, flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weft_providers::Facts;

mod agents;
mod error;
mod home;
mod layer;
mod mcp;
mod model;
mod provider;
mod section;
pub(crate) mod settings;
#[cfg(test)]
mod tests;

pub(crate) use agents::{AGENT_KEYS, OtherAgent};
pub(crate) use error::{ConfigError, Source};
pub(crate) use home::Home;
use layer::{Layer, Owner};
pub(crate) use mcp::{MCP_KEYS, McpServer, Reached};
pub(crate) use model::MODEL_KEYS;
pub(crate) use provider::{Endpoint, PROVIDER_KEYS, Provider, ProviderKind};
use settings::{Kind, Setting, Value};

use weft_agent::Rules;

use crate::trust::{Powers, Trust, TrustState};
use crate::workflows;

/// Where a project's own settings stand.
pub(crate) fn project_file(cwd: &Path) -> PathBuf {
    cwd.join(".weft").join("config.toml")
}

/// What the environment and the flags set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// Setting, where the value comes from, the value.
    pub(crate) values: Vec<(&'static Setting, &'static str, String)>,
}

impl Overrides {
    fn read(&self) -> Result<BTreeMap<&'static str, Value>, ConfigError> {
        let mut values = BTreeMap::new();
        for (setting, origin, text) in &self.values {
            let value = setting.kind.parse_text(text).ok_or_else(|| ConfigError::Override {
                origin: (*origin).to_owned(),
                found: text.clone(),
                expected: setting.kind.allowed(),
            })?;
            values.insert(setting.key, value);
        }
        Ok(values)
    }
}

/// A checked configuration. By default, what holds where nothing is set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    values: BTreeMap<&'static str, Value>,
    overrides: BTreeMap<&'static str, Value>,
    /// The folder of the user's own files.
    home: PathBuf,
    pub(crate) providers: BTreeMap<String, Provider>,
    /// What the user trusts.
    trust: Trust,
    /// What of the project's file counts, once there is one.
    pub(crate) project: TrustState,
    /// The MCP servers by name.
    pub(crate) servers: BTreeMap<String, McpServer>,
    /// What the user told of models, by `provider/model`.
    pub(crate) models: BTreeMap<String, Facts>,
    /// The agents of others, by name.
    pub(crate) agents: BTreeMap<String, OtherAgent>,
}

impl Config {
    /// Reads the user's file in `home` and puts the overrides over it.
    pub(crate) fn load(home: &Path, given: &Overrides) -> Result<Self, ConfigError> {
        let Layer {
            values,
            providers,
            servers,
            models,
            agents,
            ..
        } = Layer::read(&home.join("config.toml"), Owner::User)?;
        Ok(Self {
            values,
            overrides: given.read()?,
            home: home.to_owned(),
            providers,
            trust: Trust::below(home),
            project: TrustState::NotNeeded,
            servers,
            models,
            agents,
        })
    }

    /// The defaults with the overrides over them, whatever files there are.
    pub(crate) fn of(given: &Overrides) -> Result<Self, ConfigError> {
        Ok(Self {
            overrides: given.read()?,
            ..Self::default()
        })
    }

    /// This configuration with the project's own file, `.weft/config.toml` below `cwd`, in its place. What needs trust in
    /// it counts only if the user trusts exactly that; [`project`](Self::project) tells.
    ///
    /// The file is read once: what is judged is what counts.
    pub(crate) fn for_project(&self, cwd: &Path) -> Result<Self, ConfigError> {
        let path = project_file(cwd);
        let mut config = self.clone();
        let Some(text) = layer::text(&path)? else {
            return Ok(config);
        };
        let mut layer = Layer::parse(&path, &text, Owner::Project)?;
        config.project = self.trust.of(cwd, &layer.powers);
        if config.project == TrustState::Trusted {
            layer = Layer::parse(&path, &text, Owner::TrustedProject)?;
        }
        config.put_over(layer);
        Ok(config)
    }

    /// What the project's own file sets that needs trust, and the workflows that the project brings along. All of the file
    /// is checked as if it were trusted.
    pub(crate) fn powers_of(cwd: &Path) -> Result<Powers, ConfigError> {
        let mut powers = Layer::read(&project_file(cwd), Owner::TrustedProject)?.powers;
        workflows::add_powers(cwd, &mut powers);
        Ok(powers)
    }

    /// Puts a layer over what is set: lists of rules add up, all else is replaced.
    fn put_over(&mut self, layer: Layer) {
        self.servers.extend(layer.servers);
        for (key, value) in layer.values {
            match (self.values.get_mut(key), value) {
                (Some(Value::Rules(rules)), Value::Rules(more)) => rules.extend(more),
                (_, value) => drop(self.values.insert(key, value)),
            }
        }
    }

    /// Adds rules of the command line to those of the files, which they cannot weaken: the strictest holds.
    pub(crate) fn add_rules(
        &mut self,
        setting: &'static Setting,
        origin: &str,
        rules: &[String],
    ) -> Result<(), ConfigError> {
        for rule in rules {
            Rules::check(rule).map_err(|error| ConfigError::Override {
                origin: origin.to_owned(),
                found: rule.clone(),
                expected: format!("a rule such as `bash(git status *)`: {error}"),
            })?;
        }
        match self.values.get_mut(setting.key) {
            Some(Value::Rules(there)) => there.extend_from_slice(rules),
            _ if rules.is_empty() => {}
            _ => drop(self.values.insert(setting.key, Value::Rules(rules.to_vec()))),
        }
        Ok(())
    }

    /// What the user trusts.
    pub(crate) fn trust(&self) -> &Trust {
        &self.trust
    }

    /// The folder of the user's own files.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The rules of a list, those of every layer.
    pub(crate) fn rules(&self, setting: &Setting) -> &[String] {
        match self.value(setting) {
            Some(Value::Rules(rules)) => rules,
            _ => &[],
        }
    }

    fn value(&self, setting: &Setting) -> Option<&Value> {
        self.overrides.get(setting.key).or_else(|| self.values.get(setting.key))
    }

    /// A whole number.
    pub(crate) fn count(&self, setting: &Setting) -> u64 {
        match (self.value(setting), &setting.kind) {
            (Some(Value::Count(n)), _) => *n,
            (_, Kind::Count { default, .. }) => *default,
            _ => unreachable!("{} is not a count", setting.key),
        }
    }

    /// A whole number as a size in memory.
    pub(crate) fn size(&self, setting: &Setting) -> usize {
        usize::try_from(self.count(setting)).unwrap_or(usize::MAX)
    }

    /// A duration.
    pub(crate) fn span(&self, setting: &Setting) -> Duration {
        match (self.value(setting), &setting.kind) {
            (Some(Value::Span(span)), _) => *span,
            (_, Kind::Span { default, .. }) => *default,
            _ => unreachable!("{} is not a duration", setting.key),
        }
    }

    /// Whether a switch is on.
    pub(crate) fn is_on(&self, setting: &Setting) -> bool {
        matches!(self.value(setting), Some(Value::Switch(true)))
    }

    /// A text or a word; `None` only where there is no default.
    pub(crate) fn text(&self, setting: &Setting) -> Option<&str> {
        match (self.value(setting), &setting.kind) {
            (Some(Value::Text(text)), _) => Some(text),
            (_, Kind::Word { default, .. }) => Some(default),
            _ => None,
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self, setting: &Setting) -> Vec<String> {
        match (self.value(setting), &setting.kind) {
            (Some(Value::Texts(texts)), _) => texts.clone(),
            (_, Kind::Texts { default }) => default.iter().map(|text| (*text).to_owned()).collect(),
            _ => unreachable!("{} is not a list", setting.key),
        }
    }
}

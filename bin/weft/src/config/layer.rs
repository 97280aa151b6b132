//! One layer of the configuration: one file, read and checked.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};
use weft_agent::Rules;
use weft_providers::Facts;

use super::agents::{OtherAgent, parse_agent};
use super::error::{ConfigError, Source};
use super::mcp::{McpServer, parse_server};
use super::model::parse_models;
use super::provider::{Provider, parse_providers};
use super::settings::{Kind, SETTINGS, Setting, Value};
use crate::trust::{Powers, needs_trust};

/// Whose file it is, and so what it may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    User,
    /// A project's file is as trustworthy as the project: it sets no endpoints, credentials or
    /// permissions, and nothing that holds for the whole process. What it sets that [needs trust](needs_trust) is noted
    /// and left aside.
    Project,
    /// The file of a project whose [powers](Layer::powers) the user trusts: they count, the rest is as in any project's.
    TrustedProject,
}

impl Owner {
    fn is_user(self) -> bool {
        self == Self::User
    }
}

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What a file sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Layer {
    pub(crate) values: BTreeMap<&'static str, Value>,
    pub(crate) providers: BTreeMap<String, Provider>,
    /// What a project's file sets that needs trust, whether it counts or not.
    pub(crate) powers: Powers,
    pub(crate) servers: BTreeMap<String, McpServer>,
    /// What the user told of models, by `provider/model`.
    pub(crate) models: BTreeMap<String, Facts>,
    /// The agents of others, by name.
    pub(crate) agents: BTreeMap<String, OtherAgent>,
}

impl Layer {
    /// Reads a file; an absent one sets nothing.
    pub(crate) fn read(path: &Path, owner: Owner) -> Result<Self, ConfigError> {
        match text(path)? {
            Some(text) => Self::parse(path, &text, owner),
            None => Ok(Self::default()),
        }
    }

    /// Reads the text of a file.
    pub(crate) fn parse(path: &Path, text: &str, owner: Owner) -> Result<Self, ConfigError> {
        let source = Source { path, text };
        let root = DeTable::parse(text).map_err(|error| source.syntax(&error))?;
        let mut layer = Self::default();
        layer.table(source, root.get_ref(), "", owner)?;
        Ok(layer)
    }

    fn table(
        &mut self,
        source: Source<'_>,
        table: &DeTable<'_>,
        prefix: &str,
        owner: Owner,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let at = name.span().start;
            if !owner.is_user() && needs_trust(&key) {
                self.powers.add(&key, value.get_ref());
                if owner == Owner::Project {
                    continue;
                }
            }
            if matches!(key.as_str(), "providers" | "models" | "agents") {
                if !owner.is_user() {
                    return Err(source.error(at, refusal(&key)));
                }
                match key.as_str() {
                    "providers" => self.providers = parse_providers(source, value)?,
                    "agents" => self.agents = parse_agents(source, value)?,
                    _ => self.models = parse_models(source, value)?,
                }
            } else if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) {
                if !owner.is_user() && !setting.project {
                    return Err(source.error(at, refusal(&key)));
                }
                self.values.insert(setting.key, read_value(source, setting, value)?);
            } else if prefix == "mcp."
                && let Some(table) = value.get_ref().as_table()
            {
                let server = parse_server(source, name.get_ref(), at, table)?;
                self.servers.insert(name.get_ref().to_string(), server);
            } else if is_table(&key) {
                let Some(inner) = value.get_ref().as_table() else {
                    let found = value.get_ref().type_str();
                    let message = format!("{key}: found a value of type {found}, expected a table");
                    return Err(source.error(value.span().start, message));
                };
                self.table(source, inner, &format!("{key}."), owner)?;
            } else {
                return Err(source.error(at, unknown(&key, prefix)));
            }
        }
        Ok(())
    }
}

fn parse_agents(source: Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, OtherAgent>, ConfigError> {
    let no_table = |key: &str, value: &Spanned<DeValue<'_>>| {
        let found = value.get_ref().type_str();
        let message = format!("{key}: found a value of type {found}, expected a table");
        source.error(value.span().start, message)
    };
    let tables = value.get_ref().as_table().ok_or_else(|| no_table("agents", value))?;
    let mut agents = BTreeMap::new();
    for (name, value) in tables {
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| no_table(&format!("agents.{}", name.get_ref()), value))?;
        let agent = parse_agent(source, name.get_ref(), name.span().start, table)?;
        agents.insert(name.get_ref().to_string(), agent);
    }
    Ok(agents)
}

/// The text of a configuration file, read once: whoever judges it and uses it has the same text. `None` if there is none.
pub(super) fn text(path: &Path) -> Result<Option<String>, ConfigError> {
    match text_of(path) {
        Ok(text) => Ok(Some(text)),
        // A file where the folder is expected holds no file either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(ConfigError::Read {
            path: path.to_owned(),
            error,
        }),
    }
}

/// A project may hold anything under its name: a device would never end, a pipe be waited for.
fn text_of(path: &Path) -> io::Result<String> {
    let file = open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Opens whatever is there without waiting for it, so that what is looked at is what is read.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options.open(path)
}

fn refusal(key: &str) -> String {
    format!("{key}: a project's file may not set this; set it in your own config.toml")
}

/// Whether settings stand below this key.
fn is_table(key: &str) -> bool {
    SETTINGS
        .iter()
        .any(|setting| setting.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

fn unknown(key: &str, prefix: &str) -> String {
    let mut known: Vec<&str> = SETTINGS
        .iter()
        .filter_map(|setting| setting.key.strip_prefix(prefix))
        .map(|rest| rest.split('.').next().unwrap_or(rest))
        .collect();
    if prefix.is_empty() {
        known.extend(["providers", "models", "agents"]);
    }
    known.dedup();
    let or = if prefix == "mcp." {
        ", or a table that is a server"
    } else {
        ""
    };
    format!("{key}: unknown key, expected one of {}{or}", known.join(", "))
}

fn read_value(source: Source<'_>, setting: &Setting, value: &Spanned<DeValue<'_>>) -> Result<Value, ConfigError> {
    if matches!(setting.kind, Kind::Rules) {
        return read_rules(source, setting, value);
    }
    let (read, found) = match value.get_ref() {
        DeValue::String(text) => {
            let read = if matches!(setting.kind, Kind::Count { .. } | Kind::Switch) {
                None
            } else {
                setting.kind.parse_text(text)
            };
            (read, format!("\"{text}\""))
        }
        DeValue::Integer(number) => {
            let read = u64::from_str_radix(number.as_str(), number.radix()).ok();
            (read.and_then(|n| setting.kind.parse_count(n)), number.to_string())
        }
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
            let read = texts.collect::<Option<Vec<String>>>();
            let found = "a list in which something is no text or empty".to_owned();
            match &setting.kind {
                Kind::Texts { .. } => (read.and_then(|texts| setting.kind.parse_texts(texts)), found),
                _ => (None, "a list".to_owned()),
            }
        }
        DeValue::Boolean(value) if matches!(setting.kind, Kind::Switch) => {
            (Some(Value::Switch(*value)), value.to_string())
        }
        other => (None, format!("a value of type {}", other.type_str())),
    };
    read.ok_or_else(|| {
        let message = format!("{}: found {found}, expected {}", setting.key, setting.kind.allowed());
        source.error(value.span().start, message)
    })
}

fn read_rules(source: Source<'_>, setting: &Setting, value: &Spanned<DeValue<'_>>) -> Result<Value, ConfigError> {
    let wrong = |at: &Spanned<DeValue<'_>>, problem: String| {
        source.error(at.span().start, format!("{}: {problem}", setting.key))
    };
    let expected = |at: &Spanned<DeValue<'_>>| {
        let found = at.get_ref().type_str();
        wrong(
            at,
            format!("found a value of type {found}, expected {}", setting.kind.allowed()),
        )
    };
    let items = value.get_ref().as_array().ok_or_else(|| expected(value))?;
    let mut rules = Vec::new();
    for item in items.iter() {
        let rule = item.get_ref().as_str().ok_or_else(|| expected(item))?;
        Rules::check(rule).map_err(|error| wrong(item, error.to_string()))?;
        rules.push(rule.to_owned());
    }
    Ok(Value::Rules(rules))
}

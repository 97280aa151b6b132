//! One of the tables that users name themselves: `[providers.NAME]`, `[mcp.NAME]`, `[models."ID"]`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_spanned::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::{ConfigError, Source};
use super::settings::render;

/// Such a table while it is read: each key by itself, and an error for what does not fit, with its place.
pub(super) struct Section<'a, 'i> {
    pub(super) source: Source<'a>,
    /// What stands before its keys in an error, such as `mcp.github`.
    pub(super) prefix: String,
    pub(super) table: &'a DeTable<'i>,
    /// Where its name stands.
    pub(super) at: usize,
}

impl Section<'_, '_> {
    /// Refuses keys that are not among these; `why` says what they are for, if not for every such table.
    pub(super) fn only(&self, known: &[&str], why: &str) -> Result<(), ConfigError> {
        let is_known = |name: &str| known.contains(&name);
        match self.table.keys().find(|key| !is_known(key.get_ref())) {
            None => Ok(()),
            Some(key) => {
                let (prefix, name, known) = (&self.prefix, key.get_ref(), known.join(", "));
                let message = format!("{prefix}.{name}: unknown key{why}, expected one of {known}");
                Err(self.source.error(key.span().start, message))
            }
        }
    }

    /// Whether the key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The value of a key, if it is there and `read` takes it.
    pub(super) fn read<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        match read(value.get_ref()) {
            Some(read) => Ok(Some(read)),
            None => Err(self.bad(key, &found(value), expected)),
        }
    }

    /// A text that says something.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, ConfigError> {
        let text = self.read(key, "text", |value| value.as_str().map(str::to_owned))?;
        match text {
            Some(text) if text.trim().is_empty() => Err(self.bad(key, "an empty text", "text")),
            text => Ok(text),
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        self.read(key, "true or false", |value| value.as_bool())
    }

    pub(super) fn number(&self, key: &str, allowed: &RangeInclusive<u64>) -> Result<Option<u64>, ConfigError> {
        let expected = format!("a whole number from {} to {}", allowed.start(), allowed.end());
        self.read(key, &expected, |value| {
            whole_number(value).filter(|number| allowed.contains(number))
        })
    }

    pub(super) fn span(&self, key: &str, allowed: &RangeInclusive<Duration>) -> Result<Option<Duration>, ConfigError> {
        let (from, to) = (render(*allowed.start()), render(*allowed.end()));
        self.read(key, &format!("a duration from \"{from}\" to \"{to}\""), |value| {
            let span = humantime::parse_duration(value.as_str()?).ok();
            span.filter(|span| allowed.contains(span))
        })
    }

    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        let expected = "a list of texts";
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.bad(key, &found(value), expected));
        };
        let texts = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
        match texts.collect::<Option<Vec<String>>>() {
            Some(texts) => Ok(Some(texts)),
            None => Err(self.bad(key, "a list in which something is no text", expected)),
        }
    }

    /// A table of texts, empty where there is none. What may be a secret is not shown.
    pub(super) fn map(&self, key: &str) -> Result<BTreeMap<String, String>, ConfigError> {
        let Some(value) = self.table.get(key) else {
            return Ok(BTreeMap::new());
        };
        let wrong = |value: &Spanned<DeValue<'_>>| self.bad(key, &of_type(value), "a table of texts");
        let table = value.get_ref().as_table().ok_or_else(|| wrong(value))?;
        let entry = |(name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
            let text = value.get_ref().as_str().ok_or_else(|| wrong(value))?;
            Ok((name.get_ref().to_string(), text.to_owned()))
        };
        table.iter().map(entry).collect()
    }

    /// The error for a value that does not fit.
    pub(super) fn bad(&self, key: &str, found: &str, expected: &str) -> ConfigError {
        let at = self.table.get(key).map_or(self.at, |value| value.span().start);
        let message = format!("{}.{key}: found {found}, expected {expected}", self.prefix);
        self.source.error(at, message)
    }

    /// The error for a key that has to be there.
    pub(super) fn missing(&self, key: &str, expected: &str) -> ConfigError {
        let message = format!("{}.{key} is missing, expected {expected}", self.prefix);
        self.source.error(self.at, message)
    }
}

/// A whole number, if it is one.
pub(super) fn whole_number(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A number or a text as it stands in the file, for an error; of anything else its type.
fn found(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::String(text) => format!("\"{text}\""),
        _ => of_type(value),
    }
}

/// A value of a type that does not fit, for an error.
pub(super) fn of_type(value: &Spanned<DeValue<'_>>) -> String {
    format!("a value of type {}", value.get_ref().type_str())
}

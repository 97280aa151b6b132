//! Reading a script's tables so that every error names its place, key, finding and expectation.

use std::io;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ScriptError;

/// The longest file that a script may refer to, in bytes.
const MAX_FILE_BYTES: usize = 4 << 20;

/// A script while it is read.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
    /// Reads a file beside the script.
    pub(super) read: &'a dyn Fn(&str) -> io::Result<String>,
}

impl Source<'_> {
    /// The line and column of a byte offset, both from 1.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (
            before.matches('\n').count() + 1,
            before[line_start..].chars().count() + 1,
        )
    }

    /// An error at a byte offset.
    pub(super) fn error(&self, offset: usize, message: impl Into<String>) -> ScriptError {
        let (line, column) = self.place(offset);
        ScriptError::Place {
            path: self.path.to_owned(),
            line,
            column,
            message: message.into(),
        }
    }
}

/// A table of the script.
#[derive(Clone, Copy)]
pub(super) struct Table<'a, 'i> {
    pub(super) source: Source<'a>,
    /// What to call it in an error, such as `reply 2`.
    pub(super) name: &'a str,
    /// Where it begins.
    pub(super) at: usize,
    pub(super) entries: &'a DeTable<'i>,
}

impl<'a, 'i> Table<'a, 'i> {
    /// Refuses keys other than these.
    pub(super) fn allow(&self, keys: &[&str]) -> Result<(), ScriptError> {
        for key in self.entries.keys() {
            let name = key.get_ref().as_ref();
            if !keys.contains(&name) {
                let message = format!(
                    "{}: unknown key `{name}`, expected one of {}",
                    self.name,
                    keys.join(", ")
                );
                return Err(self.source.error(key.span().start, message));
            }
        }
        Ok(())
    }

    /// The value of a key, if it is there.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a, 'i>> {
        let value = self.entries.get(key)?;
        Some(Field {
            source: self.source,
            name: format!("{}: {key}", self.name),
            value,
        })
    }

    /// An error about the table as a whole.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> ScriptError {
        self.source.error(self.at, format!("{}: {message}", self.name))
    }
}

/// A value of the script.
#[derive(Clone)]
pub(super) struct Field<'a, 'i> {
    pub(super) source: Source<'a>,
    /// What to call it in an error, such as `reply 2: turn`.
    pub(super) name: String,
    pub(super) value: &'a Spanned<DeValue<'i>>,
}

impl<'a, 'i> Field<'a, 'i> {
    /// An error at this value.
    pub(super) fn bad(&self, expected: &str) -> ScriptError {
        self.error(format!("found {}, expected {expected}", describe(self.value.get_ref())))
    }

    /// An error at this value, in other words.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> ScriptError {
        self.source
            .error(self.value.span().start, format!("{}: {message}", self.name))
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'a str, ScriptError> {
        self.value.get_ref().as_str().ok_or_else(|| self.bad("a text"))
    }

    /// A text or a list of texts.
    pub(super) fn texts(&self) -> Result<Vec<&'a str>, ScriptError> {
        let expected = "a text or a list of texts";
        match self.value.get_ref() {
            DeValue::String(text) => Ok(vec![text.as_ref()]),
            DeValue::Array(items) => items
                .iter()
                .map(|item| {
                    let field = Self {
                        value: item,
                        ..self.clone()
                    };
                    item.get_ref().as_str().ok_or_else(|| field.bad(expected))
                })
                .collect(),
            _ => Err(self.bad(expected)),
        }
    }

    /// A whole number of at least `min`.
    pub(super) fn whole(&self, min: u64) -> Result<u64, ScriptError> {
        let number = self.value.get_ref().as_integer();
        let number = number.and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        number
            .filter(|n| *n >= min)
            .ok_or_else(|| self.bad(&format!("a whole number of at least {min}")))
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, ScriptError> {
        let found = self.value.get_ref().as_str();
        let known = found.and_then(|found| words.iter().find(|(word, _)| *word == found));
        known.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.bad(&format!("one of {}", words.join(", ")))
        })
    }

    /// A table, to be called as this field is.
    pub(super) fn table(&'a self) -> Result<Table<'a, 'i>, ScriptError> {
        let entries = self.value.get_ref().as_table().ok_or_else(|| self.bad("a table"))?;
        Ok(Table {
            source: self.source,
            name: &self.name,
            at: self.value.span().start,
            entries,
        })
    }

    /// The text of the file that this value names.
    pub(super) fn file(&self) -> Result<String, ScriptError> {
        let path = self.text()?;
        let text = (self.source.read)(path).map_err(|error| {
            self.error(format!(
                "cannot read \"{path}\" ({error}), expected a file beside the script"
            ))
        })?;
        if text.len() > MAX_FILE_BYTES {
            let found = text.len();
            return Err(self.error(format!(
                "\"{path}\" has {found} bytes, expected at most {MAX_FILE_BYTES}"
            )));
        }
        Ok(text)
    }
}

/// What a value is, for an error; long texts are not repeated.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() <= 60 => format!("\"{text}\""),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        other => match other.type_str() {
            kind @ "array" => format!("an {kind}"),
            kind => format!("a {kind}"),
        },
    }
}

//! Settings: what they hold, which values they take, and the table of all of them.

use std::time::Duration;

mod table;

pub(crate) use table::*;

/// What a setting holds and which values it takes.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A whole number, both bounds included.
    Count {
        /// Used where no layer sets it.
        default: u64,
        min: u64,
        max: u64,
    },
    /// A duration such as `"50ms"`, `"5s"` or `"1h 30m"`, both bounds included.
    Span {
        /// Used where no layer sets it.
        default: Duration,
        min: Duration,
        max: Duration,
    },
    /// One of some words.
    Word {
        /// Used where no layer sets it.
        default: &'static str,
        words: &'static [&'static str],
    },
    /// `true` or `false`; `false` where no layer sets it.
    Switch,
    /// Any text; without a default.
    Text,
    /// A list of permission rules, to which each layer adds; empty by default.
    Rules,
    /// Any number of texts, none of them empty.
    Texts {
        /// Used where no layer sets it.
        default: &'static [&'static str],
    },
}

/// One setting of `config.toml`.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its key, tables joined by dots.
    pub(crate) key: &'static str,
    /// Its values.
    pub(crate) kind: Kind,
    /// Whether a project's `.weft/config.toml` may set it.
    pub(crate) project: bool,
    /// What it does, one sentence.
    pub(crate) doc: &'static str,
}

/// A value read from a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Count(u64),
    Span(Duration),
    Switch(bool),
    Text(String),
    Texts(Vec<String>),
    Rules(Vec<String>),
}

impl Kind {
    /// What is allowed, for an error or the documentation.
    pub(crate) fn allowed(&self) -> String {
        match self {
            Self::Count { min, max, .. } => format!("a whole number from {min} to {max}"),
            Self::Span { min, max, .. } => {
                format!("a duration from \"{}\" to \"{}\"", render(*min), render(*max))
            }
            Self::Word { words, .. } => words
                .iter()
                .map(|word| format!("\"{word}\""))
                .collect::<Vec<_>>()
                .join(" or "),
            Self::Switch => "true or false".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Texts { .. } => "a list of texts".to_owned(),
            Self::Rules => "a list of rules, such as [\"bash(git status)\"]".to_owned(),
        }
    }

    /// The default as it would stand in the file.
    pub(crate) fn default_text(&self) -> String {
        match self {
            Self::Count { default, .. } => default.to_string(),
            Self::Span { default, .. } => format!("\"{}\"", render(*default)),
            Self::Word { default, .. } => format!("\"{default}\""),
            Self::Switch => "false".to_owned(),
            Self::Text | Self::Rules => "none".to_owned(),
            Self::Texts { default } => {
                let quoted: Vec<String> = default.iter().map(|text| format!("\"{text}\"")).collect();
                format!("[{}]", quoted.join(", "))
            }
        }
    }

    /// Reads a value written as text (an environment variable, a flag, a string of the file).
    pub(crate) fn parse_text(&self, text: &str) -> Option<Value> {
        match self {
            Self::Count { .. } => text.parse().ok().and_then(|n| self.parse_count(n)),
            Self::Span { min, max, .. } => {
                let span = humantime::parse_duration(text).ok()?;
                (*min <= span && span <= *max).then_some(Value::Span(span))
            }
            Self::Word { words, .. } => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Switch => text.parse().ok().map(Value::Switch),
            Self::Text => (!text.trim().is_empty()).then(|| Value::Text(text.to_owned())),
            Self::Texts { .. } | Self::Rules => None,
        }
    }

    /// Reads a list.
    pub(crate) fn parse_texts(&self, texts: Vec<String>) -> Option<Value> {
        let is_sound = matches!(self, Self::Texts { .. }) && texts.iter().all(|text| !text.trim().is_empty());
        is_sound.then_some(Value::Texts(texts))
    }

    /// Reads a whole number.
    pub(crate) fn parse_count(&self, n: u64) -> Option<Value> {
        match self {
            Self::Count { min, max, .. } => (*min <= n && n <= *max).then_some(Value::Count(n)),
            _ => None,
        }
    }
}

/// A duration as the file writes it.
pub(crate) fn render(span: Duration) -> String {
    if span.is_zero() {
        "0ms".to_owned()
    } else {
        humantime::format_duration(span).to_string()
    }
}

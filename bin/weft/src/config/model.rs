//! The `[models."provider/name"]` tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};
use weft_providers::Facts;

use super::error::{ConfigError, Source};

/// The keys of a model's table: name, what it takes.
pub(crate) const MODEL_KEYS: &[(&str, &str)] = &[
    ("name", "a name for people"),
    (
        "context_window",
        "the most tokens of one request and its answer together, 1 to 100000000",
    ),
    ("max_output", "the most tokens of one answer, 1 to 100000000"),
    ("images", "whether it takes pictures; without `false` it is assumed to"),
    ("tools", "whether it calls tools"),
    (
        "input_price",
        "US dollars for a million tokens of requests, 0 to 10000; together with `output_price`",
    ),
    ("output_price", "the same for answers"),
    (
        "cached_input_price",
        "the same for what of a request came from the provider's cache, absent where it costs as much as the rest",
    ),
];

const TOKENS: RangeInclusive<u64> = 1..=100_000_000;
const PRICES: RangeInclusive<f64> = 0.0..=10_000.0;

/// Reads the `models` table.
pub(crate) fn parse_models(
    source: Source<'_>,
    table: &Spanned<DeValue<'_>>,
) -> Result<BTreeMap<String, Facts>, ConfigError> {
    let expected = "expected tables such as [models.\"deepseek/deepseek-chat\"]";
    let Some(named) = table.get_ref().as_table() else {
        return Err(source.error(table.span().start, format!("models: {expected}")));
    };
    let mut models = BTreeMap::new();
    for (id, value) in named {
        let name = id.get_ref().as_ref();
        let is_id = |(provider, model): (&str, &str)| !provider.is_empty() && !model.is_empty();
        let Some(table) = value.get_ref().as_table() else {
            let found = value.get_ref().type_str();
            let message = format!("models.{name}: found a value of type {found}, {expected}");
            return Err(source.error(value.span().start, message));
        };
        if !name.split_once('/').is_some_and(is_id) {
            let message = format!("models.{name}: found a name without a provider, {expected}");
            return Err(source.error(id.span().start, message));
        }
        let reader = Reader {
            source,
            id: name,
            table,
            at: id.span().start,
        };
        models.insert(name.to_owned(), reader.facts()?);
    }
    Ok(models)
}

/// One model's table while it is read.
struct Reader<'a, 'i> {
    source: Source<'a>,
    id: &'a str,
    table: &'a DeTable<'i>,
    at: usize,
}

impl Reader<'_, '_> {
    fn facts(&self) -> Result<Facts, ConfigError> {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !MODEL_KEYS.iter().any(|(known, _)| *known == name) {
                let known: Vec<&str> = MODEL_KEYS.iter().map(|(key, _)| *key).collect();
                let message = format!("{}: unknown key, expected one of {}", self.key(name), known.join(", "));
                return Err(self.source.error(key.span().start, message));
            }
        }
        let facts = Facts {
            name: self.read("name", "text", |value| {
                let text = value.as_str().filter(|text| !text.trim().is_empty())?;
                Some(text.to_owned())
            })?,
            context_window: self.tokens("context_window")?,
            max_output: self.tokens("max_output")?,
            images: self.read("images", "true or false", |value| value.as_bool())?,
            tools: self.read("tools", "true or false", |value| value.as_bool())?,
            input_price: self.price("input_price")?,
            output_price: self.price("output_price")?,
            cached_input_price: self.price("cached_input_price")?,
        };
        self.together(&facts)?;
        Ok(facts)
    }

    /// Refuses prices that miss their other half.
    fn together(&self, facts: &Facts) -> Result<(), ConfigError> {
        let missing = match (facts.input_price, facts.output_price) {
            (Some(_), Some(_)) => return Ok(()),
            (None, None) if facts.cached_input_price.is_none() => return Ok(()),
            (Some(_), None) => "output_price",
            (None, _) => "input_price",
        };
        let message = format!("{} is missing, expected it with the other prices", self.key(missing));
        Err(self.source.error(self.at, message))
    }

    fn tokens(&self, key: &str) -> Result<Option<u64>, ConfigError> {
        let expected = format!("a whole number from {} to {}", TOKENS.start(), TOKENS.end());
        self.read(key, &expected, |value| {
            let number = value.as_integer()?;
            let number = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
            TOKENS.contains(&number).then_some(number)
        })
    }

    fn price(&self, key: &str) -> Result<Option<f64>, ConfigError> {
        let expected = format!("a number from {} to {}", PRICES.start(), PRICES.end());
        self.read(key, &expected, |value| {
            let number: f64 = match value {
                DeValue::Integer(number) => number.as_str().parse().ok()?,
                DeValue::Float(number) => number.as_str().parse().ok()?,
                _ => return None,
            };
            PRICES.contains(&number).then_some(number)
        })
    }

    fn read<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        if let Some(read) = read(value.get_ref()) {
            return Ok(Some(read));
        }
        let found = match value.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::String(text) => format!("\"{text}\""),
            other => format!("a value of type {}", other.type_str()),
        };
        let message = format!("{}: found {found}, expected {expected}", self.key(key));
        Err(self.source.error(value.span().start, message))
    }

    fn key(&self, key: &str) -> String {
        format!("models.\"{}\".{key}", self.id)
    }
}

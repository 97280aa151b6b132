//! The `[models."provider/name"]` tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_spanned::Spanned;
use toml::de::DeValue;
use weft_providers::Facts;

use super::error::{ConfigError, Source};
use super::section::Section;

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
        let section = Section {
            source,
            prefix: format!("models.\"{name}\""),
            table,
            at: id.span().start,
        };
        models.insert(name.to_owned(), facts(&section)?);
    }
    Ok(models)
}

fn facts(section: &Section<'_, '_>) -> Result<Facts, ConfigError> {
    let known: Vec<&str> = MODEL_KEYS.iter().map(|(key, _)| *key).collect();
    section.only(&known, "")?;
    let facts = Facts {
        name: section.text("name")?,
        context_window: section.number("context_window", &TOKENS)?,
        max_output: section.number("max_output", &TOKENS)?,
        images: section.flag("images")?,
        tools: section.flag("tools")?,
        input_price: price(section, "input_price")?,
        output_price: price(section, "output_price")?,
        cached_input_price: price(section, "cached_input_price")?,
    };
    together(section, &facts)?;
    Ok(facts)
}

/// Refuses prices that miss their other half.
fn together(section: &Section<'_, '_>, facts: &Facts) -> Result<(), ConfigError> {
    let missing = match (facts.input_price, facts.output_price) {
        (Some(_), Some(_)) => return Ok(()),
        (None, None) if facts.cached_input_price.is_none() => return Ok(()),
        (Some(_), None) => "output_price",
        (None, _) => "input_price",
    };
    Err(section.missing(missing, "it with the other prices"))
}

fn price(section: &Section<'_, '_>, key: &str) -> Result<Option<f64>, ConfigError> {
    let expected = format!("a number from {} to {}", PRICES.start(), PRICES.end());
    section.read(key, &expected, |value| {
        let number: f64 = match value {
            DeValue::Integer(number) => number.as_str().parse().ok()?,
            DeValue::Float(number) => number.as_str().parse().ok()?,
            _ => return None,
        };
        PRICES.contains(&number).then_some(number)
    })
}

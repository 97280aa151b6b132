//! What the file holds, taken for nothing but what it should be: a rule that is not seen does not hold.

use serde_spanned::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use weft_agent::Rules;
use weft_types::RuleEffect;

use super::key_of;
use crate::config::{ConfigError, Source};

const EXPECTED: &str = "expected [projects.\"FOLDER\"] with allow, ask and deny, lists of rules";

/// The rules of one project, in their order. The shape of the whole file is judged, the rules of this project only.
pub(super) fn rules_of(source: &Source<'_>, project: &str) -> Result<Vec<(RuleEffect, String)>, ConfigError> {
    let root = DeTable::parse(source.text).map_err(|error| source.syntax(&error))?;
    let mut rules = Vec::new();
    for (key, projects) in root.get_ref() {
        if key.get_ref() != "projects" {
            return Err(unknown(source, key, key.get_ref()));
        }
        for (folder, lists) in table(source, projects, "projects")? {
            let name = format!("projects.\"{}\"", folder.get_ref());
            for (effect, list) in table(source, lists, &name)? {
                let name = format!("{name}.{}", effect.get_ref());
                let effect = effect_of(effect.get_ref()).ok_or_else(|| unknown(source, effect, &name))?;
                let list = texts(source, list, &name)?;
                if folder.get_ref() == project {
                    for (at, rule) in list {
                        Rules::check(rule).map_err(|error| source.error(at, format!("{name}: {error}")))?;
                        rules.push((effect, rule.to_owned()));
                    }
                }
            }
        }
    }
    Ok(rules)
}

fn effect_of(key: &str) -> Option<RuleEffect> {
    let effects = [RuleEffect::Allow, RuleEffect::Ask, RuleEffect::Deny];
    effects.into_iter().find(|effect| key_of(*effect) == key)
}

fn table<'t, 's>(
    source: &Source<'_>,
    value: &'t Spanned<DeValue<'s>>,
    name: &str,
) -> Result<&'t DeTable<'s>, ConfigError> {
    value.get_ref().as_table().ok_or_else(|| wrong(source, value, name))
}

/// The texts of a list with their places.
fn texts<'t>(
    source: &Source<'_>,
    value: &'t Spanned<DeValue<'_>>,
    name: &str,
) -> Result<Vec<(usize, &'t str)>, ConfigError> {
    let items = value.get_ref().as_array().ok_or_else(|| wrong(source, value, name))?;
    let text = |item: &'t Spanned<DeValue<'_>>| {
        let text = item.get_ref().as_str().ok_or_else(|| wrong(source, item, name))?;
        Ok((item.span().start, text))
    };
    items.iter().map(text).collect()
}

fn wrong(source: &Source<'_>, value: &Spanned<DeValue<'_>>, name: &str) -> ConfigError {
    let found = value.get_ref().type_str();
    source.error(
        value.span().start,
        format!("{name}: found a value of type {found}, {EXPECTED}"),
    )
}

fn unknown(source: &Source<'_>, key: &Spanned<DeString<'_>>, name: &str) -> ConfigError {
    source.error(key.span().start, format!("{name}: unknown key, {EXPECTED}"))
}

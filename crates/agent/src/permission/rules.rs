//! All rules that are in force, and what they say of a call.

use weft_tools::{Access, ProposedCall};
use weft_types::RuleEffect;

use super::rule::{Rule, RuleError, RuleFolders, Unit};

/// Rules about calls. A rule that denies is stricter than one that asks, and that than one that allows; which of them is
/// more specific, or came later, does not matter.
///
/// A call is held back by a rule that is about anything of it. It is allowed if all of it is: each of its commands, each
/// of its places. A command whose parts cannot be told is not allowed by a rule about some commands.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    folders: RuleFolders,
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
}

/// What the rules say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    /// This rule denies it.
    Denied(String),
    /// The user is asked.
    Asked,
    /// It may run.
    Allowed,
    /// Nothing, but there are rules that deny some commands, and this one's parts cannot be told.
    Unclear,
    /// Nothing.
    Open,
}

impl Rules {
    /// No rules, for paths that start in these folders.
    pub fn new(folders: RuleFolders) -> Self {
        Self {
            folders,
            ..Self::default()
        }
    }

    /// Whether a text is a rule.
    ///
    /// # Errors
    /// It is none; the text says what was expected.
    pub fn check(rule: &str) -> Result<(), RuleError> {
        let folders = RuleFolders {
            cwd: "/".into(),
            home: Some("/".into()),
        };
        Rule::parse(rule, &folders).map(drop)
    }

    /// Puts a rule in force. The links in the beginning of its path are followed now.
    ///
    /// # Errors
    /// It is none, or needs a home that is not known; nothing changes.
    pub fn add(&mut self, effect: RuleEffect, rule: &str) -> Result<(), RuleError> {
        let rule = Rule::parse(rule, &self.folders)?;
        let list = match effect {
            RuleEffect::Allow => &mut self.allow,
            RuleEffect::Ask => &mut self.ask,
            RuleEffect::Deny => &mut self.deny,
        };
        if !list.contains(&rule) {
            list.push(rule);
        }
        Ok(())
    }

    pub(super) fn judge(&self, call: &ProposedCall<'_>) -> Ruling {
        let (tool, access) = (call.name, call.access);
        if let Some(rule) = self.deny.iter().find(|rule| rule.holds_back(tool, access)) {
            return Ruling::Denied(rule.text().to_owned());
        }
        if self.ask.iter().any(|rule| rule.holds_back(tool, access)) {
            return Ruling::Asked;
        }
        let is_unclear = matches!(access, Access::Execute(command) if command.parts.is_none())
            && self.deny.iter().any(|rule| rule.looks_at_commands(tool, access));
        if is_unclear {
            return Ruling::Unclear;
        }
        match self.allows(tool, access) {
            true => Ruling::Allowed,
            false => Ruling::Open,
        }
    }

    fn allows(&self, tool: &str, access: &Access) -> bool {
        let some_rule = |unit: Unit<'_>| self.allow.iter().any(|rule| rule.allows(tool, access, unit));
        match access {
            Access::Execute(command) => match &command.parts {
                Some(parts) if !parts.is_empty() => parts.iter().all(|part| some_rule(Unit::Command(part))),
                _ => some_rule(Unit::Call),
            },
            Access::Read(places) | Access::Edit(places) if !places.is_empty() => {
                places.iter().all(|place| some_rule(Unit::Place(&place.path)))
            }
            Access::Fetch { url } => some_rule(Unit::Url(url)),
            Access::Script(script) => some_rule(Unit::Script(&script.digest)),
            Access::Read(_) | Access::Edit(_) | Access::Harmless | Access::Other => some_rule(Unit::Call),
        }
    }
}

#[cfg(test)]
mod tests;

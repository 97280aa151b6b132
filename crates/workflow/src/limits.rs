//! What a run may use, and what it has used.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What one run may use. As a request it lowers the engine's own limits, and what is absent is left to them; of a run
/// it is what the run is held to, and what is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunLimits {
    /// How many members it may start in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<u64>,
    /// How many of them may work at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// How many seconds it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// How many tokens its members, and the agents below them, may use before no further member is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How many US cents they may cost before no further member is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_cents: Option<u64>,
}

/// A limit of [`RunLimits`] that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Limit {
    /// [`RunLimits::agents`].
    Agents,
    /// [`RunLimits::seconds`].
    Time,
    /// [`RunLimits::tokens`].
    Tokens,
    /// [`RunLimits::cost_cents`].
    Cost,
}

impl Limit {
    /// What it limits, in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Time => "time",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the members of a run, and the agents below them, have used, as far as their providers told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// The tokens of their requests and answers, cached ones included.
    pub tokens: u64,
    /// What they cost in US dollars, as far as prices are known.
    pub cost_usd: f64,
}

impl Spent {
    /// The first of a run's limits on what is spent that has been reached.
    #[expect(
        clippy::cast_precision_loss,
        reason = "more cents than a float counts exactly are never spent"
    )]
    pub fn exhausts(&self, limits: &RunLimits) -> Option<Limit> {
        let reached = |limit: Option<u64>, spent: f64| limit.is_some_and(|limit| spent >= limit as f64);
        if limits.tokens.is_some_and(|limit| self.tokens >= limit) {
            Some(Limit::Tokens)
        } else if reached(limits.cost_cents, self.cost_usd * 100.0) {
            Some(Limit::Cost)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_when_all_of_it_is_spent() {
        let limits = RunLimits {
            tokens: Some(100),
            cost_cents: Some(50),
            ..RunLimits::default()
        };
        let after = |tokens, cost_usd| Spent { tokens, cost_usd }.exhausts(&limits);
        assert_eq!(after(99, 0.49), None);
        assert_eq!(after(100, 0.0), Some(Limit::Tokens));
        assert_eq!(after(0, 0.5), Some(Limit::Cost));
        let spent = Spent {
            tokens: u64::MAX,
            cost_usd: f64::MAX,
        };
        assert_eq!(spent.exhausts(&RunLimits::default()), None, "what is not limited");
    }

    #[test]
    fn limits_are_read_by_name_and_unknown_ones_are_refused() {
        let limits = |json: &str| serde_json::from_str::<RunLimits>(json).map_err(|error| error.to_string());
        let read = limits(r#"{ "tokens": 5, "costCents": 7 }"#).expect("known names");
        assert_eq!((read.tokens, read.cost_cents, read.agents), (Some(5), Some(7), None));
        let error = limits(r#"{ "dollars": 5 }"#).expect_err("an unknown name");
        assert!(error.contains("dollars") && error.contains("costCents"), "{error}");
    }
}

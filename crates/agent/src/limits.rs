//! The bounds of agents.

use std::time::Duration;

use weft_tools::{CallLimits, InvalidLimit};

/// The bounds of an agent's turns.
///
/// By default a turn makes at most 200 model requests, and the same calls that fail 8 times in a row end it. A request
/// has up to 5 attempts; the waits between them
/// grow from 500 ms to 30 s, unless the endpoint asks for more, which is granted up to 120 s. One answer
/// may have 16 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub(crate) max_steps: u32,
    pub(crate) max_repeats: u32,
    pub(crate) attempts: u32,
    pub(crate) backoff: Duration,
    pub(crate) backoff_max: Duration,
    pub(crate) retry_after_max: Duration,
    pub(crate) answer_bytes: usize,
    pub(crate) calls: CallLimits,
    pub(crate) context: ContextLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 200,
            max_repeats: 8,
            attempts: 5,
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(30),
            retry_after_max: Duration::from_secs(120),
            answer_bytes: 16 << 20,
            calls: CallLimits::default(),
            context: ContextLimits::default(),
        }
    }
}

impl Limits {
    /// Sets how many steps, each one model request and its tool calls, a turn may have: 1 to 10 000. A
    /// turn that would need more ends with [`TurnEnd::MaxSteps`](weft_types::TurnEnd::MaxSteps).
    pub fn max_steps(self, max_steps: u32) -> Result<Self, InvalidLimit> {
        let max_steps = InvalidLimit::check("agent.max_steps", max_steps, &(1..=10_000))?;
        Ok(Self { max_steps, ..self })
    }

    /// Sets how many steps in a row may make the very same calls although all of them fail: 2 to 1 000. The turn then ends
    /// in error.
    pub fn max_repeats(self, max_repeats: u32) -> Result<Self, InvalidLimit> {
        let max_repeats = InvalidLimit::check("agent.max_repeats", max_repeats, &(2..=1_000))?;
        Ok(Self { max_repeats, ..self })
    }

    /// Sets how often one request is sent before its failure ends the turn: 1 (no retry) to 20.
    pub fn attempts(self, attempts: u32) -> Result<Self, InvalidLimit> {
        let attempts = InvalidLimit::check("agent.max_attempts", attempts, &(1..=20))?;
        Ok(Self { attempts, ..self })
    }

    /// Sets the wait before the second attempt, which doubles for each further one: 1 ms to 60 s.
    pub fn backoff(self, backoff: Duration) -> Result<Self, InvalidLimit> {
        let backoff = InvalidLimit::check_millis("retry.backoff_ms", backoff, &(1..=60_000))?;
        Ok(Self { backoff, ..self })
    }

    /// Sets where the doubling of the wait stops: 1 ms to 10 min.
    pub fn backoff_max(self, backoff_max: Duration) -> Result<Self, InvalidLimit> {
        let backoff_max = InvalidLimit::check_millis("retry.backoff_max_ms", backoff_max, &(1..=600_000))?;
        Ok(Self { backoff_max, ..self })
    }

    /// Sets the longest wait that an endpoint may ask for: 0 to 1 h. One that asks for more is not asked
    /// again; its error ends the turn.
    pub fn retry_after_max(self, retry_after_max: Duration) -> Result<Self, InvalidLimit> {
        let retry_after_max = InvalidLimit::check_millis("agent.max_retry_wait", retry_after_max, &(0..=3_600_000))?;
        Ok(Self {
            retry_after_max,
            ..self
        })
    }

    /// Sets how large one answer may grow, text, reasoning and calls together: 1 KiB to 1 GiB. A longer one
    /// is cut off there and ends the turn in error.
    pub fn answer_bytes(self, answer_bytes: usize) -> Result<Self, InvalidLimit> {
        let answer_bytes = InvalidLimit::check("answer_bytes", answer_bytes, &(1 << 10..=1 << 30))?;
        Ok(Self { answer_bytes, ..self })
    }

    /// Sets how much of the model's context is used.
    #[must_use]
    pub fn context(self, context: ContextLimits) -> Self {
        Self { context, ..self }
    }

    /// Sets how the calls of one step are scheduled.
    #[must_use]
    pub fn calls(self, calls: CallLimits) -> Self {
        Self { calls, ..self }
    }
}

/// How much of a model's context is used for what.
///
/// By default the conversation is summed up when 85 percent are full, and the results of one step may take 30 percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimits {
    compact_at: u64,
    results: u64,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            compact_at: 85,
            results: 30,
        }
    }
}

impl ContextLimits {
    /// Sets how full the context may be before the conversation is summed up, in percent: 20 to 100. At 100 it is
    /// summed up only when the provider refuses a request as too long.
    pub fn compact_at(self, percent: u64) -> Result<Self, InvalidLimit> {
        let compact_at = InvalidLimit::check("context.compact_at", percent, &(20..=100))?;
        Ok(Self { compact_at, ..self })
    }

    /// Sets how much of the context the results of one step may take together, in percent: 5 to 90.
    pub fn results(self, percent: u64) -> Result<Self, InvalidLimit> {
        let results = InvalidLimit::check("context.results_percent", percent, &(5..=90))?;
        Ok(Self { results, ..self })
    }

    pub(crate) fn is_full(&self, tokens: u64, window: u64) -> bool {
        self.compact_at < 100 && tokens.saturating_mul(100) >= window.saturating_mul(self.compact_at)
    }

    /// The tokens that the results of one step may take together.
    pub(crate) fn results_of(&self, window: u64) -> u64 {
        window.saturating_mul(self.results) / 100
    }
}

/// The bounds of the in-process subagents.
///
/// By default they nest 3 deep; one that must answer in a schema is reminded twice if it does not, and
/// may get its answer wrong 5 times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubagentLimits {
    pub(crate) max_depth: u32,
    pub(crate) reminders: u32,
    pub(crate) schema_tries: u32,
}

impl Default for SubagentLimits {
    fn default() -> Self {
        Self {
            max_depth: 3,
            reminders: 2,
            schema_tries: 5,
        }
    }
}

impl SubagentLimits {
    /// Sets how many parents a subagent may have above it: 1 to 16.
    pub fn max_depth(self, max_depth: u32) -> Result<Self, InvalidLimit> {
        let max_depth = InvalidLimit::check("agent.max_depth", max_depth, &(1..=16))?;
        Ok(Self { max_depth, ..self })
    }

    /// Sets how often a subagent that finished without its structured answer is asked for it: 0 to 10.
    pub fn reminders(self, reminders: u32) -> Result<Self, InvalidLimit> {
        let reminders = InvalidLimit::check("subagents.reminders", reminders, &(0..=10))?;
        Ok(Self { reminders, ..self })
    }

    /// Sets how many structured answers that do not fit the schema end a subagent: 1 to 20.
    pub fn schema_tries(self, schema_tries: u32) -> Result<Self, InvalidLimit> {
        let schema_tries = InvalidLimit::check("subagents.schema_tries", schema_tries, &(1..=20))?;
        Ok(Self { schema_tries, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T>(set: impl Fn(T) -> Result<Limits, InvalidLimit>, bad: [T; 2], good: [T; 2], expected: &str) {
        for value in good {
            set(value).expect("in range");
        }
        let texts: Vec<String> = bad
            .into_iter()
            .map(|value| set(value).expect_err("out of range").to_string())
            .collect();
        assert_eq!(texts.join("; "), expected);
    }

    #[test]
    fn every_setting_is_checked_and_its_error_names_it() {
        let (limits, ms) = (Limits::default(), Duration::from_millis);
        check(
            |n| limits.max_steps(n),
            [0, 10_001],
            [1, 10_000],
            "limit agent.max_steps is 0, expected 1 to 10000; limit agent.max_steps is 10001, expected 1 to 10000",
        );
        check(
            |n| limits.max_repeats(n),
            [1, 1_001],
            [2, 1_000],
            "limit agent.max_repeats is 1, expected 2 to 1000; limit agent.max_repeats is 1001, expected 2 to 1000",
        );
        check(
            |n| limits.attempts(n),
            [0, 21],
            [1, 20],
            "limit agent.max_attempts is 0, expected 1 to 20; limit agent.max_attempts is 21, expected 1 to 20",
        );
        check(
            |n| limits.backoff(ms(n)),
            [0, 60_001],
            [1, 60_000],
            "limit retry.backoff_ms is 0, expected 1 to 60000; limit retry.backoff_ms is 60001, expected 1 to 60000",
        );
        check(
            |n| limits.backoff_max(ms(n)),
            [0, 600_001],
            [1, 600_000],
            "limit retry.backoff_max_ms is 0, expected 1 to 600000; \
             limit retry.backoff_max_ms is 600001, expected 1 to 600000",
        );
        check(
            |n| limits.retry_after_max(n),
            [ms(3_600_001), Duration::MAX],
            [ms(0), ms(3_600_000)],
            "limit agent.max_retry_wait is 3600001, expected 0 to 3600000; \
             limit agent.max_retry_wait is 18446744073709551615, expected 0 to 3600000",
        );
        check(
            |n| limits.answer_bytes(n),
            [1_023, (1 << 30) + 1],
            [1_024, 1 << 30],
            "limit answer_bytes is 1023, expected 1024 to 1073741824; \
             limit answer_bytes is 1073741825, expected 1024 to 1073741824",
        );
    }

    #[test]
    fn the_context_is_full_at_its_limit_and_never_at_a_hundred_percent() {
        let limits = ContextLimits::default();
        assert!(limits.is_full(85, 100) && !limits.is_full(84, 100));
        let never = limits.compact_at(100).expect("in range");
        assert!(!never.is_full(1_000, 100));
        assert_eq!(limits.results_of(1_000), 300);
        let errors = [limits.compact_at(19), limits.compact_at(101), limits.results(4)];
        let settings: Vec<_> = errors.map(|error| error.expect_err("out of range").setting()).into();
        assert_eq!(
            settings,
            ["context.compact_at", "context.compact_at", "context.results_percent"]
        );
    }

    #[test]
    fn settings_of_subagents_are_checked_too() {
        let limits = SubagentLimits::default();
        let errors = [
            limits.max_depth(0),
            limits.max_depth(17),
            limits.reminders(11),
            limits.schema_tries(0),
            limits.schema_tries(21),
        ];
        let settings: Vec<_> = errors.map(|error| error.expect_err("out of range").setting()).into();
        let (depth, tries) = ("agent.max_depth", "subagents.schema_tries");
        assert_eq!(settings, [depth, depth, "subagents.reminders", tries, tries]);
    }
}

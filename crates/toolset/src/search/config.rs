//! Limits of the search tools.

use std::time::Duration;

use crate::setting::{InvalidSetting, within};

/// Limits of `glob` and `grep`; the tools check them when they are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchConfig {
    /// The most results of one search: paths, or lines with those around them; 1 to 10,000, default 200.
    pub results: usize,
    /// The most characters that are shown of one line; 80 to 10,000, default 400.
    pub line_chars: usize,
    /// How long one search may take; 100 ms to 10 min, default 30 s.
    pub time: Duration,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            results: 200,
            line_chars: 400,
            time: Duration::from_secs(30),
        }
    }
}

impl SearchConfig {
    /// Checks every limit against its bounds.
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        within("results", &self.results, 1..=10_000)?;
        within("line_chars", &self.line_chars, 80..=10_000)?;
        within("time_ms", &self.time.as_millis(), 100..=600_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(change: impl FnOnce(&mut SearchConfig), expected: &str) {
        let mut config = SearchConfig::default();
        change(&mut config);
        let error = config.validate().expect_err("the limit is out of bounds");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_limit_out_of_bounds_is_named_with_what_is_allowed() {
        refused(|c| c.results = 0, "results is 0, but must be from 1 to 10000");
        refused(|c| c.line_chars = 9, "line_chars is 9, but must be from 80 to 10000");
        refused(
            |c| c.time = Duration::ZERO,
            "time_ms is 0, but must be from 100 to 600000",
        );
        assert_eq!(SearchConfig::default().validate(), Ok(()));
    }
}

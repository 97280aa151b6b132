//! Limits of `fetch`.

use std::time::Duration;

use crate::setting::{InvalidSetting, within};

/// Limits of [`Fetch`](crate::Fetch), which checks them when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchConfig {
    /// How long one call may take in all; 1 s to 10 min, default 30 s.
    pub time: Duration,
    /// The most bytes that are taken of a page; 1 KiB to 16 MiB, default 2 MiB.
    pub max_bytes: usize,
    /// How many redirects are followed; 0 to 20, default 5.
    pub max_redirects: usize,
    /// The most characters of a page that the model is given; 1,000 to 1,000,000, default 50,000.
    pub text_chars: usize,
    /// The largest picture that the model is given, in bytes; at most 16 MiB, default 3 MiB; 0 gives none.
    pub image_bytes: usize,
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            max_bytes: 2 << 20,
            max_redirects: 5,
            text_chars: 50_000,
            image_bytes: 3 << 20,
        }
    }
}

impl FetchConfig {
    /// Checks every limit against its bounds.
    pub(super) fn validate(&self) -> Result<(), InvalidSetting> {
        within("time_ms", &self.time.as_millis(), 1_000..=600_000)?;
        within("max_bytes", &self.max_bytes, 1 << 10..=16 << 20)?;
        within("max_redirects", &self.max_redirects, 0..=20)?;
        within("text_chars", &self.text_chars, 1_000..=1_000_000)?;
        within("image_bytes", &self.image_bytes, 0..=16 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(change: impl FnOnce(&mut FetchConfig), expected: &str) {
        let mut config = FetchConfig::default();
        change(&mut config);
        let error = config.validate().expect_err("the limit is out of bounds");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_limit_out_of_bounds_is_named_with_what_is_allowed() {
        refused(
            |c| c.time = Duration::ZERO,
            "time_ms is 0, but must be from 1000 to 600000",
        );
        refused(|c| c.max_bytes = 1, "max_bytes is 1, but must be from 1024 to 16777216");
        refused(
            |c| c.max_redirects = 21,
            "max_redirects is 21, but must be from 0 to 20",
        );
        refused(
            |c| c.text_chars = 1,
            "text_chars is 1, but must be from 1000 to 1000000",
        );
        refused(
            |c| c.image_bytes = 1 << 30,
            "image_bytes is 1073741824, but must be from 0 to 16777216",
        );
        assert_eq!(FetchConfig::default().validate(), Ok(()));
    }
}

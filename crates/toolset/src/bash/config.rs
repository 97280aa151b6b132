//! Settings of the `bash` tool and their bounds.

use std::time::Duration;

use crate::Environment;
use crate::sandbox::SandboxConfig;
use crate::setting::{InvalidSetting, within};

/// Settings of the `bash` tool; [`Bash::new`](crate::Bash::new) checks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BashConfig {
    /// How long a command may run when the call does not say; 1 ms to `max_timeout`, default 120 s.
    pub default_timeout: Duration,
    /// The longest time a call may ask for; 1 s to 24 h, default 600 s.
    pub max_timeout: Duration,
    /// How many characters of output the model gets, from the beginning and the end; 1,000 to 1,000,000,
    /// default 30,000.
    pub max_output_chars: usize,
    /// How many bytes of output that is too long are kept in a file; 0 to 1 GiB, default 64 MiB. With 0 none are.
    pub spill_bytes: u64,
    /// How many commands of one agent may run in the background; 0 to 64, default 8.
    pub max_background: usize,
    /// How many bytes of the latest output a running call shows; 256 to 32,768, default 8,192.
    pub live_tail_bytes: usize,
    /// The shortest time between two reports of a running call; at most 5 s, default 100 ms.
    pub report_interval: Duration,
    /// What commands get of the environment.
    pub environment: Environment,
    /// What commands are kept from.
    pub sandbox: SandboxConfig,
}

impl Default for BashConfig {
    fn default() -> Self {
        Self {
            default_timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
            max_output_chars: 30_000,
            spill_bytes: 64 << 20,
            max_background: 8,
            live_tail_bytes: 8 * 1024,
            report_interval: Duration::from_millis(100),
            environment: Environment::default(),
            sandbox: SandboxConfig::default(),
        }
    }
}

impl BashConfig {
    /// Checks every setting against its bounds.
    pub(super) fn validate(&self) -> Result<(), InvalidSetting> {
        within(
            "max_timeout",
            &self.max_timeout,
            Duration::from_secs(1)..=Duration::from_secs(24 * 3600),
        )?;
        within(
            "default_timeout",
            &self.default_timeout,
            Duration::from_millis(1)..=self.max_timeout,
        )?;
        within("max_output_chars", &self.max_output_chars, 1_000..=1_000_000)?;
        within("spill_bytes", &self.spill_bytes, 0..=1 << 30)?;
        within("max_background", &self.max_background, 0..=64)?;
        within("live_tail_bytes", &self.live_tail_bytes, 256..=32 * 1024)?;
        within(
            "report_interval",
            &self.report_interval,
            Duration::ZERO..=Duration::from_secs(5),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(change: impl FnOnce(&mut BashConfig), expected: &str) {
        let mut config = BashConfig::default();
        change(&mut config);
        let error = config.validate().expect_err("the setting is out of bounds");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_setting_out_of_bounds_is_named_with_what_is_allowed() {
        refused(
            |config| config.max_output_chars = 10,
            "max_output_chars is 10, but must be from 1000 to 1000000",
        );
        refused(
            |config| config.default_timeout = Duration::from_secs(601),
            "default_timeout is 601s, but must be from 1ms to 600s",
        );
        refused(
            |config| config.max_timeout = Duration::ZERO,
            "max_timeout is 0ns, but must be from 1s to 86400s",
        );
        refused(
            |config| config.spill_bytes = 2 << 30,
            "spill_bytes is 2147483648, but must be from 0 to 1073741824",
        );
        refused(
            |config| config.max_background = 65,
            "max_background is 65, but must be from 0 to 64",
        );
        refused(
            |config| config.live_tail_bytes = 64 * 1024,
            "live_tail_bytes is 65536, but must be from 256 to 32768",
        );
        refused(
            |config| config.report_interval = Duration::from_secs(6),
            "report_interval is 6s, but must be from 0ns to 5s",
        );
    }

    #[test]
    fn the_defaults_are_within_their_bounds() {
        assert_eq!(BashConfig::default().validate(), Ok(()));
    }
}

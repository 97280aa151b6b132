//! Limits of the file tools.

use crate::setting::{InvalidSetting, within};

/// Limits of `read`, `edit` and `write`; the tools check them when they are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesConfig {
    /// The most lines that one `read` gives; 1 to 100,000, default 2,000.
    pub read_lines: usize,
    /// The most bytes of text that one `read` gives; 1 KiB to 4 MiB, default 64 KiB.
    pub read_bytes: usize,
    /// The most characters of one line that `read` gives; 80 to 100,000, default 2,000.
    pub line_chars: usize,
    /// The largest file that is changed, and the largest whose lines are all counted; 64 KiB to 256 MiB,
    /// default 16 MiB.
    pub max_bytes: usize,
    /// The most text of one side of a change that a card shows; 0 to 1 MiB, default 64 KiB.
    pub diff_bytes: usize,
    /// The largest picture that a model is shown; 0 to 16 MiB, default 3 MiB.
    pub image_bytes: usize,
}

impl Default for FilesConfig {
    fn default() -> Self {
        Self {
            read_lines: 2_000,
            read_bytes: 64 << 10,
            line_chars: 2_000,
            max_bytes: 16 << 20,
            diff_bytes: 64 << 10,
            image_bytes: 3 << 20,
        }
    }
}

impl FilesConfig {
    /// Checks every limit against its bounds.
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        within("read_lines", &self.read_lines, 1..=100_000)?;
        within("read_bytes", &self.read_bytes, 1 << 10..=4 << 20)?;
        within("line_chars", &self.line_chars, 80..=100_000)?;
        within("max_bytes", &self.max_bytes, 64 << 10..=256 << 20)?;
        within("diff_bytes", &self.diff_bytes, 0..=1 << 20)?;
        within("image_bytes", &self.image_bytes, 0..=16 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(change: impl FnOnce(&mut FilesConfig), expected: &str) {
        let mut config = FilesConfig::default();
        change(&mut config);
        let error = config.validate().expect_err("the limit is out of bounds");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_limit_out_of_bounds_is_named_with_what_is_allowed() {
        refused(|c| c.read_lines = 0, "read_lines is 0, but must be from 1 to 100000");
        refused(
            |c| c.read_bytes = 9,
            "read_bytes is 9, but must be from 1024 to 4194304",
        );
        refused(|c| c.line_chars = 9, "line_chars is 9, but must be from 80 to 100000");
        refused(
            |c| c.max_bytes = 9,
            "max_bytes is 9, but must be from 65536 to 268435456",
        );
        refused(
            |c| c.diff_bytes = 2 << 20,
            "diff_bytes is 2097152, but must be from 0 to 1048576",
        );
    }

    #[test]
    fn the_defaults_are_within_their_bounds() {
        assert_eq!(FilesConfig::default().validate(), Ok(()));
    }
}

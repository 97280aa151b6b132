//! The bounds of a registry.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A limit that is out of its range, with what was found and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limit {setting} is {found}, expected {least} to {most}")]
pub struct InvalidLimit {
    setting: &'static str,
    found: String,
    least: String,
    most: String,
}

impl InvalidLimit {
    /// Gives a limit back if it is within its range, both ends included.
    ///
    /// # Errors
    /// It is not.
    pub fn check<T: PartialOrd + Display>(
        setting: &'static str,
        found: T,
        range: &RangeInclusive<T>,
    ) -> Result<T, Self> {
        if range.contains(&found) {
            return Ok(found);
        }
        Err(Self {
            setting,
            found: found.to_string(),
            least: range.start().to_string(),
            most: range.end().to_string(),
        })
    }

    /// The same for a time, whose range is in whole milliseconds.
    ///
    /// # Errors
    /// It is out of the range.
    pub fn check_millis(setting: &'static str, found: Duration, range: &RangeInclusive<u64>) -> Result<Duration, Self> {
        let millis = u64::try_from(found.as_millis()).unwrap_or(u64::MAX);
        Self::check(setting, millis, range).map(|_| found)
    }

    /// The setting's name.
    pub fn setting(&self) -> &'static str {
        self.setting
    }
}

/// How large one progress report may be, and how many may wait for slow observers.
///
/// By default a title has at most 4 KiB, the text of all blocks together at most 64 KiB, a view at most
/// 256 blocks, and at most 1024 reports of one execution wait for delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressLimits {
    pub(crate) title_bytes: usize,
    pub(crate) content_bytes: usize,
    pub(crate) blocks: usize,
    pub(crate) backlog: usize,
}

impl Default for ProgressLimits {
    fn default() -> Self {
        Self {
            title_bytes: 4 << 10,
            content_bytes: 64 << 10,
            blocks: 256,
            backlog: 1024,
        }
    }
}

impl ProgressLimits {
    /// Sets the bytes a title may have, 1 to 65 536.
    pub fn title_bytes(self, title_bytes: usize) -> Result<Self, InvalidLimit> {
        let title_bytes = InvalidLimit::check("progress.title_bytes", title_bytes, &(1..=64 << 10))?;
        Ok(Self { title_bytes, ..self })
    }

    /// Sets the bytes that the text of all blocks of a view may have together, 1 to 1 048 576.
    pub fn content_bytes(self, content_bytes: usize) -> Result<Self, InvalidLimit> {
        let content_bytes = InvalidLimit::check("progress.content_bytes", content_bytes, &(1..=1 << 20))?;
        Ok(Self { content_bytes, ..self })
    }

    /// Sets the blocks a view may have, 1 to 4096.
    pub fn blocks(self, blocks: usize) -> Result<Self, InvalidLimit> {
        let blocks = InvalidLimit::check("progress.blocks", blocks, &(1..=4096))?;
        Ok(Self { blocks, ..self })
    }

    /// Sets how many reports of one execution may wait for delivery, 1 to 65 536. Beyond it a reporter
    /// waits; an observer that reports the execution it observes is refused.
    pub fn backlog(self, backlog: usize) -> Result<Self, InvalidLimit> {
        let backlog = InvalidLimit::check("progress.backlog", backlog, &(1..=64 << 10))?;
        Ok(Self { backlog, ..self })
    }
}

/// The bounds of a registry and all its layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    pub(crate) progress: ProgressLimits,
    pub(crate) cancel_grace: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            progress: ProgressLimits::default(),
            cancel_grace: Duration::from_secs(10),
        }
    }
}

impl ToolLimits {
    /// Sets the bounds of progress reports.
    #[must_use]
    pub fn progress(self, progress: ProgressLimits) -> Self {
        Self { progress, ..self }
    }

    /// Sets how long a body may go on after its signal fired before it is abandoned: 100 ms to 10 min,
    /// 10 s by default. A question to the user is given up after the same time.
    pub fn cancel_grace(self, cancel_grace: Duration) -> Result<Self, InvalidLimit> {
        let cancel_grace = InvalidLimit::check_millis("cancel_grace_ms", cancel_grace, &(100..=600_000))?;
        Ok(Self { cancel_grace, ..self })
    }
}

impl From<ProgressLimits> for ToolLimits {
    fn from(progress: ProgressLimits) -> Self {
        Self::default().progress(progress)
    }
}

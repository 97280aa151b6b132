//! The bridge's validated settings.
//!
//! Each is a value that cannot hold anything out of range; [`SettingError`] names the setting, what was
//! given and what is allowed.

use std::time::Duration;

/// A setting out of its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} is {found}, but must be between {least} and {most}")]
pub struct SettingError {
    setting: &'static str,
    found: String,
    least: String,
    most: String,
}

fn in_range<T: PartialOrd>(
    setting: &'static str,
    value: T,
    (least, most): (T, T),
    show: impl Fn(&T) -> String,
) -> Result<T, SettingError> {
    if least <= value && value <= most {
        return Ok(value);
    }
    Err(SettingError {
        setting,
        found: show(&value),
        least: show(&least),
        most: show(&most),
    })
}

/// How often one tool call may send its progress: `acp.progress.min_interval`.
///
/// The first report of a call leaves at once. Of those that follow within the interval only the last is
/// kept; it leaves when the interval is over, or is superseded by the final card. Zero sends every report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressConfig {
    min_interval: Duration,
}

impl ProgressConfig {
    /// The longest interval.
    pub const MAX: Duration = Duration::from_secs(5);

    /// Checks the interval: zero to five seconds.
    pub fn new(min_interval: Duration) -> Result<Self, SettingError> {
        let range = (Duration::ZERO, Self::MAX);
        let checked = in_range("acp.progress.min_interval", min_interval, range, show_millis);
        checked.map(|min_interval| Self { min_interval })
    }

    /// The interval.
    pub fn min_interval(self) -> Duration {
        self.min_interval
    }
}

impl Default for ProgressConfig {
    /// 50 ms: smooth to the eye, and well below what the slowest known client can take.
    fn default() -> Self {
        Self {
            min_interval: Duration::from_millis(50),
        }
    }
}

/// How many bytes may wait for a slow client before updates are merged: `acp.outbox_bytes`.
///
/// What must not be dropped (responses, requests, final cards, text) goes beyond it if need be; at
/// [`OutboxBytes::ceiling`] no further request of the client is taken up, see [`StallTimeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxBytes(usize);

impl OutboxBytes {
    const RANGE: (usize, usize) = (4 << 10, 1 << 30);

    /// Checks the bound: 4 KiB to 1 GiB.
    pub fn new(bytes: usize) -> Result<Self, SettingError> {
        in_range("acp.outbox_bytes", bytes, Self::RANGE, show_bytes).map(Self)
    }

    /// The bound in bytes.
    pub fn get(self) -> usize {
        self.0
    }

    /// The bytes beyond which requests of the client wait.
    pub fn ceiling(self) -> usize {
        self.0.saturating_mul(8)
    }
}

impl Default for OutboxBytes {
    /// 1 MiB.
    fn default() -> Self {
        Self(1 << 20)
    }
}

/// The longest line that is taken from the client: `acp.line_limit_bytes`. Longer ones are skipped and
/// answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineLimit(usize);

impl LineLimit {
    const RANGE: (usize, usize) = (4 << 10, 1 << 30);

    /// Checks the limit: 4 KiB to 1 GiB.
    pub fn new(bytes: usize) -> Result<Self, SettingError> {
        in_range("acp.line_limit_bytes", bytes, Self::RANGE, show_bytes).map(Self)
    }

    /// The limit in bytes, the line's end not counted.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for LineLimit {
    /// 32 MiB.
    fn default() -> Self {
        Self(32 << 20)
    }
}

/// How large a picture in a prompt may be: `acp.image_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageBytes(usize);

impl ImageBytes {
    const RANGE: (usize, usize) = (1 << 10, 64 << 20);

    /// Checks the size: 1 KiB to 64 MiB.
    pub fn new(bytes: usize) -> Result<Self, SettingError> {
        in_range("acp.image_bytes", bytes, Self::RANGE, show_bytes).map(Self)
    }

    /// The limit in bytes of the picture, not of its base64.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for ImageBytes {
    /// 5 MiB, which is about what providers take.
    fn default() -> Self {
        Self(5 << 20)
    }
}

/// How long the client may take to read or write a file: `acp.file_timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTimeout(Duration);

impl FileTimeout {
    const RANGE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(600));

    /// Checks the time: 100 ms to ten minutes.
    pub fn new(timeout: Duration) -> Result<Self, SettingError> {
        in_range("acp.file_timeout", timeout, Self::RANGE, show_millis).map(Self)
    }

    /// The time.
    pub fn get(self) -> Duration {
        self.0
    }
}

impl Default for FileTimeout {
    /// 30 s: an editor answers out of its memory, unless it asks the user first.
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

/// How many sessions one connection may have open at a time: `acp.max_sessions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxSessions(usize);

impl MaxSessions {
    const RANGE: (usize, usize) = (1, 100_000);

    /// Checks the number: 1 to 100,000.
    pub fn new(sessions: usize) -> Result<Self, SettingError> {
        in_range("acp.max_sessions", sessions, Self::RANGE, ToString::to_string).map(Self)
    }

    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for MaxSessions {
    /// 1000.
    fn default() -> Self {
        Self(1000)
    }
}

/// How long the end of a connection may take, from the end of input to the last byte: `acp.close_grace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseGrace(Duration);

impl CloseGrace {
    const RANGE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

    /// Checks the grace: 100 ms to one minute.
    pub fn new(grace: Duration) -> Result<Self, SettingError> {
        in_range("acp.close_grace", grace, Self::RANGE, show_millis).map(Self)
    }

    /// The grace.
    pub fn get(self) -> Duration {
        self.0
    }
}

impl Default for CloseGrace {
    /// 4 s: editors kill what is still there after five.
    fn default() -> Self {
        Self(Duration::from_secs(4))
    }
}

/// How long a request may wait because the client does not read what it has been sent: `acp.stall_timeout`.
/// After it the client counts as gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallTimeout(Duration);

impl StallTimeout {
    const RANGE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3600));

    /// Checks the time: 100 ms to one hour.
    pub fn new(timeout: Duration) -> Result<Self, SettingError> {
        in_range("acp.stall_timeout", timeout, Self::RANGE, show_millis).map(Self)
    }

    /// The time.
    pub fn get(self) -> Duration {
        self.0
    }
}

impl Default for StallTimeout {
    /// One minute.
    fn default() -> Self {
        Self(Duration::from_secs(60))
    }
}

fn show_millis(time: &Duration) -> String {
    format!("{} ms", time.as_millis())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that `in_range` takes")]
fn show_bytes(bytes: &usize) -> String {
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g32_the_progress_interval_is_validated_and_has_a_default() {
        assert_eq!(ProgressConfig::default().min_interval(), Duration::from_millis(50));
        for ms in [0, 1, 5000] {
            assert!(ProgressConfig::new(Duration::from_millis(ms)).is_ok(), "{ms}");
        }
        assert_eq!(
            ProgressConfig::new(Duration::from_millis(5001))
                .unwrap_err()
                .to_string(),
            "acp.progress.min_interval is 5001 ms, but must be between 0 ms and 5000 ms"
        );
    }

    #[test]
    fn sizes_and_counts_out_of_range_are_refused_by_name() {
        let texts = [
            OutboxBytes::new(0).unwrap_err().to_string(),
            LineLimit::new(usize::MAX).unwrap_err().to_string(),
            MaxSessions::new(0).unwrap_err().to_string(),
            CloseGrace::new(Duration::ZERO).unwrap_err().to_string(),
            StallTimeout::new(Duration::ZERO).unwrap_err().to_string(),
            ImageBytes::new(1).unwrap_err().to_string(),
            FileTimeout::new(Duration::ZERO).unwrap_err().to_string(),
        ];
        for (text, name) in texts.iter().zip([
            "acp.outbox_bytes",
            "acp.line_limit_bytes",
            "acp.max_sessions",
            "acp.close_grace",
            "acp.stall_timeout",
            "acp.image_bytes",
            "acp.file_timeout",
        ]) {
            assert!(text.starts_with(name), "{text}");
        }
    }
}

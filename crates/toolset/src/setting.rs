//! Checking the tools' settings against their bounds.

use std::fmt::Debug;
use std::ops::RangeInclusive;

/// A setting of a tool that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} is {found}, but must be {allowed}")]
pub struct InvalidSetting {
    setting: &'static str,
    found: String,
    allowed: String,
}

/// Passes a value within its bounds, both included.
pub(crate) fn within<T: PartialOrd + Debug>(
    setting: &'static str,
    found: &T,
    allowed: RangeInclusive<T>,
) -> Result<(), InvalidSetting> {
    if allowed.contains(found) {
        return Ok(());
    }
    Err(InvalidSetting {
        setting,
        found: format!("{found:?}"),
        allowed: format!("from {:?} to {:?}", allowed.start(), allowed.end()),
    })
}

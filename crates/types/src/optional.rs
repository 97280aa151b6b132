//! Optional fields.

use serde::{Deserialize, Deserializer};

/// Reads an optional field that holds a value where it stands: absent is one thing, and `null` is none.
pub(crate) fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

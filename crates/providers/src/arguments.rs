//! Arguments of tool calls, as they go back to an endpoint.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Arguments as a JSON object, since some endpoints refuse a history with anything else. What the model
/// wrote instead of one is kept as a text in it, so that it can see its own mistake.
pub(crate) fn arguments_object(arguments: &str) -> Cow<'_, str> {
    let trimmed = arguments.trim();
    if trimmed.is_empty() {
        return Cow::Borrowed("{}");
    }
    if trimmed.starts_with('{') && serde_json::from_str::<IgnoredAny>(trimmed).is_ok() {
        return Cow::Borrowed(arguments);
    }
    Cow::Owned(serde_json::json!({ "not_a_json_object": arguments }).to_string())
}

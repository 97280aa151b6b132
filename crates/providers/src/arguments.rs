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

/// A call's id in letters, digits, `-` and `_`, which is all that some endpoints allow; an id of another
/// provider that has more is spelled in hexadecimal, so that different ids stay different.
pub(crate) fn plain_id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let hex: String = id.bytes().map(|byte| format!("{byte:02x}")).collect();
    Cow::Owned(format!("hex_{hex}"))
}

/// A tool's name in the characters and the length that endpoints allow. What the model wrote may be
/// anything, and no tool has such a name.
pub(crate) fn plain_name(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let plain = |c| if is_plain(c) { c } else { '_' };
    let name: String = name.chars().take(MAX_NAME).map(plain).collect();
    Cow::Owned(if name.is_empty() { "_".to_owned() } else { name })
}

/// The longest name of a tool that endpoints allow, in characters.
const MAX_NAME: usize = 64;

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_become_plain() {
        for (id, expected) in [("toolu_01-x", "toolu_01-x"), ("a.b:0", "hex_612e623a30"), ("", "hex_")] {
            assert_eq!(plain_id(id), expected);
        }
        let long = "a".repeat(65);
        for (name, expected) in [
            ("read", "read"),
            ("No Such.Tööl", "No_Such_T__l"),
            ("", "_"),
            (&*long, &long[..64]),
        ] {
            assert_eq!(plain_name(name), expected);
        }
    }
}

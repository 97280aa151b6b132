//! Lone halves of surrogate pairs in JSON escapes.

/// Replaces every escape of a lone surrogate by U+FFFD's; `None` if the text has no such escape.
///
/// JSON allows them, Unicode does not, and the parser refuses the whole message for one half of an emoji
/// that a client cut. Text outside of string literals has no backslashes in valid JSON, and invalid JSON
/// stays invalid.
pub(super) fn repair_surrogates(json: &str) -> Option<String> {
    let mut repaired = String::new();
    let (mut copied, mut at) = (0, 0);
    let bytes = json.as_bytes();
    while let Some(found) = json[at..].find('\\') {
        let escape = at + found;
        match code_unit(bytes, escape) {
            Some(0xD800..=0xDBFF) if matches!(code_unit(bytes, escape + 6), Some(0xDC00..=0xDFFF)) => {
                at = escape + 12;
            }
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(&json[copied..escape]);
                repaired.push_str("\\ufffd");
                at = escape + 6;
                copied = at;
            }
            // Some other escape: the character after the backslash, be it a backslash itself, is part of it.
            _ => at = escape + 1 + json[escape + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if copied == 0 {
        return None;
    }
    repaired.push_str(&json[copied..]);
    Some(repaired)
}

/// The value of the `\uXXXX` escape at `at`, if one stands there.
fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, digit| {
        char::from(*digit).to_digit(16).map(|digit| value * 16 + digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_halves_are_replaced_and_everything_else_is_left_alone() {
        let cases = [
            (r#""half: \ud83d end""#, Some(r#""half: \ufffd end""#)),
            (r#""\uDC00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ud83d\ud83e\uddea""#, Some(r#""\ufffd\ud83e\uddea""#)),
            (r#""whole: \ud83e\uddea""#, None),
            (r#""a backslash: \\ud83d""#, None),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""cut \ud8"#, None),
            (r#""odd \é \"#, None),
            ("", None),
        ];
        for (json, expected) in cases {
            assert_eq!(repair_surrogates(json).as_deref(), expected, "{json}");
        }
    }
}

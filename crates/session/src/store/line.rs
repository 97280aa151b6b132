//! One line of a log: a JSON object whose last field, `crc`, is the CRC-32 of what stands before that field.
//!
//! The checksum belongs to the line, not to the event: it is absent from what is exported, and a line without it is fine.

use std::io;

use serde::Serialize;

const FIELD: &[u8] = b",\"crc\":";

/// Appends `value`, which must be a JSON object with at least one field, as a line.
pub(crate) fn write(into: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    let start = into.len();
    serde_json::to_writer(&mut *into, value)?;
    let brace = into.pop();
    debug_assert_eq!(brace, Some(b'}'), "an object ends with its brace");
    let crc = crc32fast::hash(&into[start..]);
    into.extend_from_slice(FIELD);
    into.extend_from_slice(crc.to_string().as_bytes());
    into.extend_from_slice(b"}\n");
    Ok(())
}

/// What a line's checksum says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    Right,
    Wrong,
    Absent,
}

impl Checksum {
    /// That of a line, without its line feed.
    pub(crate) fn of(line: &[u8]) -> Self {
        // Only an object's own last field is followed by one brace: the data of an event end with their own.
        let Some(line) = line.strip_suffix(b"}") else {
            return Self::Absent;
        };
        let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (line, digits) = line.split_at(line.len() - digits);
        let Some(before) = line.strip_suffix(FIELD) else {
            return Self::Absent;
        };
        let written = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        if written == Some(crc32fast::hash(before)) {
            Self::Right
        } else {
            Self::Wrong
        }
    }
}

/// The number of the event on a line that the store wrote, without reading all of it.
pub(crate) fn leading_seq(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(digits);
    rest.starts_with(b",").then_some(())?;
    str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(value: &serde_json::Value) -> Vec<u8> {
        let mut line = Vec::new();
        write(&mut line, value).expect("an object");
        assert_eq!(line.pop(), Some(b'\n'));
        line
    }

    #[test]
    fn a_line_ends_in_the_checksum_of_what_is_before_it() {
        let text = line(&serde_json::json!({ "seq": 7, "data": { "text": "a\u{2028}b" } }));
        let before = "{\"seq\":7,\"data\":{\"text\":\"a\u{2028}b\"}";
        assert_eq!(
            text,
            format!("{before},\"crc\":{}}}", crc32fast::hash(before.as_bytes())).as_bytes()
        );
        assert_eq!(Checksum::of(&text), Checksum::Right);
        serde_json::from_slice::<serde_json::Value>(&text).expect("it is JSON still");
    }

    #[test]
    fn every_changed_byte_is_noticed_by_the_checksum_or_leaves_the_fields_as_they_were() {
        let text = line(&serde_json::json!({ "seq": 7, "data": { "crc": 5 } }));
        let field = text.len()
            - FIELD.len()
            - text
                .iter()
                .rev()
                .skip(1)
                .take_while(|byte| byte.is_ascii_digit())
                .count()
            - 1;
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut changed = text.clone();
                changed[at] ^= 1 << bit;
                assert!(
                    at >= field || Checksum::of(&changed) == Checksum::Wrong,
                    "byte {at}, bit {bit}"
                );
                assert_ne!(Checksum::of(&changed), Checksum::Right, "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_field_of_the_data_is_no_checksum() {
        for text in [
            r#"{"seq":1,"data":{"a":1,"crc":5}}"#,
            r#"{"seq":1}"#,
            "",
            "}",
            r#"{"crc":5}"#,
        ] {
            assert_eq!(Checksum::of(text.as_bytes()), Checksum::Absent, "{text}");
        }
        for text in [
            r#"{"seq":1,"crc":5}"#,
            r#"{"seq":1,"crc":}"#,
            r#"{"seq":1,"crc":99999999999}"#,
        ] {
            assert_eq!(Checksum::of(text.as_bytes()), Checksum::Wrong, "{text}");
        }
    }

    #[test]
    fn the_number_of_an_event_is_read_from_its_start() {
        assert_eq!(leading_seq(br#"{"seq":12,"time":1"#), Some(12));
        for text in [
            "",
            r#"{"time":1,"seq":12}"#,
            r#"{"seq":12"#,
            r#"{"seq":,"#,
            r#"{"seq":99999999999999999999,"#,
        ] {
            assert_eq!(leading_seq(text.as_bytes()), None, "{text}");
        }
    }
}

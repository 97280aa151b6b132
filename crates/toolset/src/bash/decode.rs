//! From the bytes a command writes to text that is safe to show.
//!
//! Bytes that are not UTF-8 become U+FFFD; a character that two reads share survives. Escape sequences
//! and control characters go, all but newlines and tabs. A lone carriage return becomes a newline: what a
//! terminal would overwrite stays readable and nothing is lost.

use std::char::REPLACEMENT_CHARACTER;

/// Decodes output piece by piece, wherever the pieces were cut.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The beginning of a character whose rest has not arrived: at most three bytes.
    unfinished: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Plain text.
    #[default]
    Text,
    /// After a carriage return: is it half of a line end?
    CarriageReturn,
    /// After ESC.
    Escape,
    /// In `ESC [ …`, which ends at its final character.
    ControlSequence,
    /// In a string such as a window title: it ends at BEL, at ESC, or at the end of the line.
    ControlString,
}

impl Decoder {
    /// Appends the text of the next bytes to `text`.
    pub(super) fn push(&mut self, bytes: &[u8], text: &mut String) {
        let joined;
        let mut rest = bytes;
        if !self.unfinished.is_empty() {
            joined = [&self.unfinished[..], bytes].concat();
            rest = &joined;
            self.unfinished = Vec::new();
        }
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(valid) => return self.text(valid, text),
                Err(error) => error,
            };
            let (valid, invalid) = rest.split_at(error.valid_up_to());
            if let Ok(valid) = std::str::from_utf8(valid) {
                self.text(valid, text);
            }
            let Some(length) = error.error_len() else {
                self.unfinished = invalid.to_vec();
                return;
            };
            self.character(REPLACEMENT_CHARACTER, text);
            rest = &invalid[length..];
        }
    }

    /// Takes text as it stands where nothing of it is special, which is nearly everywhere.
    fn text(&mut self, mut rest: &str, text: &mut String) {
        while !rest.is_empty() {
            if self.state == State::Text {
                let (run, more) = rest.split_at(plain_run(rest));
                text.push_str(run);
                rest = more;
            }
            let mut chars = rest.chars();
            if let Some(c) = chars.next() {
                self.character(c, text);
            }
            rest = chars.as_str();
        }
    }

    /// Appends what is left when no more bytes will come.
    pub(super) fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.unfinished).is_empty() {
            self.character(REPLACEMENT_CHARACTER, text);
        }
        if self.state == State::CarriageReturn {
            text.push('\n');
        }
        self.state = State::Text;
    }

    fn character(&mut self, c: char, text: &mut String) {
        self.state = match (self.state, c) {
            (State::Text, c) => plain(c, text),
            (State::CarriageReturn, '\n') => {
                text.push('\n');
                State::Text
            }
            (State::CarriageReturn, c) => {
                text.push('\n');
                plain(c, text)
            }
            (State::Escape, '[') => State::ControlSequence,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::ControlString,
            // Intermediate characters: the sequence goes on.
            (State::Escape, ' '..='/') => State::Escape,
            (State::Escape, '0'..='~') => State::Text,
            (State::ControlSequence, ' '..='?') => State::ControlSequence,
            (State::ControlSequence, '@'..='~') => State::Text,
            (State::ControlString, '\u{7}') => State::Text,
            // Without this, one stray byte of a binary file would swallow all that follows.
            (State::ControlString, '\n') => plain('\n', text),
            (State::ControlString, '\u{1b}') => State::Escape,
            (State::ControlString, _) => State::ControlString,
            // What belongs to no sequence ends it.
            (State::Escape | State::ControlSequence, c) => plain(c, text),
        };
    }
}

/// Appends a character of plain text, if it is one, and says what comes after it.
fn plain(c: char, text: &mut String) -> State {
    match c {
        '\r' => return State::CarriageReturn,
        '\u{1b}' => return State::Escape,
        '\n' | '\t' => text.push(c),
        c if c.is_control() => {}
        c => text.push(c),
    }
    State::Text
}

/// How many bytes at the beginning are nothing but plain text, whole characters.
fn plain_run(text: &str) -> usize {
    /// Judged as one, without a branch for each byte.
    const BLOCK: usize = 64;
    let bytes = text.as_bytes();
    let blocks = bytes.chunks_exact(BLOCK);
    let plain = blocks.take_while(|block| !block.iter().fold(false, |any, byte| any | may_be_special(*byte)));
    let start = plain.count() * BLOCK;
    let special = bytes[start..].iter().position(|byte| may_be_special(*byte));
    special.map_or(bytes.len(), |at| start + at)
}

/// Whether a control character may begin here: one of ASCII, or one of U+0080 to U+009F, which begin with 0xC2.
fn may_be_special(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes the input whole and in pieces of every size: the text must be the same.
    #[track_caller]
    fn check(input: &[u8], expected: &str) {
        for size in 1..=input.len().max(1) {
            let mut decoder = Decoder::default();
            let mut text = String::new();
            input.chunks(size).for_each(|piece| decoder.push(piece, &mut text));
            decoder.finish(&mut text);
            assert_eq!(text, expected, "in pieces of {size} bytes");
        }
    }

    #[test]
    fn a_character_that_two_reads_share_survives() {
        check("x中🧪é".as_bytes(), "x中🧪é");
    }

    #[test]
    fn bytes_that_are_not_utf8_become_replacement_characters() {
        check(
            b"plain\n\xff\xfe\x80caf\xe9\n",
            "plain\n\u{fffd}\u{fffd}\u{fffd}caf\u{fffd}\n",
        );
        check(
            b"lone surrogate \xed\xa0\xbd\n",
            "lone surrogate \u{fffd}\u{fffd}\u{fffd}\n",
        );
        check(b"cut short \xf0\x9f\xa7", "cut short \u{fffd}");
    }

    #[test]
    fn escape_sequences_and_control_characters_go() {
        check(
            b"\x1b[31;1mred\x1b[0m \x1b]0;title\x07a\x1b]8;;u\x1b\\b\x1b(Bc\x1b7d",
            "red abcd",
        );
        check(b"nul:\0:bell:\x07:del:\x7f:", "nul::bell::del::");
        check("c1:\u{9b}31m:\ttab".as_bytes(), "c1:31m:\ttab");
    }

    #[test]
    fn an_escape_sequence_that_never_ends_swallows_no_more_than_its_line() {
        check(b"a\x1b]b\nc\n", "a\nc\n");
        check(b"a\x1b[\nb\n", "a\nb\n");
        check(b"a\x1b", "a");
    }

    #[test]
    fn what_is_special_is_seen_wherever_it_stands_in_a_long_text() {
        for before in 0..200 {
            let plain = "a\té\u{a0}".repeat(40).chars().take(before).collect::<String>();
            for (special, expected) in [("\u{1b}[1mx", "x"), ("\r\n", "\n"), ("\u{7f}x", "x"), ("\u{9b}x", "x")] {
                let mut decoder = Decoder::default();
                let mut text = String::new();
                decoder.push(format!("{plain}{special}{plain}").as_bytes(), &mut text);
                decoder.finish(&mut text);
                assert_eq!(text, format!("{plain}{expected}{plain}"), "after {before} characters");
            }
        }
    }

    #[test]
    fn carriage_returns_become_line_ends() {
        check(b"a\r\nb\rc\r\r\nd\r", "a\nb\nc\n\nd\n");
    }
}

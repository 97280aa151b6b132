//! Walking over the text of a script.

use super::{LiteralError, Problem};
use crate::script::Position;

/// A place in a script.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// The byte it stands at.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.position += c.len_utf8();
        Some(c)
    }

    pub(super) fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.position += expected.len_utf8();
        }
        found
    }

    /// Takes what belongs together as long as the predicate holds.
    pub(super) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    /// Takes an identifier or keyword; empty if there is none.
    pub(super) fn word(&mut self) -> &'a str {
        self.take_while(|c| c == '_' || c == '$' || c.is_alphanumeric())
    }

    /// Takes this very word and no longer one.
    pub(super) fn take_word(&mut self, expected: &str) -> bool {
        let mut ahead = self.clone();
        let found = ahead.word() == expected;
        if found {
            *self = ahead;
        }
        found
    }

    /// Skips white space and comments, and tells whether a line ended among them.
    pub(super) fn skip_blanks(&mut self) -> Result<bool, Problem> {
        let mut new_line = false;
        loop {
            let blank = self.take_while(|c| c.is_whitespace() || c == '\u{feff}');
            new_line |= blank.contains(is_line_end);
            let start = self.position;
            if self.rest().starts_with("//") {
                self.take_while(|c| !is_line_end(c));
            } else if let Some(comment) = self.rest().strip_prefix("/*") {
                let length = comment.find("*/");
                let length = length.ok_or((start, "a comment that does not end".to_owned()))?;
                new_line |= comment[..length].contains(is_line_end);
                self.position += length + "/**/".len();
            } else {
                return Ok(new_line);
            }
        }
    }

    /// The problem that something else stands here.
    pub(super) fn unexpected(&self, expected: &str) -> Problem {
        let found = match self.peek() {
            None => "the script ends".to_owned(),
            Some(c) => format!("`{c}` stands"),
        };
        (self.position, format!("{found} in place of {expected}"))
    }

    pub(super) fn locate(&self, (position, problem): Problem) -> LiteralError {
        let Position { line, column } = Position::of_byte(self.text, position);
        LiteralError { problem, line, column }
    }
}

/// Whether JavaScript takes a character for the end of a line.
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

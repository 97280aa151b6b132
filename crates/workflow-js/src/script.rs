//! A script's text: its metadata, the function it becomes, and places in it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weft_workflow::WorkflowMeta;

use crate::literal::{LiteralError, leading_meta};

/// What is put before a body, on the body's first line, so that lines keep their numbers.
pub(crate) const HEAD: &str = "(async () => {";
/// What is put before the body of a saved workflow that another one runs. The hooks that differ for it are names of its
/// own; a body that declares such a name itself hides them, as it would hide the globals.
pub(crate) const SAVED_HEAD: &str = "((args, agent, phase, workflow) => (async () => {";
/// What is put after it.
pub(crate) const SAVED_TAIL: &str = "\n})())";
/// What is put after it, on a line of its own, so that a comment at the end of the body does not hide it.
pub(crate) const TAIL: &str = "\n})";

/// A place in a script, counted from 1 in lines and characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    /// The place of a byte.
    pub(crate) fn of_byte(script: &str, byte: usize) -> Self {
        let before = &script[..script.floor_char_boundary(byte)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A script without its own metadata.
#[derive(Debug, PartialEq)]
pub(crate) struct Split {
    /// The metadata it carried.
    pub(crate) meta: Option<Value>,
    /// The rest, with every line and column where it was.
    pub(crate) body: String,
}

/// Takes a script's own metadata out of it, leaving blanks.
///
/// # Errors
///
/// It begins with metadata that are no literal.
pub(crate) fn split(script: &str) -> Result<Split, LiteralError> {
    let Some(meta) = leading_meta(script)? else {
        return Ok(Split {
            meta: None,
            body: script.to_owned(),
        });
    };
    let blanks: String = script[meta.range.clone()].chars().map(blank).collect();
    Ok(Split {
        meta: Some(meta.value),
        body: [&script[..meta.range.start], &blanks, &script[meta.range.end..]].concat(),
    })
}

fn blank(c: char) -> char {
    if matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}') {
        c
    } else {
        ' '
    }
}

/// What a script says about itself, if that is in order.
pub(crate) fn own_meta(script: &str) -> Option<WorkflowMeta> {
    let meta = leading_meta(script).ok()??;
    WorkflowMeta::from_json(&meta.value).ok()
}

/// The line of a place and a mark below it, cut to what a reader can take in.
pub(crate) fn excerpt(body: &str, position: Position) -> Option<String> {
    const SHOWN: usize = 160;
    let line = body.split('\n').nth(position.line - 1)?;
    let first = (position.column - 1).saturating_sub(SHOWN / 2);
    let shown: String = line.chars().skip(first).take(SHOWN).map(one_column).collect();
    let gutter = format!("{:>4} | ", position.line);
    let mark = gutter.len() + (position.column - 1 - first).min(shown.chars().count());
    Some(format!("{gutter}{}\n{}^", shown.trim_end(), " ".repeat(mark)))
}

fn one_column(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

#[cfg(test)]
mod tests;

//! Reads a script's leading `export const meta = {…}` without running anything.
//!
//! What is read is a literal: strings of all three kinds without substitutions, numbers, booleans, `null`, arrays
//! and objects, with comments and trailing commas. Anything else is an expression and is refused by its place.

use std::ops::Range;

use serde_json::{Map, Value};

mod cursor;
mod tokens;

use cursor::Cursor;

/// The leading metadata of a script.
#[derive(Debug, PartialEq)]
pub(crate) struct LeadingMeta {
    /// Their value.
    pub(crate) value: Value,
    /// The bytes of the whole statement.
    pub(crate) range: Range<usize>,
}

/// Why leading metadata could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "workflow meta must be a plain literal, since it is read without running the script: {problem} at line {line}, \
     column {column}; allowed are strings without substitutions, numbers, booleans, null, arrays and objects"
)]
pub(crate) struct LiteralError {
    problem: String,
    line: usize,
    column: usize,
}

/// The metadata that a script begins with. Comments may stand before them; a script that begins with anything else
/// has none.
///
/// # Errors
///
/// The script does begin with `export const meta =`, but no literal follows.
pub(crate) fn leading_meta(script: &str) -> Result<Option<LeadingMeta>, LiteralError> {
    let mut cursor = Cursor::new(script);
    if cursor.skip_blanks().is_err() {
        return Ok(None);
    }
    let start = cursor.position();
    for word in ["export", "const", "meta"] {
        if !cursor.take_word(word) || cursor.skip_blanks().is_err() {
            return Ok(None);
        }
    }
    if !cursor.take('=') {
        return Ok(None);
    }
    read_statement(&mut cursor, start)
        .map(Some)
        .map_err(|problem| cursor.locate(problem))
}

/// What is wrong, and at which byte.
type Problem = (usize, String);

fn read_statement(cursor: &mut Cursor<'_>, start: usize) -> Result<LeadingMeta, Problem> {
    cursor.skip_blanks()?;
    if cursor.peek() != Some('{') {
        return Err(cursor.unexpected("the object"));
    }
    let value = read_value(cursor, 0)?;
    let end = cursor.position();
    let new_line = cursor.skip_blanks()?;
    let closed = cursor.take(';');
    if !closed && !new_line && cursor.peek().is_some() {
        return Err(cursor.unexpected("`;` after the object"));
    }
    let end = if closed { cursor.position() } else { end };
    Ok(LeadingMeta {
        value,
        range: start..end,
    })
}

const MAX_DEPTH: usize = 32;

fn read_value(cursor: &mut Cursor<'_>, depth: usize) -> Result<Value, Problem> {
    if depth == MAX_DEPTH {
        return Err((cursor.position(), format!("more than {MAX_DEPTH} levels of nesting")));
    }
    match cursor.peek() {
        Some('{') => read_object(cursor, depth),
        Some('[') => read_array(cursor, depth),
        Some('"' | '\'' | '`') => tokens::read_string(cursor).map(Value::String),
        Some('0'..='9' | '.' | '-' | '+') => tokens::read_number(cursor),
        _ => read_word(cursor),
    }
}

fn read_word(cursor: &mut Cursor<'_>) -> Result<Value, Problem> {
    let start = cursor.position();
    match cursor.word() {
        "" => Err(cursor.unexpected("a value")),
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        "null" => Ok(Value::Null),
        word => Err((start, format!("`{word}` is an expression"))),
    }
}

fn read_array(cursor: &mut Cursor<'_>, depth: usize) -> Result<Value, Problem> {
    let mut items = Vec::new();
    cursor.take('[');
    loop {
        cursor.skip_blanks()?;
        if cursor.take(']') {
            return Ok(Value::Array(items));
        }
        items.push(read_value(cursor, depth + 1)?);
        end_of_item(cursor, ']')?;
    }
}

fn read_object(cursor: &mut Cursor<'_>, depth: usize) -> Result<Value, Problem> {
    let mut fields = Map::new();
    cursor.take('{');
    loop {
        cursor.skip_blanks()?;
        if cursor.take('}') {
            return Ok(Value::Object(fields));
        }
        let key = read_key(cursor)?;
        cursor.skip_blanks()?;
        if !cursor.take(':') {
            return Err(cursor.unexpected("`:` after a field's name"));
        }
        cursor.skip_blanks()?;
        fields.insert(key, read_value(cursor, depth + 1)?);
        end_of_item(cursor, '}')?;
    }
}

fn read_key(cursor: &mut Cursor<'_>) -> Result<String, Problem> {
    match cursor.peek() {
        Some('"' | '\'') => tokens::read_string(cursor),
        Some('0'..='9') => tokens::read_number(cursor).map(|number| number.to_string()),
        _ => match cursor.word() {
            "" => Err(cursor.unexpected("a field's name")),
            word => Ok(word.to_owned()),
        },
    }
}

fn end_of_item(cursor: &mut Cursor<'_>, close: char) -> Result<(), Problem> {
    cursor.skip_blanks()?;
    if cursor.take(',') || cursor.peek() == Some(close) {
        Ok(())
    } else {
        Err(cursor.unexpected(&format!("`,` or `{close}`")))
    }
}

#[cfg(test)]
mod tests;

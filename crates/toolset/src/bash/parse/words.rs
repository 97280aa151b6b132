//! The words of a command, as the shell would read them.

use super::{Computed, Piece};

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// What it says: without its quotes if it is literal, as it is written otherwise.
    pub(super) text: String,
    /// Whether the shell makes exactly this one word of it.
    pub(super) is_literal: bool,
}

impl Word {
    /// Reads a word; fails if a command would have to run to know it.
    pub(super) fn of(piece: Piece<'_>) -> Result<Self, Computed> {
        match piece.kind() {
            "concatenation" => concatenation(piece),
            _ => single(piece),
        }
    }

    /// Its text, if that is certain.
    pub(super) fn literal(self) -> Result<String, Computed> {
        if self.is_literal { Ok(self.text) } else { Err(Computed) }
    }

    fn literal_of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_literal: true,
        }
    }

    fn as_written(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_literal: false,
        }
    }
}

fn single(piece: Piece<'_>) -> Result<Word, Computed> {
    let text = piece.text();
    match piece.kind() {
        "word" => Ok(unquoted(text)),
        "number" | "variable_name" if piece.node.named_child_count() == 0 => Ok(Word::literal_of(text)),
        "raw_string" => Ok(Word::literal_of(between(text, '\'')?)),
        "string" => quoted(piece),
        "simple_expansion" | "brace_expression" => Ok(Word::as_written(text)),
        "expansion" if is_plain_expansion(text) => Ok(Word::as_written(text)),
        _ => Err(Computed),
    }
}

fn concatenation(piece: Piece<'_>) -> Result<Word, Computed> {
    let mut joined = Word::literal_of("");
    let mut end = piece.node.start_byte();
    for (_, child) in piece.children() {
        // Nothing may stand between the pieces of one word.
        if !child.node.is_named() || child.node.start_byte() != end {
            return Err(Computed);
        }
        end = child.node.end_byte();
        let word = single(child)?;
        joined.is_literal &= word.is_literal;
        joined.text += &word.text;
    }
    if end != piece.node.end_byte() {
        return Err(Computed);
    }
    // Braces may be spread over several pieces.
    if !joined.is_literal || piece.text().contains('{') {
        return Ok(Word::as_written(piece.text()));
    }
    Ok(joined)
}

/// A word without quotes: backslashes go; patterns and braces make it more than one word, or another.
fn unquoted(text: &str) -> Word {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(escaped) => plain.push(escaped),
            },
            '*' | '?' | '[' | '{' | '$' | '`' => return Word::as_written(text),
            c => plain.push(c),
        }
    }
    Word::literal_of(plain)
}

/// A word in double quotes.
fn quoted(piece: Piece<'_>) -> Result<Word, Computed> {
    let mut is_literal = true;
    for (_, child) in piece.children() {
        match child.kind() {
            "\"" | "string_content" => {}
            "simple_expansion" => is_literal = false,
            "expansion" if is_plain_expansion(child.text()) => is_literal = false,
            _ => return Err(Computed),
        }
    }
    let inner = between(piece.text(), '"')?;
    if !is_literal {
        return Ok(Word::as_written(inner));
    }
    let mut plain = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
            }
            ('\\', Some('$' | '`' | '"' | '\\')) => plain.extend(chars.next()),
            // The parser saw nothing in it, and a shell might.
            ('`', _) | ('$', Some('(' | '{' | '[')) => return Err(Computed),
            _ => plain.push(c),
        }
    }
    Ok(Word::literal_of(plain))
}

fn between(text: &str, quote: char) -> Result<&str, Computed> {
    let inner = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inner.ok_or(Computed)
}

/// Whether it is `${name}` and nothing more.
fn is_plain_expansion(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    name.is_some_and(is_name)
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// The line that ends a here-document, by how its start is written; absent if that is unusual.
pub(super) fn delimiter(start: &str) -> Option<&str> {
    let inner = |quote| start.strip_prefix(quote).and_then(|start| start.strip_suffix(quote));
    let name = inner('\'').or_else(|| inner('"')).unwrap_or(start);
    is_name(name).then_some(name)
}

/// The name of the variable, if the word is an assignment as `env` takes it.
pub(super) fn assignment(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    is_name(name).then_some(name)
}

/// Whether a variable of that name changes only how programs print, or means nothing to any.
pub(super) fn is_harmless_variable(name: &str) -> bool {
    const HARMLESS: [&str; 18] = [
        "RUST_BACKTRACE",
        "RUST_LOG",
        "CARGO_TERM_COLOR",
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "FORCE_COLOR",
        "CI",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "COLUMNS",
        "LINES",
        "NODE_ENV",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "VERBOSE",
    ];
    // Lower-case names are those of scripts; the known exceptions say where requests go.
    let is_of_script = is_name(name) && !name.contains(|c: char| c.is_ascii_uppercase()) && !name.contains("proxy");
    is_of_script || name.starts_with("LC_") || HARMLESS.contains(&name)
}

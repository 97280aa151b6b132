//! Text with places that are filled from the request.

use std::cell::LazyCell;

use regex::Regex;
use serde_json::{Map, Value};

const OPEN: &str = "{{fromRequest:";
const CLOSE: &str = "}}";

/// All the text of a request, put together when the first placeholder asks for it.
pub(super) type RequestText<'a> = LazyCell<String, Box<dyn FnOnce() -> String + 'a>>;

/// A text in which each `{{fromRequest:<regex>}}` stands for capture 1 of the regex's last match in the
/// request.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Literal(String),
    FromRequest(Regex),
}

impl Template {
    /// Reads a text; the error says what is wrong with its first bad placeholder.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(OPEN) {
            let (literal, after) = (&rest[..at], &rest[at + OPEN.len()..]);
            let end = closing(after).ok_or_else(|| format!("found `{OPEN}` without an end, expected `{CLOSE}`"))?;
            if !literal.is_empty() {
                pieces.push(Piece::Literal(literal.to_owned()));
            }
            pieces.push(Piece::FromRequest(capturing(&after[..end])?));
            rest = &after[end + CLOSE.len()..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        Ok(Self { pieces })
    }

    /// The text for a request; the error says which placeholder found nothing in it.
    pub(super) fn fill(&self, request: &RequestText<'_>) -> Result<String, String> {
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => filled.push_str(text),
                Piece::FromRequest(regex) => {
                    let last = regex.captures_iter(request).filter_map(|found| found.get(1)).last();
                    let last = last.ok_or_else(|| format!("`{OPEN}{regex}{CLOSE}` matches nothing in the request"))?;
                    filled.push_str(last.as_str());
                }
            }
        }
        Ok(filled)
    }
}

/// Where a placeholder's regex ends: at the last `}}` of the first run of braces, since `\d{2}` may stand
/// right before it.
fn closing(text: &str) -> Option<usize> {
    let first = text.find(CLOSE)?;
    let braces = text[first..].bytes().take_while(|byte| *byte == b'}').count();
    Some(first + braces - CLOSE.len())
}

fn capturing(pattern: &str) -> Result<Regex, String> {
    let regex = compile(pattern)?;
    if regex.captures_len() < 2 {
        return Err(format!(
            "found `{OPEN}{pattern}{CLOSE}`, expected a regular expression with a capture group"
        ));
    }
    Ok(regex)
}

/// Compiles a regular expression; the error is one line.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| {
        let error = error.to_string();
        let reason = error
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned();
        format!("found \"{pattern}\" ({reason}), expected a regular expression")
    })
}

/// JSON in which every text is a template.
#[derive(Clone, Debug)]
pub(super) enum JsonTemplate {
    Plain(Value),
    Text(Template),
    List(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
}

impl JsonTemplate {
    /// The JSON for a request.
    pub(super) fn fill(&self, request: &RequestText<'_>) -> Result<Value, String> {
        Ok(match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => Value::String(template.fill(request)?),
            Self::List(items) => Value::Array(items.iter().map(|item| item.fill(request)).collect::<Result<_, _>>()?),
            Self::Object(entries) => {
                let filled = entries
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), value.fill(request)?)));
                Value::Object(filled.collect::<Result<Map<_, _>, String>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, request: &str, expected: Result<&str, &str>) {
        let request = RequestText::new(Box::new(|| request.to_owned()));
        match (
            Template::parse(template).and_then(|template| template.fill(&request)),
            expected,
        ) {
            (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (found, expected) => panic!("found {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_placeholder_takes_capture_one_of_the_last_match() {
        check("no {{other}} place", "", Ok("no {{other}} place"));
        check("{{fromRequest:id=(\\d+)}}", "id=1 id=22", Ok("22"));
        check("<{{fromRequest:a(.)}}|{{fromRequest:b(.)}}>", "a1b2", Ok("<1|2>"));
        check("{{fromRequest:x(\\d{2})}}", "x123", Ok("12"));
        check("{{fromRequest:(y)\\d{2}}}!", "y12", Ok("y!"));
        check("{{fromRequest:a(x)?}}", "ax a", Ok("x"));
        check("{{fromRequest:(é+)}}", "éé", Ok("éé"));
    }

    #[test]
    fn a_bad_placeholder_is_named() {
        check("{{fromRequest:(a", "", Err("without an end"));
        check("{{fromRequest:(}}", "", Err("unclosed group"));
        check("{{fromRequest:abc}}", "", Err("a capture group"));
        check("{{fromRequest:(b)}}", "aaa", Err("matches nothing"));
    }
}

//! The front matter of a skill: the part of YAML that skills are written in.
//!
//! Understood are `key: value` at the left margin, with plain, single-quoted and double-quoted values, values that go on
//! in indented lines, block values (`|` and `>`), and comments. What is nested below other keys is passed over. Anything
//! else is an error with its line.

use std::collections::BTreeMap;

/// The keys at the left margin and their values.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FrontMatter {
    values: BTreeMap<String, String>,
}

impl FrontMatter {
    /// The front matter and the text below it; none if the text does not begin with one.
    pub(super) fn split(text: &str) -> Option<(&str, &str)> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.split_inclusive('\n').next()?;
        if first.trim_end() != "---" {
            return None;
        }
        let mut at = first.len();
        for line in text[at..].split_inclusive('\n') {
            if line.trim_end() == "---" {
                return Some((&text[first.len()..at], &text[at + line.len()..]));
            }
            at += line.len();
        }
        None
    }

    /// Reads it.
    ///
    /// # Errors
    /// What is wrong, with the line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lines: Vec<&str> = text.lines().collect();
        let (mut found, mut at) = (Self::default(), 0);
        while at < lines.len() {
            let (line, number) = (lines[at], at + 2);
            at += 1;
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let Some((key, value)) = line
                .split_once(':')
                .filter(|(_, value)| value.is_empty() || value.starts_with([' ', '\t']))
            else {
                return Err(format!("line {number} of its front matter is no `key: value`"));
            };
            if line.starts_with([' ', '\t']) {
                return Err(format!(
                    "line {number} of its front matter is indented, and no key stands above it"
                ));
            }
            let below = lines[at..]
                .iter()
                .take_while(|line| line.trim().is_empty() || line.starts_with([' ', '\t', '-']));
            let below: Vec<&str> = below.copied().collect();
            at += below.len();
            let value = value_of(value.trim(), &below).ok_or_else(|| {
                format!("the value of {key:?} in line {number} of its front matter has a quote that is not closed")
            })?;
            if found.values.insert(key.trim().to_owned(), value).is_some() {
                return Err(format!("{key:?} stands twice in its front matter"));
            }
        }
        Ok(found)
    }

    /// The value of a key, unless it is blank.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let value = self.values.get(key)?;
        (!value.trim().is_empty()).then_some(value)
    }
}

/// The value that begins behind a key and goes on in the lines below it; none if a quote is not closed.
fn value_of(first: &str, below: &[&str]) -> Option<String> {
    if matches!(first.trim_end_matches(['-', '+']), "|" | ">") {
        let separator = if first.starts_with('|') { "\n" } else { " " };
        return Some(block(below, separator));
    }
    let joined = std::iter::once(first)
        .chain(below.iter().map(|line| line.trim()))
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match joined.chars().next() {
        Some('\'') => single_quoted(&joined[1..]),
        Some('"') => double_quoted(&joined[1..]),
        _ => Some(without_comment(&joined).to_owned()),
    }
}

/// The lines of a block value without their common margin.
fn block(lines: &[&str], separator: &str) -> String {
    let margin = |line: &&&str| line.len() - line.trim_start().len();
    let indented = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = indented.map(|line| margin(&line)).min().unwrap_or(0);
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.get(margin..).unwrap_or("").trim_end())
        .collect();
    lines.join(separator).trim_end().to_owned()
}

fn without_comment(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    value.find(" #").map_or(value, |at| &value[..at]).trim_end()
}

fn single_quoted(rest: &str) -> Option<String> {
    let (mut value, mut chars) = (String::new(), rest.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '\'' if chars.peek() == Some(&'\'') => {
                chars.next();
                value.push('\'');
            }
            '\'' => return Some(value),
            c => value.push(c),
        }
    }
    None
}

fn double_quoted(rest: &str) -> Option<String> {
    let (mut value, mut chars) = (String::new(), rest.chars());
    while let Some(c) = chars.next() {
        match c {
            '"' => return Some(value),
            '\\' => value.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, key: &str, expected: &str) {
        let found = FrontMatter::parse(text).expect("well-formed");
        assert_eq!(found.get(key).unwrap_or("(none)"), expected, "{text}");
    }

    #[test]
    fn values_are_read_as_yaml_means_them() {
        check("name: review", "name", "review");
        check(
            "description: Finds bugs: all of them # really",
            "description",
            "Finds bugs: all of them",
        );
        check("description: 'it''s: fine' # so", "description", "it's: fine");
        check("description: \"a \\\"b\\\"\\n c\"", "description", "a \"b\"\n c");
        check(
            "description: |\n  one\n    two\n\n  three\nname: x",
            "description",
            "one\n  two\n\nthree",
        );
        check("description: >-\n  one\n  two\nname: x", "name", "x");
        check("description: one\n  two\n  three", "description", "one two three");
        check(
            "metadata:\n  description: not this\nallowed-tools:\n- a\n- b\nname: x",
            "name",
            "x",
        );
        check("metadata:\n  description: not this", "description", "(none)");
        check("name:", "name", "(none)");
        check("# a comment\n\nname: x", "name", "x");
    }

    #[test]
    fn what_is_no_front_matter_is_told_with_its_line() {
        let error = |text| FrontMatter::parse(text).expect_err("must be refused");
        assert_eq!(
            error("name: x\nnonsense"),
            "line 3 of its front matter is no `key: value`"
        );
        assert!(error("  name: x").contains("indented"));
        assert!(error("name: 'x").contains("not closed"));
        assert!(error("name: x\nname: y").contains("twice"));
    }

    #[test]
    fn the_text_begins_behind_the_second_line() {
        assert_eq!(
            FrontMatter::split("---\nname: x\n---\nbody\n---\n"),
            Some(("name: x\n", "body\n---\n"))
        );
        assert_eq!(
            FrontMatter::split("\u{feff}---\r\nname: x\r\n---\r\n"),
            Some(("name: x\r\n", ""))
        );
        assert_eq!(FrontMatter::split("---\nname: x\n"), None);
        assert_eq!(FrontMatter::split("# Title\n---\n---\n"), None);
        assert_eq!(FrontMatter::split(""), None);
    }
}

//! Titles with the session's folder left out.

use std::path::{Component, Path};

/// Shows `path` relative to `cwd` wherever it stands in `title` as a whole, if it lies inside.
///
/// Only the path that a view names is looked for: a title is free text, and other paths in it are none of
/// the card's business.
pub(super) fn relativise(title: &str, cwd: &Path, path: Option<&str>) -> String {
    match path.and_then(|path| Some((path, inside(cwd, path)?))) {
        Some((path, shown)) => replace_whole(title, path, &shown),
        None => title.to_owned(),
    }
}

/// The part of an absolute `path` below `cwd`; `None` if it lies outside. A name that merely begins with two
/// dots is a name.
fn inside(cwd: &Path, path: &str) -> Option<String> {
    let below = Path::new(path).strip_prefix(cwd).ok()?;
    if below.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let shown = below.to_str()?;
    Some(if shown.is_empty() { "." } else { shown }.to_owned())
}

fn replace_whole(text: &str, path: &str, shown: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in text.match_indices(path) {
        let end = at + path.len();
        if continues_before(&text[..at]) || continues_after(&text[end..]) {
            continue;
        }
        replaced.push_str(&text[copied..at]);
        replaced.push_str(shown);
        copied = end;
    }
    replaced.push_str(&text[copied..]);
    replaced
}

fn is_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '-' | '/')
}

fn continues_before(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_some_and(|char| is_name(char) || char == '.')
}

/// A dot goes on with the name only if more of a name follows; else it ends a sentence.
fn continues_after(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        Some('.') => chars.next().is_some_and(is_name),
        Some(char) => is_name(char),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g30_the_views_path_is_shown_relative_where_it_stands_whole() {
        let cases = [
            ("Edit /w/src/a.rs", Some("/w/src/a.rs"), "Edit src/a.rs"),
            ("/w/a: /w/a, (/w/a).", Some("/w/a"), "a: a, (a)."),
            ("List /w", Some("/w"), "List ."),
            ("Read /w/..foo", Some("/w/..foo"), "Read ..foo"),
            ("Read /w/../x", Some("/w/../x"), "Read /w/../x"),
            ("Read /wider/a", Some("/wider/a"), "Read /wider/a"),
            (
                "Read /w/a.txt and /w/ab and /x/w/a",
                Some("/w/a"),
                "Read /w/a.txt and /w/ab and /x/w/a",
            ),
            ("Read /w/b", Some("/w/a"), "Read /w/b"),
            ("Read a", Some("a"), "Read a"),
            ("Read /w/a", None, "Read /w/a"),
            ("Lies /w/é /w/日本", Some("/w/é"), "Lies é /w/日本"),
        ];
        for (title, path, expected) in cases {
            assert_eq!(relativise(title, Path::new("/w"), path), expected);
        }
    }
}

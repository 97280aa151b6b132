//! Patterns in which `*` stands for any characters, and paths of them in which `**` stands for any folders.

use std::path::{Component, Path};

/// One element of a pattern over elements `T`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<T> {
    /// Just one that fits.
    One(T),
    /// Any number of any.
    Many,
}

/// Whether all of `text` fits. Takes at most `pattern × text` steps: only the last [`Token::Many`] is ever tried again.
pub(super) fn fits<P, T>(pattern: &[Token<P>], text: &[T], one: impl Fn(&P, &T) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(Token::Many) => {
                again = Some((p, t));
                p += 1;
            }
            Some(Token::One(wanted)) if one(wanted, &text[t]) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((many, from)) = again else { return false };
                again = Some((many, from + 1));
                (p, t) = (many + 1, from + 1);
            }
        }
    }
    pattern[p..].iter().all(|token| matches!(token, Token::Many))
}

/// A pattern of characters: `*` for any of them, `?` for one, and a backslash makes the next one itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextGlob {
    tokens: Vec<Token<Option<char>>>,
}

impl TextGlob {
    pub(super) fn parse(text: &str) -> Self {
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '*' => Token::Many,
                '?' => Token::One(None),
                '\\' => Token::One(Some(chars.next().unwrap_or('\\'))),
                other => Token::One(Some(other)),
            });
        }
        Self { tokens }
    }

    /// The pattern that fits just this text.
    pub(super) fn literal(text: &str) -> Self {
        Self {
            tokens: text.chars().map(|c| Token::One(Some(c))).collect(),
        }
    }

    pub(super) fn push(&mut self, other: Self) {
        self.tokens.extend(other.tokens);
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        fits(&self.tokens, &text, |wanted, c| {
            wanted.is_none_or(|wanted| wanted == *c)
        })
    }

    fn is_literal(&self) -> bool {
        self.tokens.iter().all(|token| matches!(token, Token::One(Some(_))))
    }
}

/// The text as a pattern that fits just it.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A pattern of absolute paths. A folder's `/**` fits the folder too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathGlob {
    parts: Vec<Token<TextGlob>>,
}

impl PathGlob {
    /// The paths below `base` (all of whose characters are themselves) that fit `pattern`.
    pub(super) fn parse(base: &Path, pattern: &str) -> Self {
        let mut parts: Vec<_> = names(base).map(|name| Token::One(TextGlob::literal(&name))).collect();
        for part in pattern.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                "**" => parts.push(Token::Many),
                name => parts.push(Token::One(TextGlob::parse(name))),
            }
        }
        Self { parts }
    }

    pub(super) fn is_match(&self, path: &Path) -> bool {
        let path: Vec<String> = names(path).collect();
        fits(&self.parts, &path, |wanted, name| wanted.is_match(name))
    }

    /// How many parts the pattern begins with that have no wildcard.
    pub(super) fn literal_parts(&self) -> usize {
        let literal = |part: &&Token<TextGlob>| matches!(part, Token::One(text) if text.is_literal());
        self.parts.iter().take_while(literal).count()
    }

    /// The same pattern with its first `count` parts replaced by those of a path.
    pub(super) fn moved(&self, count: usize, to: &Path) -> Self {
        let moved = names(to).map(|name| Token::One(TextGlob::literal(&name)));
        Self {
            parts: moved.chain(self.parts.iter().skip(count).cloned()).collect(),
        }
    }

    /// The path of the first `count` parts, which have no wildcard.
    pub(super) fn path_of(&self, count: usize) -> std::path::PathBuf {
        let mut path = std::path::PathBuf::from("/");
        for part in self.parts.iter().take(count) {
            let Token::One(text) = part else { break };
            let name: String = (text.tokens.iter())
                .filter_map(|token| match token {
                    Token::One(c) => *c,
                    Token::Many => None,
                })
                .collect();
            path.push(name);
        }
        path
    }
}

/// The names in a path, by its wording.
fn names(path: &Path) -> impl Iterator<Item = String> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        let glob = PathGlob::parse(Path::new("/srv/a*b"), pattern);
        assert_eq!(glob.is_match(Path::new(path)), expected, "{pattern} on {path}");
    }

    #[test]
    fn paths_fit_part_by_part() {
        check("src/**", "/srv/a*b/src", true);
        check("src/**", "/srv/a*b/src/x/y.rs", true);
        check("src/**", "/srv/a*b/srcs/x", false);
        check("src/**", "/srv/axb/src/x", false);
        check("src/*", "/srv/a*b/src/x", true);
        check("src/*", "/srv/a*b/src/x/y", false);
        check("**/*.rs", "/srv/a*b/x/y.rs", true);
        check("**/*.rs", "/srv/a*b/y.rs", true);
        check("./src/../lib/?.rs", "/srv/a*b/lib/x.rs", true);
        check("a/**/b/**/c", "/srv/a*b/a/b/b/c", true);
        check("a/**/b/**/c", "/srv/a*b/a/c", false);
        check("[id].tsx", "/srv/a*b/[id].tsx", true);
        check(r"\*.rs", "/srv/a*b/*.rs", true);
        check(r"\*.rs", "/srv/a*b/x.rs", false);
        check("../../../etc/**", "/etc/passwd", true);
    }

    #[test]
    fn text_fits_as_a_whole_and_hostile_patterns_end_soon() {
        assert!(TextGlob::parse("mcp__github__*").is_match("mcp__github__list"));
        assert!(!TextGlob::parse("mcp__github__*").is_match("xmcp__github__list"));
        assert!(TextGlob::parse("*a*").is_match("bab"));
        assert!(TextGlob::parse("ü?").is_match("üß"));
        let hostile = "*a".repeat(2_000);
        assert!(!TextGlob::parse(&hostile).is_match(&"a".repeat(1_999)));
        let deep = PathGlob::parse(Path::new("/"), &"**/a/".repeat(500));
        assert!(!deep.is_match(Path::new(&"/a".repeat(499))));
    }

    #[test]
    fn what_is_escaped_fits_itself_only() {
        for text in ["plain", "a*b", "a?b", r"a\b", "**"] {
            let glob = TextGlob::parse(&escape(text));
            assert!(glob.is_match(text) && !glob.is_match("axb"), "{text}");
        }
    }
}

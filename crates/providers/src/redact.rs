//! Foreign text made fit to be shown: cut, on one line, without credentials.

use crate::Secret;

/// The longest excerpt, in characters.
const MAX_EXCERPT: usize = 300;
/// What stands for something removed.
const REMOVED: &str = "[removed]";
/// How credentials of well-known services begin.
const PREFIXES: &[&str] = &[
    "sk-", "sk_", "pk-", "pk_", "rk_", "gsk_", "xai-", "hf_", "AIza", "AKIA", "ghp_", "eyJ",
];
/// A run of letters and digits, with both in it, that is this long is no word.
const TOKEN_RUN: usize = 20;
/// Known credentials shorter than this are not looked for inside of words.
const MIN_KNOWN: usize = 6;

/// An excerpt of a text that an endpoint sent.
///
/// Removed are the credentials that were sent to it, and everything that looks like one.
pub(crate) fn excerpt(text: &str, sent: &[Secret]) -> String {
    let mut text = text.to_owned();
    for secret in sent
        .iter()
        .map(Secret::expose)
        .filter(|secret| secret.len() >= MIN_KNOWN)
    {
        text = text.replace(secret, REMOVED);
    }
    let mut shown = String::new();
    let mut after_bearer = false;
    for word in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
    {
        if !shown.is_empty() {
            shown.push(' ');
        }
        if after_bearer {
            shown.push_str(REMOVED);
        } else {
            push_word(word, &mut shown);
        }
        after_bearer = word.to_ascii_lowercase().ends_with("bearer");
        if shown.chars().count() > MAX_EXCERPT {
            break;
        }
    }
    match shown.char_indices().nth(MAX_EXCERPT) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown,
    }
}

/// Appends a word; those of its parts that look like credentials are removed.
fn push_word(word: &str, shown: &mut String) {
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_token_char(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        shown.push_str(if looks_like_key(token) { REMOVED } else { token });
        let separators = after.find(is_token_char).unwrap_or(after.len());
        shown.push_str(&after[..separators]);
        rest = &after[separators..];
    }
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*')
}

fn looks_like_key(token: &str) -> bool {
    let prefixed = PREFIXES
        .iter()
        .any(|prefix| token.len() > prefix.len() + 2 && token.starts_with(prefix));
    let random = |run: &str| {
        run.len() >= TOKEN_RUN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    prefixed || token.split(['-', '_', '*']).any(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(
            excerpt(text, &[Secret::new("hunter2hunter"), Secret::new("a")]),
            expected
        );
    }

    #[test]
    fn sse_14_what_looks_like_a_key_is_removed() {
        check("bad key sk-SECRET-IN-MESSAGE", "bad key [removed]");
        check(
            "Incorrect API key provided: sk-proj-ab*******yz.",
            "Incorrect API key provided: [removed].",
        );
        check("{\"key\":\"sk-live_x1y2\"}", "{\"key\":\"[removed]\"}");
        check(
            "header Authorization: Bearer abc",
            "header Authorization: Bearer [removed]",
        );
        check("token 0123456789abcdef0123456789abcdef!", "token [removed]!");
        check("eyJhbGciOi.eyJzdWIi.sig", "[removed].[removed].sig");
    }

    #[test]
    fn sse_14_the_credentials_that_were_sent_are_removed_wherever_they_stand() {
        check(
            "you sent 'xhunter2huntery', did you?",
            "you sent 'x[removed]y', did you?",
        );
    }

    #[test]
    fn what_helps_to_understand_stays() {
        for text in [
            "model meta-llama/Llama-3.1-405B-Instruct-Turbo not found",
            "claude-sonnet-4-5-20250929 is overloaded",
            "request 550e8400-e29b-41d4-a716-446655440000 failed",
            "maximum context length is 65536 tokens, a task-oriented risk-free sk",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        check("a\n\n  b\t\u{0}\u{1b}[31mc\r\n", "a b [31mc");
        check(&"é ".repeat(1_000), &format!("{}…", "é ".repeat(150)));
        let word = excerpt(&"é".repeat(1_000), &[]);
        assert_eq!(word, format!("{}…", "é".repeat(300)));
    }
}

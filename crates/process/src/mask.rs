//! Keeping credentials out of what is shown and logged.

/// What stands where a secret was.
const MASK: &str = "***";
/// The shortest value that is taken for a secret: shorter ones, such as `1` or `info`, would mask ordinary text.
const LEAST_CHARS: usize = 6;
/// Words that stand before a credential, followed by what it begins behind.
const MARKS: &[&str] = &[
    "bearer ",
    "basic ",
    "api_key=",
    "apikey=",
    "token=",
    "password=",
    "secret=",
    "://",
];
/// How keys of well-known services begin.
const PREFIXES: &[&str] = &["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA"];

/// Replaces secrets that are known, and what looks like one. It shows nothing of them itself.
#[derive(Clone, Default)]
pub struct Mask {
    secrets: Vec<String>,
}

impl Mask {
    /// A mask over these secrets; those of fewer than six characters are left out, since they would mask ordinary text.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets
            .into_iter()
            .filter(|secret| secret.trim().chars().count() >= LEAST_CHARS)
            .collect();
        // The longest first, so that no part of one is left beside another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// The text without secrets.
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret) {
                text = text.replace(secret, MASK);
            }
        }
        text.split_inclusive(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '<' | '>'))
            .scan(false, |follows_scheme, word| {
                let masked = mask_word(word, *follows_scheme);
                let lower = word.to_ascii_lowercase();
                *follows_scheme = matches!(lower.trim_end(), "bearer" | "basic");
                Some(masked)
            })
            .collect()
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

/// One word with its separator: what stands behind a mark in it, or all of it, if it is a credential.
fn mask_word(word: &str, follows_scheme: bool) -> String {
    let end = word
        .rfind(|c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | ',' | ';' | '<' | '>'))
        .map_or(0, |at| at + word[at..].chars().next().map_or(1, char::len_utf8));
    let (bare, separator) = word.split_at(end);
    if bare.is_empty() {
        return word.to_owned();
    }
    if (follows_scheme && bare.len() >= LEAST_CHARS) || PREFIXES.iter().any(|prefix| bare.starts_with(prefix)) {
        return format!("{MASK}{separator}");
    }
    let lower = bare.to_ascii_lowercase();
    for mark in MARKS {
        let Some(at) = lower.find(mark) else { continue };
        let (before, value) = bare.split_at(at + mark.len());
        if *mark == "://" {
            // A user and a password before the host.
            if let Some((_, host)) = value.split_once('@') {
                return format!("{before}{MASK}@{host}{separator}");
            }
        } else if !value.is_empty() {
            return format!("{before}{MASK}{separator}");
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secrets: &[&str], text: &str, expected: &str) {
        let mask = Mask::new(secrets.iter().map(|secret| (*secret).to_owned()));
        assert_eq!(mask.apply(text), expected);
    }

    #[test]
    fn known_secrets_are_masked_wherever_they_stand() {
        check(
            &["hunter22", "hunter22-long"],
            "a hunter22-long, (hunter22)",
            "a ***, (***)",
        );
    }

    #[test]
    fn short_values_are_no_secrets() {
        check(&["info", "1"], "info: 1 file", "info: 1 file");
    }

    #[test]
    fn what_looks_like_a_credential_is_masked() {
        check(&[], "Authorization: Bearer abcdefgh\n", "Authorization: Bearer ***\n");
        check(&[], "invalid key sk-abc123.", "invalid key ***");
        check(&[], "GET /?token=abc&x=1 failed", "GET /?token=*** failed");
        check(&[], "https://me:pw@example.org/a", "https://***@example.org/a");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        let text = "cannot open frobnicator\n  at \"x\", größe=日本; https://example.org/a@b\n";
        check(&[], "", "");
        check(&[], text, &text.replace("https://example.org/a@b", "https://***@b"));
    }
}

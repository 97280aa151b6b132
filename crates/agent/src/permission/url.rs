//! Patterns of URLs: a scheme, a host, and what follows.
//!
//! A rule that allows fits only URLs that every reader takes apart the same way; one that holds back fits all that some
//! reader may take for what it names.

use super::glob::TextGlob;
use super::rule::RuleProblem;

/// A pattern of URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UrlGlob {
    /// Absent for both `http` and `https`.
    scheme: Option<String>,
    host: TextGlob,
    rest: TextGlob,
}

impl UrlGlob {
    /// Reads `scheme://host/rest` or a host alone, which stands for everything there. `*` stands for any characters,
    /// in the host for none of what follows it.
    pub(super) fn parse(text: &str) -> Result<Self, RuleProblem> {
        let (scheme, place) = match text.split_once("://") {
            Some((scheme, place)) => (Some(scheme.to_ascii_lowercase()), place),
            None => (None, text),
        };
        if scheme
            .as_deref()
            .is_some_and(|scheme| scheme != "http" && scheme != "https")
        {
            return Err(RuleProblem::Scheme);
        }
        let (host, rest) = match place.split_once('/') {
            Some((host, rest)) => (host, TextGlob::parse(&format!("/{rest}"))),
            None => (place, TextGlob::parse("*")),
        };
        if host.is_empty() || host.contains(['@', '\\']) || host.contains(char::is_whitespace) {
            return Err(RuleProblem::Host);
        }
        let host = TextGlob::parse(&host.to_ascii_lowercase());
        Ok(Self { scheme, host, rest })
    }

    /// Whether it is such a URL beyond doubt.
    pub(super) fn is_match(&self, url: &str) -> bool {
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let Some((scheme, host, rest)) = split(url) else {
            return false;
        };
        is_plain && !host.contains('@') && !climbs(rest) && self.fits(&scheme, &host.to_ascii_lowercase(), rest)
    }

    /// Whether some reader may take it for such a URL.
    pub(super) fn may_match(&self, url: &str) -> bool {
        let cleaned: String = url.trim().chars().filter(|c| !c.is_ascii_control()).collect();
        let cleaned = cleaned.replace('\\', "/");
        let Some((scheme, host, rest)) = split(&cleaned) else {
            return false;
        };
        let host = host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase();
        let without_port = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        [host.as_str(), without_port, without_port.trim_end_matches('.')]
            .iter()
            .any(|host| self.fits(&scheme, host, rest) || (climbs(rest) && self.host.is_match(host)))
    }

    fn fits(&self, scheme: &str, host: &str, rest: &str) -> bool {
        let is_scheme = match &self.scheme {
            Some(wanted) => wanted == scheme,
            None => scheme == "http" || scheme == "https",
        };
        is_scheme && self.host.is_match(host) && self.rest.is_match(if rest.is_empty() { "/" } else { rest })
    }
}

/// `scheme://host` of a URL that can be told apart beyond doubt, as a pattern of all that is there.
pub(super) fn site_of(url: &str) -> Option<String> {
    let (scheme, host, _) = split(url)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    let is_web = scheme == "http" || scheme == "https";
    (is_web && !host.is_empty() && host.chars().all(is_plain))
        .then(|| format!("{scheme}://{}/*", host.to_ascii_lowercase()))
}

/// Scheme, host with user and port, and the rest from its first separator on.
fn split(url: &str) -> Option<(String, &str, &str)> {
    let (scheme, place) = url.split_once("://")?;
    let end = place.find(['/', '?', '#', '\\']).unwrap_or(place.len());
    let (host, rest) = place.split_at(end);
    Some((scheme.to_ascii_lowercase(), host, rest))
}

/// Whether a part of the path leads upwards.
fn climbs(rest: &str) -> bool {
    let path = rest.split(['?', '#']).next().unwrap_or(rest).to_ascii_lowercase();
    path.replace("%2e", ".")
        .replace("%2f", "/")
        .split('/')
        .any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, url: &str, (allows, holds_back): (bool, bool)) {
        let glob = UrlGlob::parse(pattern).expect("a good pattern");
        assert_eq!(
            (glob.is_match(url), glob.may_match(url)),
            (allows, holds_back),
            "{pattern} on {url}"
        );
    }

    #[test]
    fn a_pattern_fits_scheme_host_and_rest() {
        check("https://docs.rs/*", "https://docs.rs/tokio", (true, true));
        check("https://docs.rs/*", "https://docs.rs", (true, true));
        check("https://docs.rs/*", "HTTPS://DOCS.rs/x", (true, true));
        check("https://docs.rs/*", "http://docs.rs/x", (false, false));
        check("docs.rs", "http://docs.rs/x?y", (true, true));
        check("*.docs.rs", "https://a.docs.rs/", (true, true));
        check("*.docs.rs", "https://evil.com/.docs.rs", (false, false));
        check("https://docs.rs/tokio/*", "https://docs.rs/serde", (false, false));
    }

    #[test]
    fn what_readers_may_disagree_on_is_not_allowed_and_is_held_back() {
        check("https://docs.rs/*", "https://docs.rs@evil.com/", (false, false));
        check("evil.com", "https://docs.rs@evil.com/", (false, true));
        check("evil.com", "https://evil.com:443/", (false, true));
        check("evil.com", "https://evil.com./", (false, true));
        check("evil.com", "https:\\\\evil.com\\x", (false, true));
        check("https://a.b/x/*", "https://a.b/x/../y", (false, true));
        check("https://a.b/x/*", "https://a.b/x/%2e%2E/y", (false, true));
        check("https://docs.rs/*", "https://docs.rs\\@evil.com/", (false, true));
        check("https://docs.rs/*", "https://docs.rs /", (false, false));
        check("https://docs.rs/*", "docs.rs/x", (false, false));
    }

    #[test]
    fn what_is_no_pattern_of_urls_is_refused() {
        assert_eq!(UrlGlob::parse("ftp://x/"), Err(RuleProblem::Scheme));
        for text in ["", "https:///x", "https://a@b/", "https://a b/"] {
            assert_eq!(UrlGlob::parse(text), Err(RuleProblem::Host), "{text}");
        }
    }

    #[test]
    fn a_site_is_named_only_beyond_doubt() {
        assert_eq!(site_of("https://Docs.rs/tokio?x").as_deref(), Some("https://docs.rs/*"));
        for url in [
            "https://a@b/",
            "file:///etc/passwd",
            "https:///x",
            "docs.rs",
            "https://a*/",
        ] {
            assert_eq!(site_of(url), None, "{url}");
        }
    }
}

//! The settings of an endpoint.

use std::ops::RangeInclusive;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use thiserror::Error;

use super::Endpoint;
use crate::Secret;
use crate::http::LazyClient;

/// How to reach an endpoint and how long to wait for it.
#[derive(Clone, Debug)]
pub struct OpenAiChatConfig {
    /// The endpoint's URL up to and without `/chat/completions`; `http` or `https`, a slash at the end
    /// makes no difference, a query is kept.
    pub base_url: String,
    /// Sent as a bearer token; white space around it is left out. `None` for endpoints that need no key.
    pub api_key: Option<Secret>,
    /// Further headers, which win over those the adapter sends. Values count as credentials.
    pub headers: Vec<(String, Secret)>,
    /// How long connecting may take: 1 ms to 10 min, default 30 s.
    pub connect_timeout: Duration,
    /// How long the endpoint may be silent, before the first byte and between two: 1 ms to 1 h, default
    /// 5 min. Comments that keep the connection alive are no silence. The whole answer has no limit.
    pub idle_timeout: Duration,
    /// The longest event of a stream: 1 KiB to 64 MiB, default 8 MiB.
    pub max_event_bytes: usize,
    /// The longest answer, reasoning and arguments included: 1 KiB to 256 MiB, default 32 MiB.
    pub max_answer_bytes: usize,
}

const CONNECT_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_mins(10);
const IDLE_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(1);
const EVENT_BYTES: RangeInclusive<usize> = 1 << 10..=64 << 20;
const ANSWER_BYTES: RangeInclusive<usize> = 1 << 10..=256 << 20;

impl OpenAiChatConfig {
    /// The defaults for an endpoint.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(5),
            max_event_bytes: 8 << 20,
            max_answer_bytes: 32 << 20,
        }
    }

    /// Checks every setting.
    pub(super) fn into_endpoint(self) -> Result<Endpoint, ConfigError> {
        in_range("connect_timeout", &self.connect_timeout, &CONNECT_TIMEOUT)?;
        in_range("idle_timeout", &self.idle_timeout, &IDLE_TIMEOUT)?;
        in_range("max_event_bytes", &self.max_event_bytes, &EVENT_BYTES)?;
        in_range("max_answer_bytes", &self.max_answer_bytes, &ANSWER_BYTES)?;
        let base = base_url(&self.base_url)?;
        let (headers, secrets) = self.credentials()?;
        let mut url = base.clone();
        url.path_segments_mut()
            .expect("http URLs have paths")
            .pop_if_empty()
            .extend(["chat", "completions"]);
        let mut name = base;
        name.set_query(None);
        let client = LazyClient::new(&url, self.connect_timeout);
        let name = name.as_str().trim_end_matches('/').to_owned();
        Ok(Endpoint {
            url,
            name,
            headers,
            secrets,
            client,
            config: self,
        })
    }

    fn credentials(&self) -> Result<(HeaderMap, Vec<Secret>), ConfigError> {
        let mut headers = HeaderMap::new();
        let mut secrets = Vec::new();
        if let Some(key) = &self.api_key {
            let key = key.expose().trim();
            if key.is_empty() {
                return Err(ConfigError::new(
                    "api_key",
                    "found an empty text, expected a key, or no key at all",
                ));
            }
            secrets.push(Secret::new(key));
            headers.insert(AUTHORIZATION, header_value("api_key", &format!("Bearer {key}"))?);
        }
        for (name, value) in &self.headers {
            let parsed = HeaderName::try_from(name.as_str())
                .map_err(|_| ConfigError::new("headers", format!("found \"{name}\", expected the name of a header")))?;
            secrets.push(value.clone());
            headers.insert(parsed, header_value(&format!("headers.{name}"), value.expose())?);
        }
        Ok((headers, secrets))
    }
}

fn in_range<T: PartialOrd + std::fmt::Debug>(
    key: &str,
    found: &T,
    allowed: &RangeInclusive<T>,
) -> Result<(), ConfigError> {
    if allowed.contains(found) {
        return Ok(());
    }
    let (from, to) = (allowed.start(), allowed.end());
    Err(ConfigError::new(
        key,
        format!("found {found:?}, expected {from:?} to {to:?}"),
    ))
}

fn base_url(text: &str) -> Result<Url, ConfigError> {
    let bad = |what: String| ConfigError::new("base_url", what);
    let expected = "expected a URL such as https://api.example.com/v1";
    let url = Url::parse(text.trim()).map_err(|error| bad(format!("found \"{text}\" ({error}), {expected}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("found \"{text}\", {expected}, with http or https")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(format!(
            "found a user or password in it, {expected}, and the key in api_key_env or headers"
        )));
    }
    if url.fragment().is_some() {
        return Err(bad(format!("found \"{text}\", {expected}, without a fragment")));
    }
    if url.path().trim_end_matches('/').ends_with("/chat/completions") {
        return Err(bad(format!(
            "found \"{text}\", expected it without /chat/completions, which is added"
        )));
    }
    Ok(url)
}

fn header_value(key: &str, value: &str) -> Result<HeaderValue, ConfigError> {
    let expected = "found a character that a header cannot hold, expected visible ASCII";
    let mut value = HeaderValue::from_str(value).map_err(|_| ConfigError::new(key, expected))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct ConfigError {
    key: String,
    message: String,
}

impl ConfigError {
    fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            message: message.into(),
        }
    }

    /// The setting, such as `base_url`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What was found and what is allowed; never a credential.
    pub fn message(&self) -> &str {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn url(base: &str, expected: &str) {
        let endpoint = OpenAiChatConfig::new(base).into_endpoint().expect("a good URL");
        assert_eq!(endpoint.url.as_str(), expected);
    }

    #[track_caller]
    fn bad(change: impl FnOnce(&mut OpenAiChatConfig), expected: &str) {
        let mut config = OpenAiChatConfig::new("https://a.example/v1");
        change(&mut config);
        assert_eq!(config.into_endpoint().expect_err("a bad setting").to_string(), expected);
    }

    #[test]
    fn the_path_is_added_to_the_base() {
        url("https://a.example", "https://a.example/chat/completions");
        url("https://a.example/v1", "https://a.example/v1/chat/completions");
        url(" https://a.example/v1/ ", "https://a.example/v1/chat/completions");
        url(
            "http://[::1]:8080/x?api-version=2",
            "http://[::1]:8080/x/chat/completions?api-version=2",
        );
    }

    #[test]
    fn a_query_is_not_shown() {
        let endpoint = OpenAiChatConfig::new("https://a.example/v1/?key=abc")
            .into_endpoint()
            .expect("a good URL");
        assert_eq!(endpoint.name, "https://a.example/v1");
    }

    #[test]
    fn a_bad_url_is_refused() {
        let example = "expected a URL such as https://api.example.com/v1";
        bad(
            |config| config.base_url = "a.example/v1".into(),
            &format!("base_url: found \"a.example/v1\" (relative URL without a base), {example}"),
        );
        bad(
            |config| config.base_url = "ftp://a.example".into(),
            &format!("base_url: found \"ftp://a.example\", {example}, with http or https"),
        );
        bad(
            |config| config.base_url = "https://u:p@a.example".into(),
            &format!("base_url: found a user or password in it, {example}, and the key in api_key_env or headers"),
        );
        bad(
            |config| config.base_url = "https://a.example/v1#x".into(),
            &format!("base_url: found \"https://a.example/v1#x\", {example}, without a fragment"),
        );
        bad(
            |config| config.base_url = "https://a.example/v1/chat/completions/".into(),
            "base_url: found \"https://a.example/v1/chat/completions/\", expected it without /chat/completions, \
             which is added",
        );
    }

    #[test]
    fn limits_have_ranges() {
        bad(
            |config| config.idle_timeout = Duration::ZERO,
            "idle_timeout: found 0ns, expected 1ms to 3600s",
        );
        bad(
            |config| config.connect_timeout = Duration::from_secs(601),
            "connect_timeout: found 601s, expected 1ms to 600s",
        );
        bad(
            |config| config.max_event_bytes = 1,
            "max_event_bytes: found 1, expected 1024 to 67108864",
        );
        bad(
            |config| config.max_answer_bytes = 0,
            "max_answer_bytes: found 0, expected 1024 to 268435456",
        );
    }

    #[test]
    fn credentials_are_checked_and_never_shown() {
        let expected = "found a character that a header cannot hold, expected visible ASCII";
        bad(
            |config| config.api_key = Some(Secret::new("a\nb")),
            &format!("api_key: {expected}"),
        );
        bad(
            |config| config.api_key = Some(Secret::new(" \n")),
            "api_key: found an empty text, expected a key, or no key at all",
        );
        bad(
            |config| config.headers = vec![("x-a".into(), Secret::new("\u{1}"))],
            &format!("headers.x-a: {expected}"),
        );
        bad(
            |config| config.headers = vec![("x a".into(), Secret::new("b"))],
            "headers: found \"x a\", expected the name of a header",
        );
        let mut config = OpenAiChatConfig::new("https://a.example/v1");
        config.api_key = Some(Secret::new("hunter2\n"));
        config.headers = vec![("x-key".into(), Secret::new("swordfish"))];
        let endpoint = config.into_endpoint().expect("good settings");
        assert_eq!(endpoint.headers[AUTHORIZATION], "Bearer hunter2");
        let debug = format!("{endpoint:?}");
        assert!(!debug.contains("hunter2") && !debug.contains("swordfish"), "{debug}");
    }
}

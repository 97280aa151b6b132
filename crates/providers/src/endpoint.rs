//! An endpoint: its settings, checked, and all that a request needs of them.

use std::ops::RangeInclusive;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use thiserror::Error;
use weft_model::{ModelError, ModelErrorKind};

use crate::http::LazyClient;
use crate::key::CommandKey;
use crate::redact::excerpt;
use crate::{Knowledge, Secret};

/// How to reach an endpoint and how long to wait for it.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The endpoint's URL up to and without the path of its protocol, such as `/chat/completions`; `http`
    /// or `https`, a slash at the end makes no difference, a query is kept.
    pub base_url: String,
    /// Sent in the header that the protocol has for it; white space around it is left out. `None` for
    /// endpoints that need no key.
    pub api_key: Option<Secret>,
    /// A program and its arguments that print the key, in place of `api_key`. It is run when a request first needs
    /// it, without a shell and without input, for at most a minute, and once more when the endpoint refuses the key.
    pub api_key_command: Option<Vec<String>>,
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
    /// The most tokens of one answer: 1 to 1,000,000. `None` leaves it to the endpoint, where the protocol allows
    /// that; endpoints refuse more than the model can give.
    pub max_tokens: Option<u32>,
    /// What is known of the endpoint's models.
    pub knowledge: Knowledge,
}

const CONNECT_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_mins(10);
const IDLE_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(1);
const EVENT_BYTES: RangeInclusive<usize> = 1 << 10..=64 << 20;
const ANSWER_BYTES: RangeInclusive<usize> = 1 << 10..=256 << 20;
const MAX_TOKENS: RangeInclusive<u32> = 1..=1_000_000;

/// What the endpoints of one protocol have in common.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// What its answers are, for errors.
    pub(crate) name: &'static str,
    /// A segment of the path that a base URL may end with or leave out.
    pub(crate) version: Option<&'static str>,
    /// The segments after it.
    pub(crate) path: &'static [&'static str],
    /// The header that holds the key, and what stands before the key in it.
    pub(crate) key: (HeaderName, &'static str),
    /// Sent with every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// What asks for the whole list of models; empty for nothing.
    pub(crate) models_query: &'static str,
}

/// All that a request needs of the configuration.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) protocol: &'static Protocol,
    /// Where to post.
    pub(crate) url: Url,
    /// Where the models are listed.
    pub(crate) models_url: Url,
    /// The key, if a command prints it.
    pub(crate) key: Option<CommandKey>,
    /// The endpoint in errors: `base_url` without a query.
    pub(crate) name: String,
    /// Sent with every request; credentials are marked as sensitive.
    pub(crate) headers: HeaderMap,
    /// What must not be shown, should the endpoint repeat it.
    secrets: Vec<Secret>,
    pub(crate) config: EndpointConfig,
    pub(crate) client: LazyClient,
}

impl EndpointConfig {
    /// The defaults for an endpoint.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            api_key_command: None,
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(5),
            max_event_bytes: 8 << 20,
            max_answer_bytes: 32 << 20,
            max_tokens: None,
            knowledge: Knowledge::default(),
        }
    }

    /// Checks every setting.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the first one that is wrong.
    pub(crate) fn into_endpoint(self, protocol: &'static Protocol) -> Result<Endpoint, ConfigError> {
        in_range("connect_timeout", &self.connect_timeout, &CONNECT_TIMEOUT)?;
        in_range("idle_timeout", &self.idle_timeout, &IDLE_TIMEOUT)?;
        in_range("max_event_bytes", &self.max_event_bytes, &EVENT_BYTES)?;
        in_range("max_answer_bytes", &self.max_answer_bytes, &ANSWER_BYTES)?;
        if let Some(max_tokens) = &self.max_tokens {
            in_range("max_tokens", max_tokens, &MAX_TOKENS)?;
        }
        let base = base_url(&self.base_url, protocol)?;
        let (headers, secrets) = self.credentials(protocol)?;
        let key = self.command_key()?;
        let url = protocol.url(&base, protocol.path);
        let mut models_url = protocol.url(&base, &["models"]);
        if !protocol.models_query.is_empty() {
            models_url.set_query(Some(protocol.models_query));
        }
        let mut name = base;
        name.set_query(None);
        let client = LazyClient::new(&url, self.connect_timeout);
        let name = name.as_str().trim_end_matches('/').to_owned();
        Ok(Endpoint {
            protocol,
            url,
            models_url,
            key,
            name,
            headers,
            secrets,
            client,
            config: self,
        })
    }

    fn command_key(&self) -> Result<Option<CommandKey>, ConfigError> {
        let Some(command) = &self.api_key_command else {
            return Ok(None);
        };
        if command.first().is_none_or(|program| program.trim().is_empty()) {
            let message = "found no program, expected a program and its arguments";
            return Err(ConfigError::new("api_key_command", message));
        }
        if self.api_key.is_some() {
            let message = "found a key as well, expected one of both";
            return Err(ConfigError::new("api_key_command", message));
        }
        Ok(Some(CommandKey::new(command.clone())))
    }

    fn credentials(&self, protocol: &Protocol) -> Result<(HeaderMap, Vec<Secret>), ConfigError> {
        let fixed = protocol.headers.iter();
        let mut headers: HeaderMap = fixed
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
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
            let (name, scheme) = &protocol.key;
            headers.insert(name, header_value("api_key", &format!("{scheme}{key}"))?);
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

impl Endpoint {
    /// The headers of one request: those that never change, and a key that a command printed, unless a configured
    /// header stands in its place.
    pub(crate) fn headers_with(&self, key: Option<&Secret>) -> Result<HeaderMap, ModelError> {
        let mut headers = self.headers.clone();
        let (name, scheme) = &self.protocol.key;
        if let Some(key) = key.filter(|_| !headers.contains_key(name)) {
            let value = header_value("api_key_command", &format!("{scheme}{}", key.expose()));
            let value = value.map_err(|error| ModelError::new(ModelErrorKind::NotConfigured, error.to_string()))?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// An excerpt of what the endpoint said, without the credentials that it was sent.
    pub(crate) fn excerpt(&self, text: &str) -> String {
        let printed = self.key.as_ref().map(CommandKey::found).unwrap_or_default();
        let secrets: Vec<Secret> = self.secrets.iter().cloned().chain(printed).collect();
        excerpt(text, &secrets)
    }
}

impl Protocol {
    fn url(&self, base: &Url, path: &[&str]) -> Url {
        let mut url = base.clone();
        let last = base.path().trim_end_matches('/').rsplit('/').next();
        let version = self.version.filter(|version| last != Some(*version));
        url.path_segments_mut()
            .expect("http URLs have paths")
            .pop_if_empty()
            .extend(version)
            .extend(path);
        url
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

fn base_url(text: &str, protocol: &Protocol) -> Result<Url, ConfigError> {
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
    let path = format!("/{}", protocol.path.join("/"));
    if url.path().trim_end_matches('/').ends_with(&path) {
        return Err(bad(format!(
            "found \"{text}\", expected it without {path}, which is added"
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
    pub(crate) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
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
    use reqwest::header::AUTHORIZATION;

    use super::*;

    static CHAT: Protocol = Protocol {
        name: "chat completions",
        version: None,
        path: &["chat", "completions"],
        key: (AUTHORIZATION, "Bearer "),
        headers: &[],
        models_query: "",
    };
    static VERSIONED: Protocol = Protocol {
        name: "messages",
        version: Some("v1"),
        path: &["messages"],
        key: (AUTHORIZATION, ""),
        headers: &[("x-version", "7")],
        models_query: "limit=9",
    };

    #[track_caller]
    fn url(base: &str, expected: &str) {
        let endpoint = EndpointConfig::new(base).into_endpoint(&CHAT).expect("a good URL");
        assert_eq!(endpoint.url.as_str(), expected);
    }

    #[track_caller]
    fn bad(change: impl FnOnce(&mut EndpointConfig), expected: &str) {
        let mut config = EndpointConfig::new("https://a.example/v1");
        change(&mut config);
        assert_eq!(
            config.into_endpoint(&CHAT).expect_err("a bad setting").to_string(),
            expected
        );
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
    fn a_version_is_added_unless_the_base_ends_with_it() {
        for (base, expected) in [
            ("https://a.example", "https://a.example/v1/messages"),
            ("https://a.example/v1/", "https://a.example/v1/messages"),
            ("https://a.example/x/v1", "https://a.example/x/v1/messages"),
            (
                "https://a.example/anthropic/",
                "https://a.example/anthropic/v1/messages",
            ),
            ("https://a.example/xv1?q=1", "https://a.example/xv1/v1/messages?q=1"),
        ] {
            let endpoint = EndpointConfig::new(base).into_endpoint(&VERSIONED).expect("a good URL");
            assert_eq!(endpoint.url.as_str(), expected);
            assert_eq!(endpoint.headers["x-version"], "7");
        }
    }

    #[test]
    fn models_are_listed_beside_the_path_of_the_protocol() {
        for (protocol, base, expected) in [
            (&CHAT, "https://a.example/v1?a=1", "https://a.example/v1/models?a=1"),
            (&VERSIONED, "https://a.example", "https://a.example/v1/models?limit=9"),
        ] {
            let endpoint = EndpointConfig::new(base).into_endpoint(protocol).expect("a good URL");
            assert_eq!(endpoint.models_url.as_str(), expected);
        }
    }

    #[test]
    fn a_key_comes_from_one_place() {
        let expected = "found no program, expected a program and its arguments";
        for command in [vec![], vec![" ".to_owned()]] {
            bad(
                |config| config.api_key_command = Some(command),
                &format!("api_key_command: {expected}"),
            );
        }
        bad(
            |config| {
                config.api_key = Some(Secret::new("k"));
                config.api_key_command = Some(vec!["pass".into()]);
            },
            "api_key_command: found a key as well, expected one of both",
        );
    }

    #[test]
    fn a_query_is_not_shown() {
        let endpoint = EndpointConfig::new("https://a.example/v1/?key=abc")
            .into_endpoint(&CHAT)
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
        let mut config = EndpointConfig::new("https://a.example/v1");
        config.api_key = Some(Secret::new("hunter2\n"));
        config.headers = vec![("x-key".into(), Secret::new("swordfish"))];
        let endpoint = config.into_endpoint(&CHAT).expect("good settings");
        assert_eq!(endpoint.headers[AUTHORIZATION], "Bearer hunter2");
        let debug = format!("{endpoint:?}");
        assert!(!debug.contains("hunter2") && !debug.contains("swordfish"), "{debug}");
    }
}

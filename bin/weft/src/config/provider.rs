//! The `[providers.NAME]` tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};
use weft_providers::Thinking;

use super::error::{ConfigError, Source};
use super::settings::render;

/// One model provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provider {
    pub(crate) kind: ProviderKind,
}

/// How a provider is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProviderKind {
    /// Any endpoint that speaks chat completions.
    OpenAiChat(Endpoint),
    /// An endpoint that speaks OpenAI's Responses.
    OpenAiResponses {
        endpoint: Endpoint,
        reasoning_effort: Option<String>,
    },
    /// An endpoint that speaks Anthropic's Messages.
    Anthropic { endpoint: Endpoint, thinking: Thinking },
    /// Scripted replies from a file.
    Scripted { script: PathBuf },
}

/// What every kind of endpoint takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) base_url: String,
    pub(crate) api_key_env: Option<String>,
    /// A program and its arguments that print the key.
    pub(crate) api_key_command: Option<Vec<String>>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_tokens: Option<u32>,
    /// Whether its list of models is asked for.
    pub(crate) list_models: bool,
}

/// The keys of a provider table: name, what it takes.
pub(crate) const PROVIDER_KEYS: &[(&str, &str)] = &[
    (
        "kind",
        "\"openai-chat\" (any endpoint that speaks chat completions), \"openai-responses\" (Responses), \"anthropic\" \
         (Messages) or \"scripted\" (replies from a file)",
    ),
    (
        "base_url",
        "the endpoint's URL up to and without `/chat/completions`, `/responses` or `/v1/messages`; for every kind but `scripted`",
    ),
    (
        "api_key_env",
        "the environment variable that holds the key; for every kind but `scripted`, absent where none is needed",
    ),
    (
        "api_key_command",
        "a list of texts, a program and its arguments, that print the key, such as `[\"pass\", \"show\", \"deepseek\"]`; in \
         place of `api_key_env`, run without a shell and without input when the key is first needed, for at most a minute, and \
         once more when the endpoint refuses the key",
    ),
    (
        "headers",
        "a table of further request headers; for every kind but `scripted`",
    ),
    (
        "connect_timeout",
        "how long connecting may take, 1s to 10m, default 30s; for every kind but `scripted`",
    ),
    (
        "idle_timeout",
        "how long the stream may be silent, 1s to 1h, default 5m; for every kind but `scripted`",
    ),
    (
        "reasoning_effort",
        "how hard a model that reasons is to think, in the endpoint's words (`low`, `high` …); for `openai-responses`, \
         absent for models that do not reason",
    ),
    (
        "max_tokens",
        "the most tokens of one answer, thinking included, 1 to 1000000; for every kind but `scripted`. By default \
         `anthropic` asks for 32000, or as many as the model is known to give if those are fewer, and the others leave it to \
         the endpoint",
    ),
    (
        "list_models",
        "whether the endpoint is asked for its models once a day, in the background, default true; for every kind but \
         `scripted`. Where a command prints the key, only `weft models --refresh` asks",
    ),
    (
        "thinking",
        "\"adaptive\", or for models before Claude 4.6 a budget of tokens, at least 1024 and less than `max_tokens`; for \
         `anthropic`, absent to leave it to the model",
    ),
    (
        "script",
        "the file with the replies, relative to the configuration's folder; for `scripted`",
    ),
];

const KINDS: &str = "\"openai-chat\", \"openai-responses\", \"anthropic\" or \"scripted\"";
const ENDPOINT_KEYS: &[&str] = &[
    "base_url",
    "api_key_env",
    "api_key_command",
    "headers",
    "connect_timeout",
    "idle_timeout",
    "max_tokens",
    "list_models",
];
const RESPONSES_KEYS: &[&str] = &["reasoning_effort"];
const ANTHROPIC_KEYS: &[&str] = &["thinking"];
const SCRIPTED_KEYS: &[&str] = &["script"];

const MAX_TOKENS: RangeInclusive<u32> = 1..=1_000_000;
const DEFAULT_MAX_TOKENS: u32 = 32_000;
const MIN_BUDGET: u32 = 1_024;

/// Reads the `providers` table.
pub(crate) fn parse_providers(
    source: Source<'_>,
    table: &Spanned<DeValue<'_>>,
) -> Result<BTreeMap<String, Provider>, ConfigError> {
    let Some(named) = table.get_ref().as_table() else {
        return Err(source.error(
            table.span().start,
            "providers: expected tables such as [providers.deepseek]",
        ));
    };
    let mut providers = BTreeMap::new();
    for (name, value) in named {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        if name.is_empty() || name.contains('/') {
            return Err(source.error(
                at,
                format!("providers.{name}: a provider's name is not empty and has no `/`"),
            ));
        }
        let Some(table) = value.get_ref().as_table() else {
            return Err(source.error(
                value.span().start,
                format!("providers.{name}: found {}, expected a table", of_type(value)),
            ));
        };
        let reader = Reader {
            source,
            name,
            table,
            at,
        };
        providers.insert(name.to_owned(), reader.provider()?);
    }
    Ok(providers)
}

/// A value of a type that does not fit, for an error.
fn of_type(value: &Spanned<DeValue<'_>>) -> String {
    format!("a value of type {}", value.get_ref().type_str())
}

/// A number or a text as it stands in the file, for an error; of anything else its type.
fn found(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::Integer(number) => number.to_string(),
        DeValue::String(text) => format!("\"{text}\""),
        _ => of_type(value),
    }
}

fn whole_number(value: &Spanned<DeValue<'_>>) -> Option<u32> {
    let number = value.get_ref().as_integer()?;
    u32::from_str_radix(number.as_str(), number.radix()).ok()
}

/// One provider's table while it is read.
struct Reader<'a, 'i> {
    source: Source<'a>,
    name: &'a str,
    table: &'a DeTable<'i>,
    at: usize,
}

impl Reader<'_, '_> {
    fn provider(&self) -> Result<Provider, ConfigError> {
        let kind = match self.text("kind")?.as_deref() {
            Some("openai-chat") => {
                self.only(&[ENDPOINT_KEYS])?;
                ProviderKind::OpenAiChat(self.endpoint()?)
            }
            Some("openai-responses") => {
                self.only(&[ENDPOINT_KEYS, RESPONSES_KEYS])?;
                ProviderKind::OpenAiResponses {
                    endpoint: self.endpoint()?,
                    reasoning_effort: self.effort()?,
                }
            }
            Some("anthropic") => {
                self.only(&[ENDPOINT_KEYS, ANTHROPIC_KEYS])?;
                let endpoint = self.endpoint()?;
                let thinking = self.thinking(endpoint.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS))?;
                ProviderKind::Anthropic { endpoint, thinking }
            }
            Some("scripted") => {
                self.only(&[SCRIPTED_KEYS])?;
                ProviderKind::Scripted { script: self.script()? }
            }
            Some(other) => return Err(self.bad("kind", &format!("\"{other}\""), KINDS)),
            None => return Err(self.missing("kind", KINDS)),
        };
        Ok(Provider { kind })
    }

    /// Refuses keys that a provider of this kind does not have.
    fn only(&self, keys: &[&[&str]]) -> Result<(), ConfigError> {
        let keys = keys.concat();
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if name != "kind" && !keys.contains(&name) {
                let message = format!(
                    "providers.{}.{name}: unknown key for this kind, expected one of kind, {}",
                    self.name,
                    keys.join(", ")
                );
                return Err(self.source.error(key.span().start, message));
            }
        }
        Ok(())
    }

    fn endpoint(&self) -> Result<Endpoint, ConfigError> {
        let api_key_env = self.text("api_key_env")?;
        let api_key_command = self.command("api_key_command")?;
        if api_key_env.is_some() && api_key_command.is_some() {
            return Err(self.bad("api_key_command", "api_key_env as well", "one of both"));
        }
        Ok(Endpoint {
            base_url: self.base_url()?,
            api_key_env,
            api_key_command,
            headers: self.headers()?,
            connect_timeout: self.span("connect_timeout", 30, 600)?,
            idle_timeout: self.span("idle_timeout", 300, 3_600)?,
            max_tokens: self.number("max_tokens", &MAX_TOKENS)?,
            list_models: self.flag("list_models")?.unwrap_or(true),
        })
    }

    /// A program and its arguments.
    fn command(&self, key: &str) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        let expected = "a list of texts, a program and its arguments";
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.bad(key, &found(value), expected));
        };
        let words: Option<Vec<String>> = list
            .iter()
            .map(|word| word.get_ref().as_str().map(str::to_owned))
            .collect();
        match words.filter(|words| words.first().is_some_and(|program| !program.trim().is_empty())) {
            Some(words) => Ok(Some(words)),
            None => Err(self.bad(
                key,
                "a list without a program, or with something else than texts",
                expected,
            )),
        }
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        match value.get_ref().as_bool() {
            Some(flag) => Ok(Some(flag)),
            None => Err(self.bad(key, &found(value), "true or false")),
        }
    }

    fn effort(&self) -> Result<Option<String>, ConfigError> {
        let effort = self.text("reasoning_effort")?;
        match effort
            .as_ref()
            .filter(|text| !text.bytes().all(|byte| byte.is_ascii_lowercase()))
        {
            Some(text) => {
                let expected = "one word of lower-case letters, such as \"high\"";
                Err(self.bad("reasoning_effort", &format!("\"{text}\""), expected))
            }
            None => Ok(effort),
        }
    }

    /// A budget of tokens, or the word for letting the model choose.
    fn thinking(&self, max_tokens: u32) -> Result<Thinking, ConfigError> {
        let Some(value) = self.table.get("thinking") else {
            return Ok(Thinking::Unsaid);
        };
        if value.get_ref().as_str() == Some("adaptive") {
            return Ok(Thinking::Adaptive);
        }
        let most = max_tokens.saturating_sub(1);
        if let Some(budget) = whole_number(value)
            && (MIN_BUDGET..=most).contains(&budget)
        {
            return Ok(Thinking::Budget(budget));
        }
        let expected =
            format!("\"adaptive\", or a whole number from {MIN_BUDGET} to {most}, which is below max_tokens");
        Err(self.bad("thinking", &found(value), &expected))
    }

    fn number(&self, key: &str, allowed: &RangeInclusive<u32>) -> Result<Option<u32>, ConfigError> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        match whole_number(value).filter(|number| allowed.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let expected = format!("a whole number from {} to {}", allowed.start(), allowed.end());
                Err(self.bad(key, &found(value), &expected))
            }
        }
    }

    fn base_url(&self) -> Result<String, ConfigError> {
        let expected = "a URL that starts with http:// or https://";
        let Some(url) = self.text("base_url")? else {
            return Err(self.missing("base_url", expected));
        };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(self.bad("base_url", &format!("\"{url}\""), expected));
        }
        Ok(url)
    }

    fn script(&self) -> Result<PathBuf, ConfigError> {
        let Some(script) = self.text("script")? else {
            return Err(self.missing("script", "a file"));
        };
        let folder = self.source.path.parent().map(PathBuf::from).unwrap_or_default();
        Ok(folder.join(script))
    }

    fn headers(&self) -> Result<BTreeMap<String, String>, ConfigError> {
        let Some(value) = self.table.get("headers") else {
            return Ok(BTreeMap::new());
        };
        let expected = "a table of texts";
        let Some(table) = value.get_ref().as_table() else {
            return Err(self.bad("headers", &of_type(value), expected));
        };
        let mut headers = BTreeMap::new();
        for (name, value) in table {
            let Some(text) = value.get_ref().as_str() else {
                return Err(self.bad("headers", &of_type(value), expected));
            };
            headers.insert(name.get_ref().to_string(), text.to_owned());
        }
        Ok(headers)
    }

    fn span(&self, key: &str, default: u64, max: u64) -> Result<Duration, ConfigError> {
        let Some(text) = self.text(key)? else {
            return Ok(Duration::from_secs(default));
        };
        let allowed = Duration::from_secs(1)..=Duration::from_secs(max);
        match humantime::parse_duration(&text) {
            Ok(span) if allowed.contains(&span) => Ok(span),
            _ => Err(self.bad(
                key,
                &format!("\"{text}\""),
                &format!("a duration from \"1s\" to \"{}\"", render(Duration::from_secs(max))),
            )),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, ConfigError> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        match value.get_ref().as_str() {
            Some(text) if !text.trim().is_empty() => Ok(Some(text.to_owned())),
            Some(_) => Err(self.bad(key, "an empty text", "text")),
            None => Err(self.bad(key, &of_type(value), "text")),
        }
    }

    fn bad(&self, key: &str, found: &str, expected: &str) -> ConfigError {
        let at = self.table.get(key).map_or(self.at, |value| value.span().start);
        self.source.error(
            at,
            format!("providers.{}.{key}: found {found}, expected {expected}", self.name),
        )
    }

    fn missing(&self, key: &str, expected: &str) -> ConfigError {
        self.source.error(
            self.at,
            format!("providers.{}.{key} is missing, expected {expected}", self.name),
        )
    }
}

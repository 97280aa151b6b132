//! The `[providers.NAME]` tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde_spanned::Spanned;
use toml::de::DeValue;
use weft_providers::Thinking;

use super::error::{ConfigError, Source};
use super::section::{Section, of_type, whole_number};

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

const MAX_TOKENS: RangeInclusive<u64> = 1..=1_000_000;
const CONNECT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
const DEFAULT_CONNECT: Duration = Duration::from_secs(30);
const IDLE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3_600);
const DEFAULT_IDLE: Duration = Duration::from_secs(300);
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
        let section = Section {
            source,
            prefix: format!("providers.{name}"),
            table,
            at,
        };
        providers.insert(name.to_owned(), provider(&section)?);
    }
    Ok(providers)
}

fn provider(section: &Section<'_, '_>) -> Result<Provider, ConfigError> {
    let kind = match section.text("kind")?.as_deref() {
        Some("openai-chat") => {
            only(section, &[ENDPOINT_KEYS])?;
            ProviderKind::OpenAiChat(endpoint(section)?)
        }
        Some("openai-responses") => {
            only(section, &[ENDPOINT_KEYS, RESPONSES_KEYS])?;
            ProviderKind::OpenAiResponses {
                endpoint: endpoint(section)?,
                reasoning_effort: effort(section)?,
            }
        }
        Some("anthropic") => {
            only(section, &[ENDPOINT_KEYS, ANTHROPIC_KEYS])?;
            let endpoint = endpoint(section)?;
            let thinking = thinking(section, endpoint.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS))?;
            ProviderKind::Anthropic { endpoint, thinking }
        }
        Some("scripted") => {
            only(section, &[SCRIPTED_KEYS])?;
            ProviderKind::Scripted {
                script: script(section)?,
            }
        }
        Some(other) => return Err(section.bad("kind", &format!("\"{other}\""), KINDS)),
        None => return Err(section.missing("kind", KINDS)),
    };
    Ok(Provider { kind })
}

/// Refuses keys that a provider of this kind does not have.
fn only(section: &Section<'_, '_>, keys: &[&[&str]]) -> Result<(), ConfigError> {
    section.only(&[&["kind"], &*keys.concat()].concat(), " for this kind")
}

fn endpoint(section: &Section<'_, '_>) -> Result<Endpoint, ConfigError> {
    let api_key_env = section.text("api_key_env")?;
    let api_key_command = command(section, "api_key_command")?;
    if api_key_env.is_some() && api_key_command.is_some() {
        return Err(section.bad("api_key_command", "api_key_env as well", "one of both"));
    }
    let max_tokens = section.number("max_tokens", &MAX_TOKENS)?;
    Ok(Endpoint {
        base_url: base_url(section)?,
        api_key_env,
        api_key_command,
        headers: section.map("headers")?,
        connect_timeout: section.span("connect_timeout", &CONNECT)?.unwrap_or(DEFAULT_CONNECT),
        idle_timeout: section.span("idle_timeout", &IDLE)?.unwrap_or(DEFAULT_IDLE),
        max_tokens: max_tokens.and_then(|number| u32::try_from(number).ok()),
        list_models: section.flag("list_models")?.unwrap_or(true),
    })
}

/// A program and its arguments.
fn command(section: &Section<'_, '_>, key: &str) -> Result<Option<Vec<String>>, ConfigError> {
    let expected = "a list of texts, a program and its arguments";
    let names_program = |words: &Vec<String>| words.first().is_some_and(|program| !program.trim().is_empty());
    let given = section.read(key, expected, |value| {
        let texts = value.as_array()?.iter();
        let texts = texts.map(|word| word.get_ref().as_str().map(str::to_owned));
        Some(texts.collect::<Option<Vec<String>>>().filter(names_program))
    })?;
    match given {
        Some(None) => {
            let found = "a list without a program, or with something else than texts";
            Err(section.bad(key, found, expected))
        }
        given => Ok(given.flatten()),
    }
}

fn effort(section: &Section<'_, '_>) -> Result<Option<String>, ConfigError> {
    section.read(
        "reasoning_effort",
        "one word of lower-case letters, such as \"high\"",
        |value| {
            let text = value.as_str().filter(|text| !text.is_empty())?;
            let is_word = text.bytes().all(|byte| byte.is_ascii_lowercase());
            is_word.then(|| text.to_owned())
        },
    )
}

/// A budget of tokens, or the word for letting the model choose.
fn thinking(section: &Section<'_, '_>, max_tokens: u32) -> Result<Thinking, ConfigError> {
    let most = max_tokens.saturating_sub(1);
    let expected = format!("\"adaptive\", or a whole number from {MIN_BUDGET} to {most}, which is below max_tokens");
    let thinking = section.read("thinking", &expected, |value| {
        if value.as_str() == Some("adaptive") {
            return Some(Thinking::Adaptive);
        }
        let budget = u32::try_from(whole_number(value)?).ok()?;
        (MIN_BUDGET..=most)
            .contains(&budget)
            .then_some(Thinking::Budget(budget))
    })?;
    Ok(thinking.unwrap_or(Thinking::Unsaid))
}

fn base_url(section: &Section<'_, '_>) -> Result<String, ConfigError> {
    let expected = "a URL that starts with http:// or https://";
    let Some(url) = section.text("base_url")? else {
        return Err(section.missing("base_url", expected));
    };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(section.bad("base_url", &format!("\"{url}\""), expected));
    }
    Ok(url)
}

fn script(section: &Section<'_, '_>) -> Result<PathBuf, ConfigError> {
    let Some(script) = section.text("script")? else {
        return Err(section.missing("script", "a file"));
    };
    let folder = section.source.path.parent().map(PathBuf::from).unwrap_or_default();
    Ok(folder.join(script))
}

//! Whether there is a model to ask, and a key for it.

use futures::StreamExt as _;
use weft_model::{AgentRole, ModelErrorKind, ModelEvent, ModelRequest, Models as _, RequestOrigin, ResolvedModel};
use weft_session::mint_session_id;
use weft_types::{ContentBlock, Message};

use super::{Finding, Patient};
use crate::config::{Config, Endpoint, ProviderKind, settings};

const CONFIGURE: &str = "in config.toml set model = \"provider/model\" and a table [providers.NAME] with kind, base_url \
                         and api_key_env; the README shows one";

/// The configured model: its provider, its key, and with `--online` its answer.
pub(super) fn check(patient: &Patient) -> Vec<Finding> {
    let Some(config) = patient.effective() else {
        return Vec::new();
    };
    let providers = match &patient.providers {
        Some(Ok(providers)) => providers,
        Some(Err(error)) => return vec![Finding::fail(error.clone(), CONFIGURE)],
        None => return Vec::new(),
    };
    let resolved = match providers.table(config.text(&settings::MODEL)).resolve(None) {
        Ok(resolved) => resolved,
        Err(error) => return vec![Finding::fail(error.message().to_owned(), CONFIGURE)],
    };
    let name = format!("{}/{}", resolved.provider, resolved.name);
    let mut findings = Vec::new();
    let endpoint = config
        .providers
        .get(&resolved.provider)
        .and_then(|provider| endpoint(&provider.kind));
    if let Some(endpoint) = endpoint {
        findings.extend(key(endpoint));
        findings.extend(in_the_clear(endpoint));
    }
    let is_usable = findings.iter().all(|finding| finding.status != super::Status::Fail);
    if is_usable && patient.online {
        findings.push(online(&resolved, &name));
    } else if is_usable {
        findings.push(Finding::ok(format!("{name}; weft doctor --online asks it")));
    }
    findings.extend(unused_keys(&config, &resolved.provider));
    findings
}

fn endpoint(kind: &ProviderKind) -> Option<&Endpoint> {
    match kind {
        ProviderKind::OpenAiChat(endpoint)
        | ProviderKind::OpenAiResponses { endpoint, .. }
        | ProviderKind::Anthropic { endpoint, .. } => Some(endpoint),
        ProviderKind::Scripted { .. } => None,
    }
}

/// The variable that should hold the key and does not. One that a command tells is asked for with the first request.
fn lacks(endpoint: &Endpoint) -> Option<&str> {
    if endpoint.api_key_command.is_some() {
        return None;
    }
    let variable = endpoint.api_key_env.as_deref()?;
    let is_set = std::env::var(variable).is_ok_and(|key| !key.is_empty());
    (!is_set).then_some(variable)
}

fn key(endpoint: &Endpoint) -> Option<Finding> {
    let variable = lacks(endpoint)?;
    Some(Finding::fail(
        format!("the model's key is missing: {variable} is not set here"),
        format!(
            "set {variable} where weft is started; an editor that the desktop starts does not read your shell's profile, \
             so name it in the editor's entry of weft, under env"
        ),
    ))
}

fn in_the_clear(endpoint: &Endpoint) -> Option<Finding> {
    let rest = endpoint.base_url.strip_prefix("http://")?;
    let host = rest.split(['/', '?']).next().unwrap_or(rest);
    let is_local = ["127.", "localhost", "[::1]"]
        .iter()
        .any(|local| host.starts_with(local));
    let has_key = endpoint.api_key_env.is_some() || endpoint.api_key_command.is_some();
    (has_key && !is_local).then(|| {
        Finding::warn(
            format!("the key goes to {host} without encryption"),
            "write https:// in base_url",
        )
    })
}

fn unused_keys(config: &Config, chosen: &str) -> Vec<Finding> {
    let others = config.providers.iter().filter(|(name, _)| *name != chosen);
    let lacking = others.filter_map(|(name, provider)| {
        let variable = lacks(endpoint(&provider.kind)?)?;
        Some(Finding::warn(
            format!("the provider {name} has no key: {variable} is not set here"),
            format!("set {variable}, or take [providers.{name}] out of config.toml"),
        ))
    });
    lacking.collect()
}

/// One small request.
fn online(resolved: &ResolvedModel, name: &str) -> Finding {
    let request = ModelRequest {
        model: resolved.name.clone(),
        system: "".into(),
        messages: vec![Message::User {
            content: vec![ContentBlock::text("Answer with the word ok.")],
        }]
        .into(),
        tools: [].into(),
        origin: RequestOrigin {
            role: AgentRole::Main,
            label: None,
            session: mint_session_id(),
            turn: 1,
            step: 1,
        },
    };
    let mut stream = resolved.model.stream(request);
    let answered = crate::in_runtime(async {
        while let Some(event) = stream.next().await {
            match event {
                Ok(ModelEvent::Finish(_)) => break,
                Ok(_) => {}
                Err(error) => return Ok(Some(error)),
            }
        }
        Ok(None)
    });
    match answered {
        Ok(None) => Finding::ok(format!("{name} answers")),
        Ok(Some(error)) => Finding::fail(
            format!("{name} does not answer: {}", error.message()),
            mend(error.kind()),
        ),
        Err(error) => Finding::fail(
            format!("{name} could not be asked: {error:#}"),
            "look at the limits of processes and threads (ulimit -u)",
        ),
    }
}

fn mend(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Auth => "check the key that api_key_env names, and that it may use this model",
        ModelErrorKind::Network => "check base_url, the network and the proxy (HTTPS_PROXY)",
        ModelErrorKind::RateLimited | ModelErrorKind::Overloaded => "wait a little; weft sends such requests again",
        ModelErrorKind::NotConfigured => CONFIGURE,
        _ => "check kind, base_url and the model's name in config.toml",
    }
}

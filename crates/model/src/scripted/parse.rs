//! From the text of a script to its replies.

use std::num::NonZeroU64;
use std::time::Duration;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weft_types::{StopReason, Usage};

use super::error::ScriptError;
use super::script::{Arguments, Call, End, Keys, Reply};
use super::source::{Field, Source, Table};
use super::template::{JsonTemplate, Template, compile};
use crate::{AgentRole, ModelError, ModelErrorKind};

pub(super) const REPLY_KEYS: &[&str] = &[
    "role",
    "label",
    "prompt",
    "turn",
    "step",
    "times",
    "gate",
    "gate_after",
    "delay_ms",
    "chunk_delay_ms",
    "reasoning",
    "text",
    "tool_call",
    "usage",
    "stop",
    "error",
    "hang",
];
pub(super) const CALL_KEYS: &[&str] = &["id", "name", "arguments", "arguments_text", "arguments_file"];
pub(super) const USAGE_KEYS: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
];
pub(super) const ERROR_KEYS: &[&str] = &["kind", "message", "retry_after_ms"];
const ROLES: &[(&str, AgentRole)] = &[("main", AgentRole::Main), ("subagent", AgentRole::Subagent)];
const STOPS: &[(&str, StopReason)] = &[
    ("end_turn", StopReason::EndTurn),
    ("tool_use", StopReason::ToolUse),
    ("max_tokens", StopReason::MaxTokens),
    ("refusal", StopReason::Refusal),
];

/// Reads all replies of a script and checks that no two have the same keys.
pub(super) fn parse(source: Source<'_>) -> Result<Vec<Reply>, ScriptError> {
    let document = DeTable::parse(source.text).map_err(|error| {
        let message = error.message().replace('\n', ", ");
        source.error(
            error.span().map_or(0, |span| span.start),
            format!("found no TOML: {message}"),
        )
    })?;
    let top = Table {
        source,
        name: "script",
        at: 0,
        entries: document.get_ref(),
    };
    top.allow(&["reply"])?;
    let Some(field) = top.get("reply") else {
        return Err(top.error("found no reply, expected at least one table [[reply]]"));
    };
    let tables = tables(&field)?;
    let mut replies: Vec<Reply> = Vec::with_capacity(tables.len());
    for (at, value) in tables.into_iter().enumerate() {
        let field = Field {
            source,
            name: format!("reply {}", at + 1),
            value,
        };
        let table = field.table()?;
        let reply = reply(&table)?;
        if let Some(other) = replies.iter().find(|other| other.keys.same(&reply.keys)) {
            let message = format!(
                "has the keys of {} ({}), expected keys that tell them apart",
                other.place, reply.keys
            );
            return Err(table.error(message));
        }
        replies.push(reply);
    }
    Ok(replies)
}

fn tables<'a, 'i>(field: &Field<'a, 'i>) -> Result<Vec<&'a Spanned<DeValue<'i>>>, ScriptError> {
    let list = field
        .value
        .get_ref()
        .as_array()
        .ok_or_else(|| field.bad("a list of tables"))?;
    Ok(list.iter().collect())
}

fn reply(table: &Table<'_, '_>) -> Result<Reply, ScriptError> {
    table.allow(REPLY_KEYS)?;
    let (line, _) = table.source.place(table.at);
    let file = table.source.path.file_name().unwrap_or_default().to_string_lossy();
    let calls = calls(table)?;
    let reply = Reply {
        place: format!("{} ({file}:{line})", table.name),
        keys: keys(table)?,
        times: times(table)?,
        gate: name(table, "gate")?,
        gate_after: name(table, "gate_after")?,
        delay: millis(table, "delay_ms")?.unwrap_or_default(),
        chunk_delay: millis(table, "chunk_delay_ms")?.unwrap_or_default(),
        reasoning: templates(table, "reasoning")?,
        text: templates(table, "text")?,
        usage: usage(table)?,
        end: end(table, !calls.is_empty())?,
        calls,
    };
    if !["text", "reasoning", "tool_call", "error", "hang"]
        .iter()
        .any(|key| table.get(key).is_some())
    {
        return Err(table.error("found no answer, expected text, reasoning, tool_call, error or hang"));
    }
    Ok(reply)
}

fn keys(table: &Table<'_, '_>) -> Result<Keys, ScriptError> {
    let number = |key: &str| -> Result<Option<u32>, ScriptError> {
        let Some(field) = table.get(key) else { return Ok(None) };
        let number = u32::try_from(field.whole(1)?).map_err(|_| field.bad("a number that fits in 32 bits"))?;
        Ok(Some(number))
    };
    let prompt = match table.get("prompt") {
        Some(field) => Some(compile(field.text()?).map_err(|message| field.error(message))?),
        None => None,
    };
    Ok(Keys {
        role: table.get("role").map(|field| field.word(ROLES)).transpose()?,
        label: table
            .get("label")
            .map(|field| field.text().map(str::to_owned))
            .transpose()?,
        prompt,
        turn: number("turn")?,
        step: number("step")?,
    })
}

fn times(table: &Table<'_, '_>) -> Result<Option<NonZeroU64>, ScriptError> {
    let Some(field) = table.get("times") else {
        return Ok(Some(NonZeroU64::MIN));
    };
    if field.value.get_ref().as_str() == Some("any") {
        return Ok(None);
    }
    let number = field.whole(1).ok().and_then(NonZeroU64::new);
    number
        .map(Some)
        .ok_or_else(|| field.bad("a whole number of at least 1, or \"any\""))
}

fn name(table: &Table<'_, '_>, key: &str) -> Result<Option<String>, ScriptError> {
    let Some(field) = table.get(key) else { return Ok(None) };
    match field.text()? {
        "" => Err(field.bad("a name")),
        name => Ok(Some(name.to_owned())),
    }
}

fn millis(table: &Table<'_, '_>, key: &str) -> Result<Option<Duration>, ScriptError> {
    table
        .get(key)
        .map(|field| field.whole(0).map(Duration::from_millis))
        .transpose()
}

fn templates(table: &Table<'_, '_>, key: &str) -> Result<Vec<Template>, ScriptError> {
    let Some(field) = table.get(key) else {
        return Ok(Vec::new());
    };
    field.texts()?.into_iter().map(|text| template(&field, text)).collect()
}

fn template(field: &Field<'_, '_>, text: &str) -> Result<Template, ScriptError> {
    Template::parse(text).map_err(|message| field.error(message))
}

fn usage(table: &Table<'_, '_>) -> Result<Option<Usage>, ScriptError> {
    let Some(field) = table.get("usage") else {
        return Ok(None);
    };
    let table = field.table()?;
    table.allow(USAGE_KEYS)?;
    let tokens = |key: &str| table.get(key).map_or(Ok(0), |field| field.whole(0));
    Ok(Some(Usage {
        input_tokens: tokens("input_tokens")?,
        output_tokens: tokens("output_tokens")?,
        cached_input_tokens: tokens("cached_input_tokens")?,
        reasoning_tokens: tokens("reasoning_tokens")?,
    }))
}

fn end(table: &Table<'_, '_>, has_calls: bool) -> Result<End, ScriptError> {
    let hang = match table.get("hang") {
        Some(field) => field
            .value
            .get_ref()
            .as_bool()
            .ok_or_else(|| field.bad("true or false"))?,
        None => false,
    };
    match (table.get("error"), hang, table.get("stop")) {
        (Some(field), false, None) => Ok(End::Fail(error(&field.table()?)?)),
        (None, true, None) => Ok(End::Hang),
        (None, false, Some(field)) => Ok(End::Finish(field.word(STOPS)?)),
        (None, false, None) if has_calls => Ok(End::Finish(StopReason::ToolUse)),
        (None, false, None) => Ok(End::Finish(StopReason::EndTurn)),
        _ => Err(table.error("found several of error, hang and stop, expected at most one")),
    }
}

fn error(table: &Table<'_, '_>) -> Result<ModelError, ScriptError> {
    table.allow(ERROR_KEYS)?;
    let kinds = ModelErrorKind::ALL.map(|kind| (kind.as_str(), kind));
    let Some(kind) = table.get("kind") else {
        return Err(table.error("found no kind, expected the kind of the failure, such as \"rate_limited\""));
    };
    let kind = kind.word(&kinds)?;
    let message = match table.get("message") {
        Some(field) => field.text()?.to_owned(),
        None => format!("the script fails this request as {}", kind.as_str()),
    };
    Ok(ModelError::new(kind, message).with_retry_after(millis(table, "retry_after_ms")?))
}

fn calls(table: &Table<'_, '_>) -> Result<Vec<Call>, ScriptError> {
    let Some(list) = table.get("tool_call") else {
        return Ok(Vec::new());
    };
    let mut calls: Vec<Call> = Vec::new();
    for (at, value) in tables(&list)?.into_iter().enumerate() {
        let field = Field {
            source: list.source,
            name: format!("{} {}", list.name, at + 1),
            value,
        };
        let table = field.table()?;
        table.allow(CALL_KEYS)?;
        let Some(tool) = name(&table, "name")? else {
            return Err(table.error("found no name, expected a tool's name"));
        };
        let call = Call {
            id: name(&table, "id")?,
            name: tool,
            arguments: arguments(&table)?,
        };
        if call.id.is_some() && calls.iter().any(|other| other.id == call.id) {
            return Err(table.error("has the id of another call of this reply, expected one of its own"));
        }
        calls.push(call);
    }
    Ok(calls)
}

fn arguments(table: &Table<'_, '_>) -> Result<Arguments, ScriptError> {
    match (
        table.get("arguments"),
        table.get("arguments_text"),
        table.get("arguments_file"),
    ) {
        (Some(field), None, None) => {
            field.table()?;
            json(&field).map(Arguments::Json)
        }
        (None, Some(field), None) => template(&field, field.text()?).map(Arguments::Raw),
        (None, None, Some(field)) => template(&field, &field.file()?).map(Arguments::Raw),
        (None, None, None) => Ok(Arguments::Json(JsonTemplate::Object(Vec::new()))),
        _ => Err(table.error("found several of arguments, arguments_text and arguments_file, expected at most one")),
    }
}

/// A value as JSON; a table `{ file = "…" }` stands for the text of that file.
fn json(field: &Field<'_, '_>) -> Result<JsonTemplate, ScriptError> {
    let inner = |name: String, value| {
        json(&Field {
            source: field.source,
            name,
            value,
        })
    };
    Ok(match field.value.get_ref() {
        DeValue::String(text) => JsonTemplate::Text(template(field, text)?),
        DeValue::Integer(_) => JsonTemplate::Plain(Value::from(integer(field)?)),
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(serde_json::Number::from_f64);
            JsonTemplate::Plain(Value::Number(
                number.ok_or_else(|| field.bad("a number that JSON has"))?,
            ))
        }
        DeValue::Boolean(flag) => JsonTemplate::Plain(Value::Bool(*flag)),
        DeValue::Datetime(_) => return Err(field.bad("a text, since JSON has no dates")),
        DeValue::Array(items) => {
            let items = items
                .iter()
                .enumerate()
                .map(|(at, item)| inner(format!("{}[{at}]", field.name), item));
            JsonTemplate::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(entries) => match entries.get("file") {
            Some(value) if entries.len() == 1 && value.get_ref().is_str() => {
                let file = Field {
                    source: field.source,
                    name: format!("{}.file", field.name),
                    value,
                };
                JsonTemplate::Text(template(&file, &file.file()?)?)
            }
            _ => {
                let entries = entries.iter().map(|(key, value)| {
                    let key = key.get_ref().to_string();
                    Ok((key.clone(), inner(format!("{}.{key}", field.name), value)?))
                });
                JsonTemplate::Object(entries.collect::<Result<_, ScriptError>>()?)
            }
        },
    })
}

fn integer(field: &Field<'_, '_>) -> Result<i64, ScriptError> {
    let number = field.value.get_ref().as_integer();
    let number = number.and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
    number.ok_or_else(|| field.bad("a whole number that fits in 64 bits"))
}

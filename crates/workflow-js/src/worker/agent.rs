//! What `agent()` makes of its arguments.

use rquickjs::{Error, String as JsString, Value};
use serde_json::Map;
use serde_json::value::{RawValue, to_raw_value};

use super::calls::Failure;
use super::kind::kind_of;
use super::plain::{Halt, Rules, to_plain};
use super::scope::Scope;
use super::session::Session;
use crate::protocol::Call;
use crate::text::{cut_bytes, cut_label, first_line};

/// Options that other systems have and this one does not yet.
const DEFERRED: [&str; 3] = ["effort", "isolation", "agentType"];

/// Why a call was not accepted.
pub(super) enum Refusal {
    /// The script is told.
    Failure(Failure),
    /// The engine is at its end.
    Engine(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// The options of a call.
#[derive(Debug, Default)]
struct Options {
    label: Option<String>,
    phase: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    tools: Option<Vec<String>>,
    schema: Option<Box<RawValue>>,
}

/// Tests the arguments, in this order: cancelled, prompt, options, cap. Only then the call gets its number.
///
/// The call comes back without its prompt, which stays where it is.
pub(super) fn accept<'js>(
    session: &Session<'js>,
    scope: &Scope,
    prompt: &Value<'js>,
    options: &Value<'js>,
) -> Result<(Call, JsString<'js>), Refusal> {
    session.check_cancelled()?;
    let (prompt, text) = read_prompt(session, prompt)?;
    let options = read_options(session, options)?;
    let max = session.max_total_agents;
    if session.calls.borrow().accepted() >= max {
        let message = format!(
            "a run may call agent() at most {max} times (workflow.max_total_agents, or limits.agents of the call)"
        );
        return Err(Failure::new("AGENT_CAP", message).into());
    }
    let phase = match options.phase {
        Some(phase) => Some(session.output.borrow().cut_phase(&scope.title(&phase))),
        None => scope.phase.borrow().clone(),
    };
    let call = Call {
        seq: session.calls.borrow_mut().number(),
        line: None,
        label: cut_label(options.label.as_deref().unwrap_or_else(|| first_line(&text))),
        phase,
        prompt: String::new(),
        schema: options.schema,
        provider: options.provider,
        model: options.model,
        tools: options.tools,
    };
    Ok((call, prompt))
}

fn read_prompt<'js>(session: &Session<'js>, prompt: &Value<'js>) -> Result<(JsString<'js>, String), Refusal> {
    let Some(string) = prompt.as_string() else {
        let kind = kind_of(prompt, session.prelude());
        return Err(invalid(format!(
            "agent() takes a prompt, a string that is not empty, not {kind}"
        )));
    };
    let text = session.prelude().text(string)?.value;
    let max = session.setup.max_prompt_bytes;
    match text.len() {
        0 => Err(invalid("agent() takes a prompt, a string that is not empty".to_owned())),
        bytes if bytes > max => Err(invalid(format!(
            "the prompt of agent() has {bytes} bytes, more than the limit of {max} (max_prompt_bytes)"
        ))),
        _ => Ok((string.clone(), text)),
    }
}

fn read_options<'js>(session: &Session<'js>, value: &Value<'js>) -> Result<Options, Refusal> {
    if value.is_undefined() {
        return Ok(Options::default());
    }
    if !value.is_object() || value.is_array() || value.is_function() {
        let kind = kind_of(value, session.prelude());
        return Err(invalid(format!("the options of agent() must be an object, not {kind}")));
    }
    let rules = Rules {
        root: "options",
        limit: session.setup.max_options_bytes,
        skip_undefined: true,
    };
    let plain = match to_plain(value, rules, session.prelude(), &session.control) {
        Ok(plain) => plain,
        Err(Halt::Engine(error)) => return Err(Refusal::Engine(error)),
        // The interpreter notices by itself as soon as it goes on.
        Err(Halt::Stopped) => return Err(invalid("the options of agent() take too long to read".to_owned())),
    };
    if !plain.problems.is_empty() {
        let problems = plain.problems.join("; ");
        return Err(invalid(format!(
            "the options of agent() must be plain JSON: {problems}"
        )));
    }
    if plain.cut {
        return Err(invalid(format!(
            "the options of agent() have about {} bytes of JSON, more than the limit of {} (max_options_bytes)",
            plain.size, rules.limit
        )));
    }
    let fields = serde_json::from_str(&plain.json).map_err(|error| invalid(error.to_string()))?;
    Ok(parse_options(fields)?)
}

fn parse_options(fields: Map<String, serde_json::Value>) -> Result<Options, Failure> {
    let mut options = Options::default();
    for (name, value) in fields {
        match name.as_str() {
            "label" => options.label = Some(text_option(&name, value)?),
            "phase" => options.phase = Some(text_option(&name, value)?),
            "provider" => options.provider = Some(text_option(&name, value)?),
            "model" => options.model = Some(text_option(&name, value)?),
            "tools" => options.tools = Some(names_option(&name, value)?),
            "schema" => options.schema = Some(check_schema(&value)?),
            name => return Err(Failure::new("UNSUPPORTED_OPTION", unsupported(name))),
        }
    }
    Ok(options)
}

fn unsupported(name: &str) -> String {
    if DEFERRED.contains(&name) {
        format!("the option {name:?} of agent() is deferred: it is not supported yet")
    } else {
        let name = cut_bytes(name, 80);
        format!("agent() has no option {name:?}; it has label, phase, schema, provider, model and tools")
    }
}

fn text_option(name: &str, value: serde_json::Value) -> Result<String, Failure> {
    match value {
        serde_json::Value::String(text) => Ok(text),
        other => {
            let found = cut_bytes(&other.to_string(), 80);
            let message = format!("the option {name:?} of agent() must be a string, found {found}");
            Err(Failure::new("INVALID_ARGUMENT", message))
        }
    }
}

fn names_option(option: &str, value: serde_json::Value) -> Result<Vec<String>, Failure> {
    let found = cut_bytes(&value.to_string(), 80);
    serde_json::from_value(value).map_err(|_| {
        let message = format!("the option {option:?} of agent() must be a list of names, found {found}");
        Failure::new("INVALID_ARGUMENT", message)
    })
}

fn check_schema(schema: &serde_json::Value) -> Result<Box<RawValue>, Failure> {
    let refused = |why: &str| {
        let message = format!("the schema of agent() cannot be used: {}", cut_bytes(why, 500));
        Failure::new("UNSUPPORTED_SCHEMA", message)
    };
    if schema.get("type").and_then(serde_json::Value::as_str) != Some("object") {
        let found = cut_bytes(&schema.to_string(), 80);
        return Err(refused(&format!(
            r#"its root must be an object with type: "object", found {found}"#
        )));
    }
    // Whatever else in the build may have taught the library to fetch, schemas of a script are whole.
    if let Err(error) = jsonschema::draft202012::options().offline().build(schema) {
        return Err(refused(&format!("{error}, at {:?}", error.instance_path().as_str())));
    }
    to_raw_value(schema).map_err(|error| refused(&error.to_string()))
}

fn invalid(message: String) -> Refusal {
    Failure::new("INVALID_ARGUMENT", message).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(fields: serde_json::Value) -> Result<Options, (&'static str, String)> {
        let fields = serde_json::from_value(fields).expect("an object");
        parse_options(fields).map_err(|failure| (failure.code, failure.message))
    }

    #[track_caller]
    fn refuses(fields: serde_json::Value, code: &str, part: &str) {
        let (found, message) = parse(fields).expect_err("options out of order");
        assert_eq!(found, code, "{message}");
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn known_options_are_taken() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let options = parse(json!({ "label": "", "phase": "p", "provider": "x", "model": "m", "schema": schema }));
        let options = options.expect("all of them are known");
        let texts = [&options.label, &options.phase, &options.provider, &options.model];
        assert_eq!(
            texts.map(|text| text.as_deref()),
            [Some(""), Some("p"), Some("x"), Some("m")]
        );
        assert_eq!(
            options.schema.map(|schema| schema.get().to_owned()),
            Some(schema.to_string())
        );
    }

    #[test]
    fn unknown_options_are_refused_and_deferred_ones_are_called_so() {
        refuses(
            json!({ "retries": 3 }),
            "UNSUPPORTED_OPTION",
            "it has label, phase, schema",
        );
        for name in DEFERRED {
            refuses(json!({ name: "x" }), "UNSUPPORTED_OPTION", "deferred");
        }
    }

    #[test]
    fn options_of_another_type_are_refused() {
        for name in ["label", "phase", "provider", "model"] {
            refuses(json!({ name: 7 }), "INVALID_ARGUMENT", "must be a string, found 7");
            refuses(
                json!({ name: null }),
                "INVALID_ARGUMENT",
                "must be a string, found null",
            );
        }
    }

    #[test]
    fn tools_are_a_list_of_names() {
        let options = parse(json!({ "tools": ["read", "grep"] })).expect("names");
        assert_eq!(options.tools, Some(vec!["read".to_owned(), "grep".to_owned()]));
        for tools in [json!("read"), json!([1]), json!({ "read": true })] {
            refuses(
                json!({ "tools": tools }),
                "INVALID_ARGUMENT",
                "must be a list of names, found",
            );
        }
    }

    #[test]
    fn schemas_have_an_object_at_the_root_and_are_schemas() {
        refuses(json!({ "schema": 7 }), "UNSUPPORTED_SCHEMA", "found 7");
        refuses(
            json!({ "schema": { "type": "array" } }),
            "UNSUPPORTED_SCHEMA",
            r#"type: "object""#,
        );
        refuses(
            json!({ "schema": { "type": "object", "required": 7 } }),
            "UNSUPPORTED_SCHEMA",
            "required",
        );
        // What an older draft calls a tuple, the one in force calls prefixItems.
        let tuple = |items| json!({ "schema": { "type": "object", "properties": { "pair": items } } });
        let older = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [{}, {}] });
        refuses(tuple(older), "UNSUPPORTED_SCHEMA", "/properties/pair/items");
        parse(tuple(json!({ "prefixItems": [{}, {}], "unevaluatedItems": false }))).expect("draft 2020-12");
        let remote = json!({ "type": "object", "$ref": "http://127.0.0.1:9/schema.json" });
        refuses(json!({ "schema": remote }), "UNSUPPORTED_SCHEMA", "");
    }
}

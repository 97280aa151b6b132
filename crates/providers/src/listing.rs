//! The list of models that an endpoint has.
//!
//! [`Listing`] asks for it. Endpoints agree that there is a list of objects with an `id`, and on nothing else: what
//! one of them says of a model beside that is read where it can only mean one thing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;
use weft_model::ModelError;

use crate::Facts;
use crate::endpoint::Endpoint;
use crate::http::root_cause;

/// The longest list that is read, in bytes.
const MAX_BYTES: usize = 8 << 20;
/// The most models that are taken from a list.
const MAX_MODELS: usize = 2_000;
/// The longest id that is taken, in bytes.
const MAX_ID: usize = 256;
/// How long the whole list may take.
const LIMIT: Duration = Duration::from_secs(30);
/// What makes a price for a million tokens of one for one token.
const MILLION: f64 = 1e6;

/// Asks an endpoint for its models.
#[derive(Clone, Debug)]
pub struct Listing {
    endpoint: Arc<Endpoint>,
}

impl Listing {
    pub(crate) fn new(endpoint: &Arc<Endpoint>) -> Self {
        Self {
            endpoint: Arc::clone(endpoint),
        }
    }

    /// The host of the endpoint.
    pub fn host(&self) -> &str {
        self.endpoint.url.host_str().unwrap_or_default()
    }

    /// Gets the list: at most 2,000 models of at most 8 MiB, within 30 seconds. Dropping the future ends the request.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, refuses, or answers with something else.
    pub async fn fetch(&self) -> Result<BTreeMap<String, Facts>, ModelError> {
        match timeout(LIMIT, self.text()).await {
            Ok(text) => {
                let value: Value = self.endpoint.parse_whole(&text?)?;
                read_list(&value).ok_or_else(|| self.endpoint.foreign("something else", &value.to_string()))
            }
            Err(_) => Err(self.endpoint.silent(LIMIT)),
        }
    }

    async fn text(&self) -> Result<Vec<u8>, ModelError> {
        let mut response = self.endpoint.get_models().await?;
        let mut text = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) => text.extend_from_slice(&bytes),
                Ok(None) => return Ok(text),
                Err(error) => return Err(self.endpoint.incomplete(root_cause(&error))),
            }
            if text.len() > MAX_BYTES {
                return Err(self.endpoint.too_long(format!("more than {MAX_BYTES} bytes")));
            }
        }
    }
}

/// The models of a list; `None` if it is none.
fn read_list(value: &Value) -> Option<BTreeMap<String, Facts>> {
    let lists = [value.get("data"), value.get("models"), Some(value)];
    let list = lists.into_iter().flatten().find_map(Value::as_array)?;
    let models = list.iter().filter_map(|model| {
        let id = text(model, "/id").or_else(|| text(model, "/name"))?;
        let id = id.strip_prefix("models/").unwrap_or(id);
        let is_good = !id.is_empty() && id.len() <= MAX_ID && !id.chars().any(char::is_control);
        is_good.then(|| (id.to_owned(), read_facts(model)))
    });
    Some(models.take(MAX_MODELS).collect())
}

fn read_facts(model: &Value) -> Facts {
    let number = |paths: &[&str]| {
        let found = paths.iter().find_map(|path| model.pointer(path)?.as_u64());
        found.filter(|number| *number > 0)
    };
    let price = |path: &str| {
        let per_token: f64 = match model.pointer(path)? {
            Value::String(text) => text.parse().ok()?,
            number => number.as_f64()?,
        };
        (per_token.is_finite() && per_token >= 0.0).then_some(per_token * MILLION)
    };
    let has = |path: &str, word: &str| {
        let list = model.pointer(path)?.as_array()?;
        Some(list.iter().any(|item| item.as_str() == Some(word)))
    };
    let flag = |path: &str| model.pointer(path).and_then(Value::as_bool);
    let name = text(model, "/display_name").or_else(|| text(model, "/name").filter(|_| model.get("id").is_some()));
    let is_name = |name: &&str| name.len() <= MAX_ID && !name.chars().any(char::is_control);
    Facts {
        name: name.filter(is_name).map(str::to_owned),
        context_window: number(&[
            "/top_provider/context_length",
            "/context_length",
            "/max_model_len",
            "/context_window",
            "/max_context_length",
            "/max_input_tokens",
        ]),
        max_output: number(&[
            "/top_provider/max_completion_tokens",
            "/max_completion_tokens",
            "/max_output_tokens",
            "/max_tokens",
        ]),
        images: has("/architecture/input_modalities", "image")
            .or_else(|| flag("/capabilities/vision"))
            .or_else(|| flag("/capabilities/image_input/supported")),
        tools: has("/supported_parameters", "tools").or_else(|| flag("/capabilities/function_calling")),
        input_price: price("/pricing/prompt"),
        output_price: price("/pricing/completion"),
        cached_input_price: price("/pricing/input_cache_read"),
    }
}

fn text<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    value.pointer(path)?.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(list: &Value, expected: &[(&str, Facts)]) {
        let found = read_list(list).expect("a list");
        let expected: BTreeMap<_, _> = (expected.iter().cloned())
            .map(|(id, facts)| (id.to_owned(), facts))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lists_of_known_endpoints_are_read() {
        // As a gateway lists it, with prices for one token.
        let gateway = json!({ "data": [{
            "id": "deepseek/deepseek-v4", "name": "DeepSeek: V4", "context_length": 9,
            "architecture": { "input_modalities": ["text", "image"] }, "supported_parameters": ["tools"],
            "top_provider": { "context_length": 163_840, "max_completion_tokens": 65_536 },
            "pricing": { "prompt": "0.0000025", "completion": "0.00001", "input_cache_read": "0" },
        }] });
        let facts = Facts {
            name: Some("DeepSeek: V4".into()),
            context_window: Some(163_840),
            max_output: Some(65_536),
            images: Some(true),
            tools: Some(true),
            input_price: Some(2.5),
            output_price: Some(10.0),
            cached_input_price: Some(0.0),
        };
        check(&gateway, &[("deepseek/deepseek-v4", facts)]);
        let window = |context_window: u64| Facts {
            context_window: Some(context_window),
            ..Facts::default()
        };
        check(
            &json!({ "object": "list", "data": [{ "id": "m", "object": "model", "max_model_len": 4_096 }] }),
            &[("m", window(4_096))],
        );
        let messages = json!({ "data": [{
            "type": "model", "id": "claude-x", "display_name": "Claude X", "max_input_tokens": 200_000,
            "max_tokens": 64_000, "capabilities": { "image_input": { "supported": true } },
        }], "has_more": false });
        let facts = Facts {
            name: Some("Claude X".into()),
            max_output: Some(64_000),
            images: Some(true),
            ..window(200_000)
        };
        check(&messages, &[("claude-x", facts)]);
        check(
            &json!({ "models": [{ "name": "models/g" }] }),
            &[("g", Facts::default())],
        );
    }

    #[test]
    fn rubbish_in_a_list_is_passed_over() {
        let list = json!([
            7, {}, { "id": "" }, { "id": "a\nb" }, { "id": "x".repeat(MAX_ID + 1) },
            { "id": "m", "context_length": 0, "max_tokens": "many", "pricing": { "prompt": "-1", "completion": "soon" } },
        ]);
        check(&list, &[("m", Facts::default())]);
        for none in [json!({}), json!("a"), json!({ "data": {} })] {
            assert_eq!(read_list(&none), None);
        }
        let many: Vec<Value> = (0..=MAX_MODELS).map(|n| json!({ "id": n.to_string() })).collect();
        assert_eq!(read_list(&many.into()).map(|models| models.len()), Some(MAX_MODELS));
    }
}

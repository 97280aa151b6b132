//! From a request to the body that is posted.
//!
//! The same request gives the same bytes, and a longer conversation begins with the bytes of the shorter
//! one, so that endpoints can keep what they have already read.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use weft_model::ModelRequest;
use weft_types::{ContentBlock, Message, ToolSpec, text_of};

use super::Responses;
use crate::arguments::{arguments_object, plain_name};
use crate::endpoint::Endpoint;
use crate::images::{data_url, has_image};
use crate::sealed::{Piece, pieces};

/// The body of a request.
pub(super) fn body(responses: &Responses, request: &ModelRequest) -> Vec<u8> {
    let effort = responses.reasoning_effort.as_deref();
    let (endpoint, model) = (&*responses.endpoint, request.model.as_str());
    let body = Body {
        model,
        stream: true,
        store: false,
        prompt_cache_key: request.origin.session.as_str(),
        max_output_tokens: endpoint.config.max_tokens,
        reasoning: effort.map(|effort| WireReasoning {
            effort,
            summary: "auto",
        }),
        include: if effort.is_some() {
            &["reasoning.encrypted_content"]
        } else {
            &[]
        },
        tools: request.tools.iter().map(wire_tool).collect(),
        instructions: &request.system,
        input: (request.messages.iter())
            .flat_map(|message| items(endpoint, model, message))
            .collect(),
    };
    serde_json::to_vec(&body).expect("texts and JSON values are always serialisable")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    /// Requests with the same key meet the same cache: those of one session begin alike.
    #[serde(skip_serializing_if = "str::is_empty")]
    prompt_cache_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<WireReasoning<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<WireItem<'a>>,
}

#[derive(Serialize)]
struct WireReasoning<'a> {
    effort: &'a str,
    summary: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireTool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// The schemas use more of JSON Schema than the strict mode has.
        strict: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireItem<'a> {
    Ours(Item<'a>),
    /// Reasoning as it came.
    Reasoning(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Vec<Part<'a>>,
    },
    FunctionCall {
        call_id: &'a str,
        name: Cow<'a, str>,
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
}

/// A result in one text, or with pictures among its texts.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: String },
    OutputText { text: Cow<'a, str> },
}

fn wire_tool(tool: &ToolSpec) -> WireTool<'_> {
    WireTool::Function {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        strict: false,
    }
}

fn items<'a>(endpoint: &Endpoint, model: &str, message: &'a Message) -> Vec<WireItem<'a>> {
    match message {
        Message::User { content } => {
            let content = if has_image(content) {
                parts(content)
            } else {
                let text = text_of(content).into();
                vec![Part::InputText { text }]
            };
            vec![WireItem::Ours(Item::Message { role: "user", content })]
        }
        Message::Tool { call_id, content, .. } => vec![WireItem::Ours(Item::FunctionCallOutput {
            call_id: call_id.as_str(),
            output: if has_image(content) {
                Output::Parts(parts(content))
            } else {
                Output::Text(text_of(content))
            },
        })],
        Message::Assistant { content } => pieces(endpoint, model, content).into_iter().filter_map(item).collect(),
    }
}

/// Texts and pictures in their order; blank texts say nothing beside a picture.
fn parts(content: &[ContentBlock]) -> Vec<Part<'_>> {
    let parts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } if text.trim().is_empty() => None,
        ContentBlock::Text { text } => Some(Part::InputText { text: text.into() }),
        ContentBlock::Image { mime_type, data } => Some(Part::InputImage {
            image_url: data_url(mime_type, data),
        }),
    });
    parts.collect()
}

/// A piece of an answer as it goes back: reasoning as it came.
fn item(piece: Piece<'_>) -> Option<WireItem<'_>> {
    match piece {
        Piece::Text(text) => (!text.is_empty()).then(|| {
            WireItem::Ours(Item::Message {
                role: "assistant",
                content: vec![Part::OutputText { text: text.into() }],
            })
        }),
        Piece::Sealed { value, .. } => Some(WireItem::Reasoning(value)),
        Piece::Call { id, name, arguments } => Some(WireItem::Ours(Item::FunctionCall {
            call_id: id,
            name: plain_name(name),
            arguments: arguments_object(arguments),
        })),
    }
}

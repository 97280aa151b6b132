//! From a request to the body that is posted.
//!
//! The same request gives the same bytes, and a longer conversation begins with the bytes of the shorter
//! one, so that endpoints can keep what they have already read.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use weft_model::ModelRequest;
use weft_types::{AssistantBlock, CallId, ContentBlock, Message, ToolSpec, text_of};

use crate::arguments::arguments_object;
use crate::endpoint::Endpoint;
use crate::images::{data_url, has_image};
use crate::sealed::seals;

/// Hosts whose endpoints take `max_completion_tokens` in place of `max_tokens`, which their reasoning models refuse.
const RENAMED_LIMIT: [&str; 2] = ["openai.com", "openai.azure.com"];

/// What asks for the usage of a streamed answer, by the name that a refusal has for it.
pub(super) const OPTIONS: &str = "stream_options";

/// The body of a request, with or without [`OPTIONS`].
pub(super) fn body(endpoint: &Endpoint, request: &ModelRequest, asks_for_usage: bool) -> Vec<u8> {
    let host = endpoint.url.host_str().unwrap_or_default();
    let is_renamed = RENAMED_LIMIT.iter().any(|domain| {
        host.strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let limit = endpoint.config.max_tokens;
    let body = Body {
        model: &request.model,
        stream: true,
        stream_options: asks_for_usage.then_some(StreamOptions { include_usage: true }),
        max_completion_tokens: limit.filter(|_| is_renamed),
        max_tokens: limit.filter(|_| !is_renamed),
        tools: request.tools.iter().map(wire_tool).collect(),
        messages: messages(endpoint, request),
    };
    serde_json::to_vec(&body).expect("texts and JSON values are always serialisable")
}

fn messages<'a>(endpoint: &Endpoint, request: &'a ModelRequest) -> Vec<WireMessage<'a>> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(WireMessage::System {
            content: &request.system,
        });
    }
    let mut pictures = Vec::new();
    for message in &request.messages {
        // Nothing may stand between the results of one answer's calls.
        if !matches!(message, Message::Tool { .. }) {
            messages.extend(pictures_of_results(&mut pictures));
        }
        match message {
            Message::User { content } => messages.push(WireMessage::User {
                content: user_content(content),
            }),
            Message::Tool { call_id, content, .. } => {
                messages.push(result(call_id, content));
                pictures.extend(content.iter().filter_map(picture));
            }
            Message::Assistant { content } => messages.extend(answer(endpoint, &request.model, content)),
        }
    }
    messages.extend(pictures_of_results(&mut pictures));
    messages
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", content = "function", rename_all = "snake_case")]
enum WireTool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
    },
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        /// `null` rather than absent: some endpoints insist on the key, others refuse an empty text.
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

/// One text, or texts and pictures.
#[derive(Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
#[serde(tag = "type", content = "function", rename_all = "snake_case")]
enum WireFunction<'a> {
    Function { name: &'a str, arguments: Cow<'a, str> },
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(flatten)]
    function: WireFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

fn wire_tool(tool: &ToolSpec) -> WireTool<'_> {
    WireTool::Function {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
    }
}

fn user_content(content: &[ContentBlock]) -> UserContent<'_> {
    if !has_image(content) {
        return UserContent::Text(text_of(content));
    }
    let parts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } if text.trim().is_empty() => None,
        ContentBlock::Text { text } => Some(Part::Text { text }),
        ContentBlock::Image { .. } => picture(block),
    });
    UserContent::Parts(parts.collect())
}

fn picture(block: &ContentBlock) -> Option<Part<'static>> {
    match block {
        ContentBlock::Image { mime_type, data } => Some(Part::ImageUrl {
            image_url: ImageUrl {
                url: data_url(mime_type, data),
            },
        }),
        ContentBlock::Text { .. } => None,
    }
}

/// A result, which holds text alone: of a picture it says where to find it.
fn result<'a>(call_id: &'a CallId, content: &[ContentBlock]) -> WireMessage<'a> {
    let mut told = text_of(content);
    for block in content {
        if let ContentBlock::Image { mime_type, .. } = block {
            if !told.is_empty() {
                told.push('\n');
            }
            told.push_str(&format!("[image {mime_type}: it follows the results]"));
        }
    }
    WireMessage::Tool {
        tool_call_id: call_id.as_str(),
        content: told,
    }
}

/// The pictures of a row of results, in their order.
fn pictures_of_results(pictures: &mut Vec<Part<'static>>) -> Option<WireMessage<'static>> {
    if pictures.is_empty() {
        return None;
    }
    let mut parts = vec![Part::Text {
        text: "The images of the tool results above, in their order:",
    }];
    parts.append(pictures);
    let content = UserContent::Parts(parts);
    Some(WireMessage::User { content })
}

/// An answer; `None` for one of which nothing is left to say.
///
/// Plain reasoning goes back with tool calls only: there some endpoints refuse a message without it, while
/// elsewhere some refuse one with it. Details hold it already, and go back to who sent them.
fn answer<'a>(endpoint: &Endpoint, model: &str, blocks: &'a [AssistantBlock]) -> Option<WireMessage<'a>> {
    let sealed = seals(endpoint, model, blocks);
    let seal = |key: &str| sealed.iter().find_map(|seal| seal.get(key));
    let extras = seal("extra_content").and_then(Value::as_array);
    let (mut content, mut reasoning, mut tool_calls) = (String::new(), String::new(), Vec::new());
    for block in blocks {
        match block {
            AssistantBlock::Text { text } => content.push_str(text),
            AssistantBlock::Reasoning { text, .. } => reasoning.push_str(text),
            AssistantBlock::ToolCall { id, name, arguments } => {
                let function = WireFunction::Function {
                    name,
                    arguments: arguments_object(arguments),
                };
                let extra = extras.and_then(|extras| extras.get(tool_calls.len()));
                tool_calls.push(WireCall {
                    id: id.as_str(),
                    function,
                    extra_content: extra.filter(|extra| !extra.is_null()),
                });
            }
        }
    }
    if content.is_empty() && tool_calls.is_empty() {
        return None;
    }
    let reasoning_details = seal("reasoning_details");
    let is_wanted = reasoning_details.is_none() && !tool_calls.is_empty() && !reasoning.is_empty();
    Some(WireMessage::Assistant {
        content: (!content.is_empty()).then_some(content),
        reasoning_content: is_wanted.then_some(reasoning),
        reasoning_details,
        tool_calls,
    })
}

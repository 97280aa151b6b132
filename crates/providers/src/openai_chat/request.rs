//! From a request to the body that is posted.
//!
//! The same request gives the same bytes, and a longer conversation begins with the bytes of the shorter
//! one, so that endpoints can keep what they have already read.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use weft_model::ModelRequest;
use weft_types::{AssistantBlock, Message, ToolSpec, text_of};

use crate::arguments::arguments_object;

/// The body of a request.
pub(super) fn body(request: &ModelRequest) -> Vec<u8> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(WireMessage::System {
            content: &request.system,
        });
    }
    messages.extend(request.messages.iter().filter_map(wire_message));
    let body = Body {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tools: request.tools.iter().map(wire_tool).collect(),
        messages,
    };
    serde_json::to_vec(&body).expect("texts and JSON values are always serialisable")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
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
        content: String,
    },
    Assistant {
        /// `null` rather than absent: some endpoints insist on the key, others refuse an empty text.
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
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
}

fn wire_tool(tool: &ToolSpec) -> WireTool<'_> {
    WireTool::Function {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
    }
}

/// A message; `None` for an answer of which nothing is left to say.
fn wire_message(message: &Message) -> Option<WireMessage<'_>> {
    match message {
        Message::User { content } => Some(WireMessage::User {
            content: text_of(content),
        }),
        Message::Tool { call_id, content, .. } => Some(WireMessage::Tool {
            tool_call_id: call_id.as_str(),
            content: text_of(content),
        }),
        Message::Assistant { content } => wire_answer(content),
    }
}

/// Reasoning goes back with tool calls only: there some endpoints refuse a message without it, while
/// elsewhere some refuse one with it.
fn wire_answer(blocks: &[AssistantBlock]) -> Option<WireMessage<'_>> {
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
                tool_calls.push(WireCall {
                    id: id.as_str(),
                    function,
                });
            }
        }
    }
    if content.is_empty() && tool_calls.is_empty() {
        return None;
    }
    let reasoning_content = (!tool_calls.is_empty() && !reasoning.is_empty()).then_some(reasoning);
    Some(WireMessage::Assistant {
        content: (!content.is_empty()).then_some(content),
        reasoning_content,
        tool_calls,
    })
}

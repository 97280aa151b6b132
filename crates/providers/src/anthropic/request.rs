//! From a request to the body that is posted.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use weft_model::ModelRequest;
use weft_types::{AssistantBlock, CallId, ContentBlock, Message, ToolSpec, text_of};

use super::blocks::Sealed;
use super::{Messages, Thinking};
use crate::arguments::{arguments_object, plain_id, plain_name};
use crate::kept::{KeptAnswer, KeptBlock, is_tool_call, texts_of};

/// How many messages of the user's side are marked for the cache: the last one, which is new, and the one
/// before, up to which the endpoint has read already. Together with the tools and the system prompt these
/// are all the marks that the protocol allows.
const MARKED_MESSAGES: usize = 2;

/// The body of a request.
pub(super) fn body(messages: &Messages, request: &ModelRequest) -> Vec<u8> {
    let kept: Vec<_> = request
        .messages
        .iter()
        .map(|message| messages.kept.find(request, message))
        .collect();
    let thinking = match messages.thinking {
        Thinking::Unsaid => None,
        Thinking::Adaptive => Some(WireThinking::Adaptive { display: "summarized" }),
        Thinking::Budget(budget_tokens) => {
            may_think(&request.messages, &kept).then_some(WireThinking::Enabled { budget_tokens })
        }
    };
    let mut tools: Vec<_> = request.tools.iter().map(wire_tool).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(Mark::Ephemeral);
    }
    let body = Body {
        model: &request.model,
        max_tokens: messages.max_tokens,
        stream: true,
        thinking,
        tools,
        system: is_told(&request.system)
            .then(|| [WireBlock::text(&request.system).marked()])
            .into_iter()
            .flatten()
            .collect(),
        messages: wire_messages(&request.messages, &kept),
    };
    serde_json::to_vec(&body).expect("texts and JSON values are always serialisable")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<WireThinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<WireBlock<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireThinking {
    Adaptive { display: &'static str },
    Enabled { budget_tokens: u32 },
}

/// Says that the endpoint may keep what it has read up to here.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Mark {
    Ephemeral,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: Vec<WireBlock<'a>>,
}

#[derive(Serialize)]
struct WireBlock<'a> {
    #[serde(flatten)]
    content: WireContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireContent<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "String::is_empty")]
        content: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl<'a> WireBlock<'a> {
    fn new(content: WireContent<'a>) -> Self {
        Self {
            content,
            cache_control: None,
        }
    }

    fn text(text: &'a str) -> Self {
        Self::new(WireContent::Text { text })
    }

    fn marked(self) -> Self {
        Self {
            cache_control: Some(Mark::Ephemeral),
            ..self
        }
    }
}

fn wire_tool(tool: &ToolSpec) -> WireTool<'_> {
    WireTool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
        cache_control: None,
    }
}

/// The conversation with its marks. What belongs to one side in a row is one message, as the protocol wants
/// it: all results of an answer's calls together, before anything else is said.
fn wire_messages<'a>(messages: &'a [Message], kept: &'a [Option<Arc<KeptAnswer<Sealed>>>]) -> Vec<WireMessage<'a>> {
    let mut wire: Vec<WireMessage<'a>> = Vec::with_capacity(messages.len());
    for (message, kept) in messages.iter().zip(kept) {
        let (role, content) = match message {
            Message::User { content } => (Role::User, texts(content)),
            Message::Tool {
                call_id,
                content,
                is_error,
            } => (Role::User, vec![result(call_id, content, *is_error)]),
            Message::Assistant { content } => (Role::Assistant, answer(content, kept.as_deref())),
        };
        match wire.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => wire.push(WireMessage { role, content }),
        }
    }
    for message in wire.iter_mut().filter(|message| message.role == Role::User) {
        let is_result = |block: &WireBlock<'_>| matches!(block.content, WireContent::ToolResult { .. });
        message.content.sort_by_key(|block| !is_result(block));
    }
    let asked = wire.iter_mut().rev().filter(|message| message.role == Role::User);
    for last in asked
        .take(MARKED_MESSAGES)
        .filter_map(|message| message.content.last_mut())
    {
        last.cache_control = Some(Mark::Ephemeral);
    }
    wire
}

/// Blank texts are refused by the endpoint, so they are left out.
fn is_told(text: &str) -> bool {
    !text.trim().is_empty()
}

fn texts(content: &[ContentBlock]) -> Vec<WireBlock<'_>> {
    let texts = content.iter().filter_map(ContentBlock::as_text);
    texts.filter(|text| is_told(text)).map(WireBlock::text).collect()
}

fn result<'a>(call_id: &'a CallId, content: &[ContentBlock], is_error: bool) -> WireBlock<'a> {
    let told = text_of(content);
    let content = match is_told(&told) {
        true => told,
        // A failure has to say something.
        false if is_error => "(no message)".to_owned(),
        false => String::new(),
    };
    WireBlock::new(WireContent::ToolResult {
        tool_use_id: plain_id(call_id.as_str()),
        content,
        is_error,
    })
}

/// An answer as it goes back: what was kept of it, or else its texts and calls. Reasoning that was not kept
/// has no signature, and would be refused.
fn answer<'a>(blocks: &'a [AssistantBlock], kept: Option<&'a KeptAnswer<Sealed>>) -> Vec<WireBlock<'a>> {
    let mut calls = blocks.iter().filter_map(wire_call);
    let Some(kept) = kept else {
        let texts = texts_of(blocks).filter(|text| is_told(text)).map(WireBlock::text);
        return texts.chain(calls).collect();
    };
    let wire = kept.blocks.iter().filter_map(|block| match block {
        KeptBlock::Text(text) => is_told(text).then(|| WireBlock::text(text)),
        KeptBlock::Sealed(Sealed::Thinking { thinking, signature }) => {
            Some(WireBlock::new(WireContent::Thinking { thinking, signature }))
        }
        KeptBlock::Sealed(Sealed::Redacted { data }) => Some(WireBlock::new(WireContent::RedactedThinking { data })),
        KeptBlock::Call => calls.next(),
    });
    wire.collect()
}

fn wire_call(block: &AssistantBlock) -> Option<WireBlock<'_>> {
    let AssistantBlock::ToolCall { id, name, arguments } = block else {
        return None;
    };
    let input = arguments_object(arguments).into_owned();
    Some(WireBlock::new(WireContent::ToolUse {
        id: plain_id(id.as_str()),
        name: plain_name(name),
        input: RawValue::from_string(input).expect("a JSON object"),
    }))
}

/// Whether a budget for thinking is acceptable: not while calls are being answered whose thinking is gone.
fn may_think(messages: &[Message], kept: &[Option<Arc<KeptAnswer<Sealed>>>]) -> bool {
    let mut has_answer = false;
    for (message, kept) in messages.iter().zip(kept).rev() {
        match message {
            Message::Assistant { content } => {
                if !content.iter().any(is_tool_call) {
                    return true;
                }
                if !kept.as_ref().is_some_and(|kept| begins_with_thinking(kept)) {
                    return false;
                }
                has_answer = true;
            }
            Message::User { .. } if has_answer => return true,
            Message::User { .. } | Message::Tool { .. } => {}
        }
    }
    true
}

/// Whether an answer begins as the endpoint demands it of answers with calls while there is a budget.
fn begins_with_thinking(kept: &KeptAnswer<Sealed>) -> bool {
    matches!(kept.blocks.first(), Some(KeptBlock::Sealed(_)))
}

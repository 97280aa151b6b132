//! From a request to the body that is posted.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use weft_model::ModelRequest;
use weft_types::{CallId, ContentBlock, Message, ToolSpec, text_of};

use super::{MIN_BUDGET, Messages, Thinking};
use crate::arguments::{arguments_object, plain_id, plain_name};
use crate::images::has_image;
use crate::sealed::{Piece, pieces};

/// How many messages of the user's side are marked for the cache: the last one, which is new, and the one
/// before, up to which the endpoint has read already. Together with the tools and the system prompt these
/// are all the marks that the protocol allows.
const MARKED_MESSAGES: usize = 2;

/// The body of a request.
pub(super) fn body(messages: &Messages, request: &ModelRequest) -> Vec<u8> {
    let max_tokens = messages.max_tokens(&request.model);
    let answers: Vec<Option<Vec<Piece<'_>>>> = (request.messages.iter())
        .map(|message| match message {
            Message::Assistant { content } => Some(pieces(&messages.endpoint, &request.model, content)),
            Message::User { .. } | Message::Tool { .. } => None,
        })
        .collect();
    let thinking = match messages.thinking {
        Thinking::Unsaid => None,
        Thinking::Adaptive => Some(WireThinking::Adaptive { display: "summarized" }),
        Thinking::Budget(budget) => {
            // A model that gives fewer tokens than the budget thinks for as many as it can.
            let budget_tokens = budget.min(max_tokens - 1);
            let is_offered = budget_tokens >= MIN_BUDGET && may_think(&request.messages, &answers);
            is_offered.then_some(WireThinking::Enabled { budget_tokens })
        }
    };
    let mut tools: Vec<_> = request.tools.iter().map(wire_tool).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(Mark::Ephemeral);
    }
    let body = Body {
        model: &request.model,
        max_tokens,
        stream: true,
        thinking,
        tools,
        system: is_told(&request.system)
            .then(|| [WireBlock::text(&request.system).marked()])
            .into_iter()
            .flatten()
            .collect(),
        messages: wire_messages(&request.messages, answers),
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
    Image {
        source: Source<'a>,
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
        #[serde(skip_serializing_if = "ResultContent::is_empty")]
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// A picture.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
}

/// A result in one text, or with pictures among its texts.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(String),
    Blocks(Vec<WireBlock<'a>>),
}

impl ResultContent<'_> {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
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
fn wire_messages<'a>(messages: &'a weft_model::Messages, answers: Vec<Option<Vec<Piece<'a>>>>) -> Vec<WireMessage<'a>> {
    let mut wire: Vec<WireMessage<'a>> = Vec::with_capacity(messages.len());
    for (message, pieces) in messages.iter().zip(answers) {
        let (role, content) = match message {
            Message::User { content } => (Role::User, blocks(content)),
            Message::Tool {
                call_id,
                content,
                is_error,
            } => (Role::User, vec![result(call_id, content, *is_error)]),
            Message::Assistant { .. } => (
                Role::Assistant,
                pieces.into_iter().flatten().filter_map(answer).collect(),
            ),
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

fn blocks(content: &[ContentBlock]) -> Vec<WireBlock<'_>> {
    let blocks = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => is_told(text).then(|| WireBlock::text(text)),
        ContentBlock::Image { mime_type, data } => {
            let source = Source::Base64 {
                media_type: mime_type,
                data,
            };
            Some(WireBlock::new(WireContent::Image { source }))
        }
    });
    blocks.collect()
}

fn result<'a>(call_id: &'a CallId, content: &'a [ContentBlock], is_error: bool) -> WireBlock<'a> {
    let told = text_of(content);
    let content = match is_told(&told) {
        _ if has_image(content) => ResultContent::Blocks(blocks(content)),
        true => ResultContent::Text(told),
        // A failure has to say something.
        false if is_error => ResultContent::Text("(no message)".to_owned()),
        false => ResultContent::Text(String::new()),
    };
    WireBlock::new(WireContent::ToolResult {
        tool_use_id: plain_id(call_id.as_str()),
        content,
        is_error,
    })
}

/// A piece of an answer as it goes back. Thinking without a seal of this endpoint is none: it would be refused.
fn answer(piece: Piece<'_>) -> Option<WireBlock<'_>> {
    let content = match piece {
        Piece::Text(text) => return is_told(text).then(|| WireBlock::text(text)),
        Piece::Sealed { text, value } => {
            let sealed = |key: &str| value.get(key).and_then(Value::as_str);
            match sealed("redacted") {
                Some(data) => WireContent::RedactedThinking { data },
                None => WireContent::Thinking {
                    thinking: text,
                    signature: sealed("signature").unwrap_or_default(),
                },
            }
        }
        Piece::Call { id, name, arguments } => WireContent::ToolUse {
            id: plain_id(id),
            name: plain_name(name),
            input: RawValue::from_string(arguments_object(arguments).into_owned()).expect("a JSON object"),
        },
    };
    Some(WireBlock::new(content))
}

/// Whether a budget for thinking is acceptable: not while calls are being answered whose thinking is gone.
fn may_think(messages: &weft_model::Messages, answers: &[Option<Vec<Piece<'_>>>]) -> bool {
    let mut has_answer = false;
    for (message, pieces) in messages.iter().zip(answers).rev() {
        match (message, pieces) {
            (Message::Assistant { .. }, Some(pieces)) => {
                if !pieces.iter().any(|piece| matches!(piece, Piece::Call { .. })) {
                    return true;
                }
                // So the endpoint demands it of answers with calls while there is a budget.
                if !matches!(pieces.first(), Some(Piece::Sealed { .. })) {
                    return false;
                }
                has_answer = true;
            }
            (Message::User { .. }, _) if has_answer => return true,
            _ => {}
        }
    }
    true
}

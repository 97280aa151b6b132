//! From a request to the body that is posted.
//!
//! The same request gives the same bytes, and a longer conversation begins with the bytes of the shorter
//! one, so that endpoints can keep what they have already read.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use weft_model::ModelRequest;
use weft_types::{AssistantBlock, Message, ToolSpec, text_of};

use super::Responses;
use crate::arguments::{arguments_object, plain_name};
use crate::kept::{KeptAnswer, KeptBlock, texts_of};

/// The body of a request.
pub(super) fn body(responses: &Responses, request: &ModelRequest) -> Vec<u8> {
    let kept: Vec<Option<Arc<KeptAnswer<Value>>>> = request
        .messages
        .iter()
        .map(|message| responses.kept.find(request, message))
        .collect();
    let effort = responses.reasoning_effort.as_deref();
    let messages = request.messages.iter().zip(&kept);
    let body = Body {
        model: &request.model,
        stream: true,
        store: false,
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
        input: messages
            .flat_map(|(message, kept)| items(message, kept.as_deref()))
            .collect(),
    };
    serde_json::to_vec(&body).expect("texts and JSON values are always serialisable")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
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
        content: [Part<'a>; 1],
    },
    FunctionCall {
        call_id: &'a str,
        name: Cow<'a, str>,
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: String,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: Cow<'a, str> },
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

fn items<'a>(message: &'a Message, kept: Option<&'a KeptAnswer<Value>>) -> Vec<WireItem<'a>> {
    match message {
        Message::User { content } => {
            let text = text_of(content).into();
            let content = [Part::InputText { text }];
            vec![WireItem::Ours(Item::Message { role: "user", content })]
        }
        Message::Tool { call_id, content, .. } => vec![WireItem::Ours(Item::FunctionCallOutput {
            call_id: call_id.as_str(),
            output: text_of(content),
        })],
        Message::Assistant { content } => answer(content, kept),
    }
}

/// An answer as it goes back: what was kept of it, or else its texts and calls. Reasoning that was not kept
/// is text that no endpoint takes for its own.
fn answer<'a>(blocks: &'a [AssistantBlock], kept: Option<&'a KeptAnswer<Value>>) -> Vec<WireItem<'a>> {
    let mut calls = blocks.iter().filter_map(wire_call);
    let Some(kept) = kept else {
        let texts = texts_of(blocks).filter_map(said);
        return texts.chain(calls).collect();
    };
    let wire = kept.blocks.iter().filter_map(|block| match block {
        KeptBlock::Text(text) => said(text),
        KeptBlock::Sealed(reasoning) => Some(WireItem::Reasoning(reasoning)),
        KeptBlock::Call => calls.next(),
    });
    wire.collect()
}

fn said(text: &str) -> Option<WireItem<'_>> {
    let content = [Part::OutputText { text: text.into() }];
    (!text.is_empty()).then_some(WireItem::Ours(Item::Message {
        role: "assistant",
        content,
    }))
}

fn wire_call(block: &AssistantBlock) -> Option<WireItem<'_>> {
    let AssistantBlock::ToolCall { id, name, arguments } = block else {
        return None;
    };
    Some(WireItem::Ours(Item::FunctionCall {
        call_id: id.as_str(),
        name: plain_name(name),
        arguments: arguments_object(arguments),
    }))
}

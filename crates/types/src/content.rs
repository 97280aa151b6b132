//! What a model is given and what it answers.

use serde::{Deserialize, Serialize};

use crate::{CallId, optional};

/// One piece of content of a user message or a tool result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The text, of any length.
        text: String,
    },
    /// A picture.
    Image {
        /// Its media type, such as `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// Its bytes in base64.
        data: String,
    },
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } => None,
        }
    }
}

/// All text of some blocks, in order, without separators.
pub fn text_of(blocks: &[ContentBlock]) -> String {
    blocks.iter().filter_map(ContentBlock::as_text).collect()
}

/// One piece of an assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantBlock {
    /// Text for the user.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning the provider disclosed; sent back with the message, since some endpoints insist.
    Reasoning {
        /// The reasoning.
        text: String,
        /// What the provider wants back with it, unread, such as a signature.
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "bindings", ts(type = "unknown", optional))]
        sealed: Option<serde_json::Value>,
    },
    /// A tool call.
    ToolCall {
        /// The model's id of the call.
        id: CallId,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The arguments as the model wrote them; not necessarily JSON.
        arguments: String,
    },
}

/// One message of the history that a model is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the user (or the parent of a subagent) said.
    User {
        /// Its content.
        content: Vec<ContentBlock>,
    },
    /// What the model answered.
    Assistant {
        /// Its content.
        content: Vec<AssistantBlock>,
    },
    /// The result of one tool call.
    Tool {
        /// The call it answers.
        call_id: CallId,
        /// The result.
        content: Vec<ContentBlock>,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// What a model is told of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolSpec {
    /// The name to call it by.
    pub name: String,
    /// What it does and how to use it.
    pub description: String,
    /// JSON Schema (draft 2020-12) of its arguments, an object schema.
    #[cfg_attr(feature = "bindings", ts(type = "unknown"))]
    pub parameters: serde_json::Value,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had no more to say.
    EndTurn,
    /// It called tools.
    ToolUse,
    /// It reached a token limit.
    MaxTokens,
    /// The provider or the model refused.
    Refusal,
}

/// Tokens of one model request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// All tokens of the answer, reasoning included.
    pub output_tokens: u64,
    /// Those of the request that came from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "bindings", ts(optional, as = "Option<_>"))]
    pub cached_input_tokens: u64,
    /// Those of the answer that were reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "bindings", ts(optional, as = "Option<_>"))]
    pub reasoning_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

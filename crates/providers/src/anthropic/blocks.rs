//! The blocks of an answer, put together from their pieces.

use serde_json::{Value, json};

use crate::draft::WholeCall;
use crate::json::Json;

/// The blocks of an answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Numbered>,
}

#[derive(Debug)]
struct Numbered {
    /// The endpoint's number for the block; the last block with a number is the one that pieces mean.
    index: Option<u64>,
    is_open: bool,
    /// Whether its seal was given on, if it is thinking.
    is_sealed: bool,
    block: Block,
}

/// A block, or what has arrived of it.
#[derive(Debug)]
pub(super) enum Block {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    /// Thinking that only the endpoint can read.
    Redacted {
        data: String,
    },
    Call {
        call: WholeCall,
        /// The arguments that came with the beginning; pieces that follow replace them.
        given: String,
    },
    /// Something that is not asked for.
    Other,
}

/// What goes back with a block of thinking, and before how many calls.
#[derive(Debug, PartialEq)]
pub(super) struct Seal {
    pub(super) calls: usize,
    pub(super) value: Value,
}

impl Block {
    /// A block as it begins, or a whole one.
    pub(super) fn read(value: &Json<'_>) -> Self {
        let text = |key: &str| value.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        match value.get("type").and_then(Json::as_str) {
            Some("text") => Self::Text(text("text")),
            Some("thinking") => Self::Thinking {
                thinking: text("thinking"),
                signature: text("signature"),
            },
            Some("redacted_thinking") => Self::Redacted { data: text("data") },
            Some("tool_use") => Self::Call {
                call: WholeCall {
                    id: text("id"),
                    name: text("name"),
                    ..WholeCall::default()
                },
                given: value.get("input").map_or_else(String::new, arguments),
            },
            _ => Self::Other,
        }
    }

    /// How much of it is held, in bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Thinking { thinking, signature } => thinking.len() + signature.len(),
            Self::Redacted { data } => data.len(),
            Self::Call { call, given } => call.id.len() + call.name.len() + call.arguments.len() + given.len(),
            Self::Other => 0,
        }
    }
}

impl Blocks {
    pub(super) fn begin(&mut self, index: Option<u64>, block: Block) {
        self.blocks.push(Numbered {
            index,
            is_open: true,
            is_sealed: false,
            block,
        });
    }

    /// The block that a piece with this number belongs to; one without a number goes on with the last.
    pub(super) fn get(&mut self, index: Option<u64>) -> Option<&mut Block> {
        self.find(index).map(|numbered| &mut numbered.block)
    }

    pub(super) fn end(&mut self, index: Option<u64>) {
        if let Some(numbered) = self.find(index) {
            numbered.is_open = false;
        }
    }

    fn find(&mut self, index: Option<u64>) -> Option<&mut Numbered> {
        match index {
            None => self.blocks.last_mut(),
            Some(_) => self.blocks.iter_mut().rfind(|numbered| numbered.index == index),
        }
    }

    /// How many calls have begun.
    pub(super) fn calls_begun(&self) -> usize {
        let is_call = |numbered: &&Numbered| matches!(numbered.block, Block::Call { .. });
        self.blocks.iter().filter(is_call).count()
    }

    /// Whether a call began that did not end.
    pub(super) fn has_open_call(&self) -> bool {
        let is_open = |numbered: &Numbered| numbered.is_open && matches!(numbered.block, Block::Call { .. });
        self.blocks.iter().any(is_open)
    }

    /// The seals of the thinking that has ended, each given once: that of every block but those still open.
    pub(super) fn take_seals(&mut self) -> Vec<Seal> {
        let (mut seals, mut calls) = (Vec::new(), 0);
        for numbered in &mut self.blocks {
            let value = match &numbered.block {
                Block::Call { .. } => {
                    calls += 1;
                    continue;
                }
                Block::Thinking { thinking, signature } if thinking.is_empty() && signature.is_empty() => continue,
                Block::Thinking { signature, .. } => json!({ "signature": signature }),
                Block::Redacted { data } => json!({ "redacted": data }),
                Block::Text(_) | Block::Other => continue,
            };
            if !numbered.is_open && !std::mem::replace(&mut numbered.is_sealed, true) {
                seals.push(Seal { calls, value });
            }
        }
        seals
    }

    /// Ends every block of thinking: endpoints may forget to, and another one begins.
    pub(super) fn end_thinking(&mut self) {
        let is_thinking = |block: &Block| matches!(block, Block::Thinking { .. } | Block::Redacted { .. });
        for numbered in self.blocks.iter_mut().filter(|numbered| is_thinking(&numbered.block)) {
            numbered.is_open = false;
        }
    }

    /// The calls.
    pub(super) fn into_calls(self) -> Vec<WholeCall> {
        let calls = self.blocks.into_iter().filter_map(|numbered| match numbered.block {
            Block::Call { mut call, given } => {
                if call.arguments.is_empty() {
                    call.arguments = given;
                }
                Some(call)
            }
            _ => None,
        });
        calls.collect()
    }
}

/// The `input` of a call: mostly `{}`, to be followed by pieces; some endpoints send all of it at once.
fn arguments(input: &Json<'_>) -> String {
    match input {
        Json::Null => String::new(),
        Json::String(text) => text.clone().into_owned(),
        Json::Object(object) if object.is_empty() => String::new(),
        other => other.to_value().to_string(),
    }
}

//! The blocks of an answer, put together from their pieces.

use serde_json::Value;

use crate::draft::WholeCall;
use crate::kept::{KeptAnswer, KeptBlock};

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

/// Thinking, as it goes back.
#[derive(Debug)]
pub(super) enum Sealed {
    Thinking {
        thinking: String,
        /// Empty if the endpoint gave none.
        signature: String,
    },
    Redacted {
        data: String,
    },
}

impl Block {
    /// A block as it begins, or a whole one.
    pub(super) fn read(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match value.get("type").and_then(Value::as_str) {
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
                    arguments: String::new(),
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

    /// The calls, and the answer to keep: `None` if it holds no thinking.
    pub(super) fn finish(self) -> (Vec<WholeCall>, Option<KeptAnswer<Sealed>>) {
        let (mut calls, mut kept, mut has_thinking) = (Vec::new(), Vec::new(), false);
        for Numbered { block, .. } in self.blocks {
            match block {
                Block::Text(text) => kept.push(KeptBlock::Text(text)),
                Block::Thinking { thinking, signature } if thinking.is_empty() && signature.is_empty() => {}
                Block::Thinking { thinking, signature } => {
                    has_thinking = true;
                    kept.push(KeptBlock::Sealed(Sealed::Thinking { thinking, signature }));
                }
                Block::Redacted { data } => {
                    has_thinking = true;
                    kept.push(KeptBlock::Sealed(Sealed::Redacted { data }));
                }
                Block::Call { mut call, given } => {
                    if call.arguments.is_empty() {
                        call.arguments = given;
                    }
                    calls.push(call);
                    kept.push(KeptBlock::Call);
                }
                Block::Other => {}
            }
        }
        (calls, has_thinking.then_some(KeptAnswer { blocks: kept }))
    }
}

impl Sealed {
    /// How long it is, in bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Thinking { thinking, signature } => thinking.len() + signature.len(),
            Self::Redacted { data } => data.len(),
        }
    }
}

/// The `input` of a call: mostly `{}`, to be followed by pieces; some endpoints send all of it at once.
fn arguments(input: &Value) -> String {
    match input {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(object) if object.is_empty() => String::new(),
        other => other.to_string(),
    }
}

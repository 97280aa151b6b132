//! What a body may report while it runs.

pub(crate) mod channel;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use weft_types::ContentBlock;

use crate::ProgressLimits;

/// The live state of a running call: it replaces what an earlier report said, never adds to it.
///
/// A view acts within the card that the call's arguments chose and can change nothing else of it: it has
/// no kind, no input, no locations. An empty view is legal and means that the card shows what it showed
/// before the first report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgressView {
    /// A title instead of the call's; absent leaves the call's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Live content; empty leaves the call's.
    #[serde(default, deserialize_with = "strict_blocks")]
    pub content: Vec<ContentBlock>,
}

impl ProgressView {
    /// A view with one text block and the call's own title.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            title: None,
            content: vec![ContentBlock::text(text)],
        }
    }

    /// Reads a view and refuses everything that is not part of one, in its blocks too.
    pub fn from_json(view: Value) -> Result<Self, InvalidView> {
        if !view.is_object() {
            // Derived code would read a list as the fields in their order.
            return Err(InvalidView::Shape("expected an object".to_owned()));
        }
        serde_json::from_value(view).map_err(|error| InvalidView::Shape(error.to_string()))
    }

    pub(crate) fn check(&self, limits: &ProgressLimits) -> Result<(), InvalidView> {
        let title = self.title.as_ref().map_or(0, String::len);
        if title > limits.title_bytes {
            return Err(InvalidView::TitleTooLong {
                found: title,
                limit: limits.title_bytes,
            });
        }
        if self.content.len() > limits.blocks {
            return Err(InvalidView::TooManyBlocks {
                found: self.content.len(),
                limit: limits.blocks,
            });
        }
        let content = self
            .content
            .iter()
            .filter_map(ContentBlock::as_text)
            .map(str::len)
            .sum();
        if content > limits.content_bytes {
            return Err(InvalidView::ContentTooLong {
                found: content,
                limit: limits.content_bytes,
            });
        }
        Ok(())
    }
}

/// Content blocks tolerate unknown fields where logs are read; here each is refused.
fn strict_blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    Vec::<Value>::deserialize(deserializer)?
        .iter()
        .map(strict_block)
        .collect()
}

fn strict_block<E: de::Error>(given: &Value) -> Result<ContentBlock, E> {
    let block = ContentBlock::deserialize(given).map_err(E::custom)?;
    let known = serde_json::to_value(&block).map_err(E::custom)?;
    let surplus = given
        .as_object()
        .and_then(|fields| fields.keys().find(|&key| known.get(key).is_none()));
    match surplus {
        Some(field) => Err(E::custom(format_args!("unknown field `{field}` in a content block"))),
        None => Ok(block),
    }
}

/// A progress report that the registry refuses: a bug of the reporting tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidView {
    /// It has a field that a view does not have, or lacks the form of one.
    #[error("invalid progress view: {0}")]
    Shape(String),
    /// Its title exceeds the limit.
    #[error("invalid progress view: its title has {found} bytes, the limit progress.title_bytes is {limit}")]
    TitleTooLong {
        /// Bytes of the title.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// It has too many blocks.
    #[error("invalid progress view: it has {found} content blocks, the limit progress.blocks is {limit}")]
    TooManyBlocks {
        /// The number of blocks.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Its text exceeds the limit.
    #[error(
        "invalid progress view: its content has {found} bytes of text, the limit progress.content_bytes is {limit}"
    )]
    ContentTooLong {
        /// Bytes of all text together.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// An observer reported the very execution it observes faster than reports are delivered.
    #[error("progress report refused: {limit} reports of this call wait for delivery, the limit of progress.backlog")]
    Backlog {
        /// The limit.
        limit: usize,
    },
}

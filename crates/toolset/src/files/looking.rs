//! What the tools that only look at files have in common: whom they ask, and how their results are drawn.

use weft_tools::{Extensions, ResultForView, ResultView, WorkingDirectory};
use weft_types::{ContentBlock, text_of};

use super::{fenced, leaves_folder};

/// Whether the user is asked before a tool looks at `path`: it leads out of the session's folder, or nobody says which
/// folder that is.
pub(crate) fn asks_to_look_at(path: &str, lent: &Extensions) -> bool {
    (lent.get::<WorkingDirectory>()).is_none_or(|folder| leaves_folder(&folder.0, path))
}

/// What was found, if there is anything, and the notes in a block of their own.
pub(crate) fn with_notes(text: String, notes: &[String]) -> Vec<ContentBlock> {
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push(ContentBlock::text(text));
    }
    if !notes.is_empty() {
        blocks.push(ContentBlock::text(format!("[{}]", notes.join("; "))));
    }
    blocks
}

/// A success as the text it is, whatever Markdown would make of it; a failure is shown as any tool's is.
pub(crate) fn as_it_is(result: &ResultForView<'_>) -> Option<ResultView> {
    (!result.is_error).then(|| ResultView::Generic {
        title: None,
        content: Some(vec![ContentBlock::text(fenced(&text_of(result.content)))]),
    })
}

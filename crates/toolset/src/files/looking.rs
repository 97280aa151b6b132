//! What the tools that only look at files have in common: whom they ask, and how their results are drawn.

use std::path::PathBuf;
use std::sync::Arc;

use weft_tools::{AccessPath, Extensions, ProtectedPaths, ReadableDirectories, ResultForView, ResultView};
use weft_types::{ContentBlock, text_of};

use super::caution::caution_of;
use super::place::without_links;
use super::{Folders, fenced};

/// The place that `path` names, for whoever decides. It is outside if nobody says which folder the session works in.
fn access_to(path: &str, lent: &Extensions) -> AccessPath {
    let folders = Folders::lent(lent);
    let absolute = (folders.as_ref()).map_or_else(|| PathBuf::from(path), |folders| folders.session.join(path));
    AccessPath {
        path: without_links(&absolute).unwrap_or(absolute),
        shown: path.to_owned(),
        is_inside: folders.is_some_and(|folders| !folders.are_left_by(path)),
        caution: None,
    }
}

/// The place that `path` names, of a call that changes what is there.
pub(crate) fn access_to_change(path: &str, lent: &Extensions) -> AccessPath {
    let place = access_to(path, lent);
    let is_protected = |protected: &ProtectedPaths| {
        let within = |folder: &PathBuf| without_links(folder).is_ok_and(|folder| place.path.starts_with(folder));
        protected.0.iter().any(within)
    };
    let why = match lent.get::<ProtectedPaths>() {
        Some(protected) if is_protected(&protected) => Some("weft keeps its own settings and sessions there"),
        _ => caution_of(&place.path),
    };
    AccessPath {
        caution: why.map(|why| format!("{path}: {why}")),
        ..place
    }
}

/// The same for a call that only looks: what is lent to be read is inside too, by where it really lies.
pub(crate) fn access_to_read(path: &str, lent: &Extensions) -> AccessPath {
    let place = access_to(path, lent);
    let lies_in = |readable: Arc<ReadableDirectories>| readable.0.iter().any(|folder| place.path.starts_with(folder));
    AccessPath {
        is_inside: place.is_inside || lent.get::<ReadableDirectories>().is_some_and(lies_in),
        ..place
    }
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

#[cfg(test)]
mod tests {
    use weft_tools::WorkingDirectory;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_lent_to_be_read_is_inside_for_looking_only_and_by_where_it_really_lies() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().canonicalize().expect("it exists");
        for folder in ["work", "skills/review", "other"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        std::os::unix::fs::symlink(root.join("other"), root.join("skills/review/out")).expect("a link");
        let lent = Extensions::new()
            .with(Arc::new(WorkingDirectory(root.join("work"))))
            .with(Arc::new(ReadableDirectories(vec![root.join("skills/review")])));
        let path = |path: &str| root.join(path).display().to_string();
        let is_readable = |at: &str| access_to_read(&path(at), &lent).is_inside;
        assert!(is_readable("skills/review/SKILL.md") && is_readable("work/a.rs"));
        assert!(!is_readable("skills/other/SKILL.md") && !is_readable("skills/review/../../other/x"));
        assert!(!is_readable("skills/review/out/x"), "a link leads out of it");
        assert!(
            !access_to(&path("skills/review/SKILL.md"), &lent).is_inside,
            "it is not to be changed"
        );
    }
}

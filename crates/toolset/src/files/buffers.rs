//! Files as the client's editor has them: what is not saved yet counts, and changes go through the editor.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::Stat;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use weft_tools::{ClientFileError, ClientFilesHandle, ToolError, ToolExecution};

use super::{Place, TextFile, check_cancel, replace};

/// How long a client may take: it answers from memory.
const PATIENCE: Duration = Duration::from_secs(30);

/// Held while a text is compared and replaced through a client, so that of two calls one sees the other.
static COMMIT: Mutex<()> = Mutex::new(());

/// The client's files, if it offers any. Used on threads that may wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    client: Option<(ClientFilesHandle, Handle)>,
}

/// A file as it is on the disk and in the editor.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// What the file would hold if it were saved now; absent if that is what it holds.
    pub(crate) unsaved: Option<Vec<u8>>,
    /// What is to be said of it.
    pub(crate) notes: Vec<String>,
    text: Option<String>,
}

impl Overlay {
    /// What counts: what is not saved before what is on the disk.
    pub(crate) fn or(&mut self, disk: Vec<u8>) -> Vec<u8> {
        self.unsaved.clone().unwrap_or(disk)
    }
}

impl Buffers {
    /// What the caller lends. Must be called within a runtime if it lends anything.
    pub(crate) fn of(execution: &ToolExecution) -> Self {
        let client = execution.extension::<ClientFilesHandle>();
        Self {
            client: client.map(|client| (client.as_ref().clone(), Handle::current())),
        }
    }

    /// Looks at the editor's text of a place that holds `disk`, or nothing. A client that fails is told of in the notes,
    /// and the disk counts.
    pub(crate) fn overlay(&self, place: &Place, disk: Option<&[u8]>, stop: &CancellationToken) -> Overlay {
        let text = match self.read(place, stop) {
            None | Some(Err(ClientFileError::NotFound)) => return Overlay::default(),
            Some(Ok(text)) => text,
            Some(Err(error)) => {
                // A client that knows nothing of a file that does not exist has said so in its own way.
                let note = format!("what is on the disk counts, since the editor could not be asked: {error}");
                let notes = disk.map(|_| note).into_iter().collect();
                return Overlay {
                    notes,
                    ..Overlay::default()
                };
            }
        };
        let on_disk = TextFile::parse(disk.unwrap_or_default());
        let plain = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let is_saved = disk.is_some() && plain.as_bytes() == on_disk.body;
        let unsaved = (!is_saved).then(|| {
            let body = plain.as_bytes().to_vec();
            TextFile { body, ..on_disk }.to_bytes()
        });
        let note = unsaved
            .as_ref()
            .map(|_| "this is the editor's text, with changes that are not saved");
        Overlay {
            notes: note.into_iter().map(str::to_owned).collect(),
            unsaved,
            text: Some(text),
        }
    }

    /// Puts `bytes` in the place of what `overlay` says and of the file `was`: through the editor, if it writes. The
    /// notes say what else happened.
    pub(crate) fn commit(
        &self,
        place: &Place,
        (was, overlay): (Option<&Stat>, &Overlay),
        bytes: &[u8],
        stop: &CancellationToken,
    ) -> Result<Vec<String>, ToolError> {
        let mut notes = Vec::new();
        let text = String::from_utf8(TextFile::parse(bytes).body).ok();
        let client = self.client.as_ref().filter(|(client, _)| client.0.can_write());
        if let (Some((client, runtime)), Some(text)) = (client, text) {
            let _alone = COMMIT.lock().unwrap_or_else(PoisonError::into_inner);
            check_cancel(stop)?;
            self.check_unchanged(place, overlay, stop)?;
            let written = waiting(runtime, stop, client.0.write(&place.real, text));
            match written {
                Ok(()) => return Ok(notes),
                Err(error) if overlay.unsaved.is_some() || stop.is_cancelled() => {
                    return Err(ToolError::new(format!(
                        "{} has changes in the editor that are not saved, and the editor did not take this one: {error}",
                        place.shown
                    )));
                }
                Err(error) => notes.push(format!("written to the disk, since the editor did not do it: {error}")),
            }
        } else if overlay.unsaved.is_some() {
            return Err(ToolError::new(format!(
                "{} has changes in the editor that are not saved, and it cannot be written through the editor; have the \
                 user save it first",
                place.shown
            )));
        }
        notes.extend(replace(place, was, bytes, stop)?);
        Ok(notes)
    }

    fn check_unchanged(&self, place: &Place, overlay: &Overlay, stop: &CancellationToken) -> Result<(), ToolError> {
        let Some(seen) = &overlay.text else { return Ok(()) };
        match self.read(place, stop) {
            Some(Ok(text)) if text != *seen => Err(ToolError::new(format!(
                "{} was changed by somebody else in this very moment; read it again",
                place.shown
            ))),
            _ => Ok(()),
        }
    }

    fn read(&self, place: &Place, stop: &CancellationToken) -> Option<Result<String, ClientFileError>> {
        let (client, runtime) = self.client.as_ref().filter(|(client, _)| client.0.can_read())?;
        Some(waiting(runtime, stop, client.0.read(&place.real)))
    }
}

/// Waits on this thread for what the client does, unless the call is cancelled.
fn waiting<T>(
    runtime: &Handle,
    stop: &CancellationToken,
    work: impl Future<Output = Result<T, ClientFileError>>,
) -> Result<T, ClientFileError> {
    runtime.block_on(async {
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(ClientFileError::Failed("the call was cancelled".to_owned())),
            done = tokio::time::timeout(PATIENCE, work) => done.unwrap_or_else(|_| {
                Err(ClientFileError::Failed(format!("it did not answer within {} s", PATIENCE.as_secs())))
            }),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use futures::FutureExt;
    use futures::future::BoxFuture;
    use serde_json::json;
    use weft_tools::ClientFiles;

    use super::super::stage::Stage;
    use super::*;

    /// An editor with open files.
    #[derive(Default)]
    struct Editor {
        texts: Mutex<HashMap<PathBuf, String>>,
        is_read_only: bool,
        fails: bool,
    }

    impl ClientFiles for Editor {
        fn can_read(&self) -> bool {
            true
        }

        fn can_write(&self) -> bool {
            !self.is_read_only
        }

        fn read(&self, path: &Path) -> BoxFuture<'static, Result<String, ClientFileError>> {
            let text = self.texts.lock().expect("sound").get(path).cloned();
            let failure = self.fails.then(|| ClientFileError::Failed("out of order".to_owned()));
            let read = failure.map_or_else(|| text.ok_or(ClientFileError::NotFound), Err);
            async move { read }.boxed()
        }

        fn write(&self, path: &Path, text: String) -> BoxFuture<'static, Result<(), ClientFileError>> {
            if self.fails {
                return async { Err(ClientFileError::Failed("out of order".to_owned())) }.boxed();
            }
            self.texts.lock().expect("sound").insert(path.to_owned(), text);
            async { Ok(()) }.boxed()
        }
    }

    /// A stage whose file `a` holds `saved`, with an editor that has it open with `text`.
    fn opened(saved: &[u8], text: &str, mut editor: Editor) -> (Stage, Arc<Editor>, PathBuf) {
        let mut stage = Stage::new();
        let path = stage.put("a", saved).canonicalize().expect("it exists");
        editor.texts = Mutex::new(HashMap::from([(path.clone(), text.to_owned())]));
        let editor = Arc::new(editor);
        stage.lend(Arc::new(ClientFilesHandle(Arc::clone(&editor) as Arc<dyn ClientFiles>)));
        (stage, editor, path)
    }

    fn text_in(editor: &Editor, path: &Path) -> String {
        editor.texts.lock().expect("sound")[path].clone()
    }

    #[tokio::test]
    async fn what_is_not_saved_is_read_and_changed_in_the_editor() {
        let (stage, editor, path) = opened(b"old\n", "unsaved\n", Editor::default());
        let said = stage.said("read", &json!({ "path": "a" })).await;
        assert_eq!(
            said,
            "     1\tunsaved\n[this is the editor's text, with changes that are not saved]"
        );
        stage
            .said("edit", &json!({ "path": "a", "old": "unsaved", "new": "changed" }))
            .await;
        assert_eq!(text_in(&editor, &path), "changed\n");
        assert_eq!(stage.bytes("a"), b"old\n");
        stage.said("write", &json!({ "path": "a", "content": "whole\n" })).await;
        assert_eq!(text_in(&editor, &path), "whole\n");
    }

    #[tokio::test]
    async fn a_text_that_the_user_went_on_typing_is_stale() {
        let (stage, editor, path) = opened(b"old\n", "old\n", Editor::default());
        stage.said("read", &json!({ "path": "a" })).await;
        editor
            .texts
            .lock()
            .expect("sound")
            .insert(path.clone(), "typed\n".to_owned());
        let error = stage.refused("write", &json!({ "path": "a", "content": "x" })).await;
        assert!(error.contains("has changed since you last read it"), "{error}");
        assert_eq!(text_in(&editor, &path), "typed\n");
    }

    #[tokio::test]
    async fn a_new_file_is_made_by_the_editor() {
        let (stage, editor, path) = opened(b"", "", Editor::default());
        stage.said("write", &json!({ "path": "new", "content": "x\n" })).await;
        assert_eq!(text_in(&editor, &path.with_file_name("new")), "x\n");
        assert!(!stage.folder().join("new").exists());
        // It can be read before it is saved.
        let said = stage.said("read", &json!({ "path": "new" })).await;
        assert!(said.starts_with("     1\tx\n"), "{said}");
    }

    #[tokio::test]
    async fn mark_and_line_ends_of_a_saved_file_do_not_make_it_unsaved() {
        let (stage, editor, path) = opened(b"\xef\xbb\xbfa\r\nb\r\n", "a\r\nb\r\n", Editor::default());
        let said = stage.said("read", &json!({ "path": "a" })).await;
        assert!(!said.contains("not saved"), "{said}");
        stage
            .said("edit", &json!({ "path": "a", "old": "a\nb", "new": "c\nd" }))
            .await;
        assert_eq!(text_in(&editor, &path), "c\r\nd\r\n");
    }

    #[tokio::test]
    async fn an_editor_that_only_reads_loses_nothing() {
        let read_only = Editor {
            is_read_only: true,
            ..Editor::default()
        };
        let (stage, _, _) = opened(b"old\n", "unsaved\n", read_only);
        let error = stage
            .refused("edit", &json!({ "path": "a", "old": "unsaved", "new": "x" }))
            .await;
        assert!(error.contains("have the user save it first"), "{error}");
        assert_eq!(stage.bytes("a"), b"old\n");
    }

    #[tokio::test]
    async fn an_editor_that_fails_is_told_of_and_the_disk_counts() {
        let failing = Editor {
            fails: true,
            ..Editor::default()
        };
        let (stage, _, _) = opened(b"old\n", "unsaved\n", failing);
        let said = stage.said("read", &json!({ "path": "a" })).await;
        assert!(
            said.contains("\told\n[what is on the disk counts, since the editor could not be asked"),
            "{said}"
        );
        let said = stage
            .said("edit", &json!({ "path": "a", "old": "old", "new": "new" }))
            .await;
        assert!(
            said.contains("written to the disk, since the editor did not do it: the editor failed: out of order"),
            "{said}"
        );
        assert_eq!(stage.bytes("a"), b"new\n");
    }
}

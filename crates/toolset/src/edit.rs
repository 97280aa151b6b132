//! The `edit` tool: one text in a file replaced by another.
//!
//! The text to replace is compared without regard to whether lines end in LF or CRLF; what is put in its
//! place gets the line ends of what was there. Everything else of the file stays byte for byte: its byte
//! order mark, its encoding, bytes that are no valid text, its last line end.

mod near;
mod substitute;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weft_tools::{
    Access, CallView, Extensions, FileDiff, Location, ResultForView, ResultView, Tool, ToolError, ToolExecution,
    ToolKind,
};
use weft_types::{ContentBlock, ToolSpec};

use self::substitute::{Request, Substituted, substitute};
use crate::files::{
    FilesConfig, Folders, Found, Knowledge, Known, Opened, Place, TextFile, Unreadable, access_to_change, arguments,
    blocking, describe_missing, find, outcome,
};
use crate::setting::InvalidSetting;

/// How many places one text lists.
const MAX_LINES: usize = 20;

/// Replaces texts in files.
///
/// Needs the [`WorkingDirectory`](weft_tools::WorkingDirectory) extension of its caller, and works only
/// within that folder. Refuses a file that differs from what its [`Memory`](weft_tools::Memory) has of it.
#[derive(Debug)]
pub struct Edit {
    config: Arc<FilesConfig>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

/// The canonical value.
#[derive(Serialize, Deserialize)]
struct Edited {
    path: String,
    /// The lines on which what was put in begins, as the file is now.
    lines: Vec<usize>,
    notes: Vec<String>,
}

impl Edit {
    /// The tool with these limits.
    ///
    /// # Errors
    /// One of them is out of bounds.
    pub fn new(config: FilesConfig) -> Result<Self, InvalidSetting> {
        config.validate()?;
        Ok(Self {
            config: Arc::new(config),
        })
    }

    async fn run(&self, execution: &ToolExecution) -> Result<Edited, ToolError> {
        let arguments: Arguments = arguments(execution)?;
        let folders = Folders::of(execution)?;
        let (config, known) = (Arc::clone(&self.config), Known::of(execution));
        let path = arguments.path.clone();
        let done = blocking(execution, move |stop| edit(&arguments, &folders, &config, &known, stop)).await?;
        outcome(execution, &path, done)
    }
}

fn edit(
    arguments: &Arguments,
    folders: &Folders,
    config: &FilesConfig,
    known: &Known,
    stop: &CancellationToken,
) -> Result<Edited, ToolError> {
    let path = &arguments.path;
    if arguments.old == arguments.new {
        return Err(ToolError::new(
            "old and new are the same, so there is nothing to change",
        ));
    }
    let place = Place::to_write(folders, path)?;
    let (bytes, was, overlay) = match find(&place)? {
        Found::File(mut opened) => {
            let disk = whole(&mut opened, &place, config)?;
            let mut overlay = folders.buffers.overlay(&place, Some(&disk), stop);
            (overlay.or(disk), Some(opened.stat), overlay)
        }
        Found::Folder => {
            return Err(ToolError::new(format!(
                "{path} is a folder, and only files can be edited"
            )));
        }
        Found::Missing => {
            let overlay = folders.buffers.overlay(&place, None, stop);
            let unsaved = overlay.unsaved.clone();
            let bytes = unsaved.ok_or_else(|| describe_missing(&place, &folders.session))?;
            (bytes, None, overlay)
        }
    };
    if known.compare(&place.real, &bytes) == Knowledge::Stale {
        return Err(ToolError::new(format!(
            "{path} has changed since you last read it; read it again, then edit it"
        )));
    }
    let mut file = text_of_file(&bytes, arguments)?;
    let request = Request {
        old: &arguments.old,
        new: &arguments.new,
        all: arguments.all,
    };
    let Substituted { body, lines } =
        substitute(&file.body, &request).map_err(|places| miss(path, &file, &request, &places))?;
    file.body = body;
    let bytes = file.to_bytes();
    if bytes.len() > config.max_bytes {
        let message = format!(
            "{path} would grow to {} bytes, above the limit of {} (files.max_bytes)",
            bytes.len(),
            config.max_bytes
        );
        return Err(ToolError::new(message));
    }
    let notes = folders.buffers.commit(&place, (was.as_ref(), &overlay), &bytes, stop)?;
    known.remember(&place.real, &bytes);
    let path = path.clone();
    Ok(Edited { path, lines, notes })
}

fn whole(opened: &mut Opened, place: &Place, config: &FilesConfig) -> Result<Vec<u8>, ToolError> {
    opened.bytes(place, config.max_bytes)?.ok_or_else(|| {
        ToolError::new(format!(
            "{} has {} bytes, and only files of up to {} are edited (files.max_bytes)",
            place.shown, opened.size, config.max_bytes
        ))
    })
}

/// The file, if it is a text that the change leaves one.
fn text_of_file(bytes: &[u8], arguments: &Arguments) -> Result<TextFile, ToolError> {
    let path = &arguments.path;
    if let Some(unreadable) = Unreadable::of(bytes) {
        return Err(ToolError::new(unreadable.told(path, bytes.len() as u64)));
    }
    let file = TextFile::parse(bytes);
    if file.is_lossy {
        return Err(ToolError::new(format!(
            "{path} is damaged UTF-16 and cannot be edited without losing what is damaged"
        )));
    }
    let Err(error) = std::str::from_utf8(&file.body) else {
        return Ok(file);
    };
    if arguments.old.is_ascii() && arguments.new.is_ascii() {
        return Ok(file);
    }
    let line = 1 + memchr::memchr_iter(b'\n', &file.body[..error.valid_up_to()]).count();
    Err(ToolError::new(format!(
        "{path} is not UTF-8 (the first other byte is on line {line}); in it only ASCII text can be replaced by ASCII \
         text"
    )))
}

/// Why nothing was replaced.
fn miss(path: &str, file: &TextFile, request: &Request<'_>, places: &[usize]) -> ToolError {
    if places.is_empty() {
        let body = String::from_utf8_lossy(&file.body);
        let why = near::explain(&body, request.old);
        return ToolError::new(format!("old does not occur in {path}: {why}"));
    }
    ToolError::new(format!(
        "old occurs {} times in {path}, on lines {}; put more of what surrounds the place into old, or set all to \
         replace every one",
        places.len(),
        listed(places)
    ))
}

fn listed(lines: &[usize]) -> String {
    let mut texts: Vec<String> = lines.iter().take(MAX_LINES).map(ToString::to_string).collect();
    if lines.len() > MAX_LINES {
        texts.push("…".to_owned());
    }
    texts.join(", ")
}

impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit".into(),
            description: "Replaces a text in a file. old must occur exactly once, or all must be set. Give old as it \
                          stands in the file, without the line numbers of read; LF in it also stands for CRLF. Line \
                          ends, encoding, byte order mark and mode of the file stay as they are. Fails if the file has \
                          changed since you last read it, and outside the session's folder."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "minLength": 1, "description": "The file, relative to the session's folder or absolute." },
                    "old": { "type": "string", "minLength": 1, "description": "The text to replace." },
                    "new": { "type": "string", "description": "The text to put in its place; may be empty." },
                    "all": { "type": "boolean", "description": "Replace every occurrence; default false." },
                },
                "required": ["path", "old", "new"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "lines": { "type": "array", "items": { "type": "integer", "minimum": 1 } },
                "notes": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["path", "lines", "notes"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let edited = self.run(&execution).await?;
            serde_json::to_value(edited).map_err(|error| ToolError::new(error.to_string()))
        }
        .boxed()
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let Ok(Edited { path, lines, notes }) = Edited::deserialize(value) else {
            return Vec::new();
        };
        let done = match lines.as_slice() {
            [line] => format!("edited {path}: replaced the text on line {line}"),
            lines => format!(
                "edited {path}: replaced {} texts, on lines {}",
                lines.len(),
                listed(lines)
            ),
        };
        let notes = notes.iter().map(|note| format!("; {note}")).collect::<String>();
        vec![ContentBlock::text(done + &notes)]
    }

    fn access(&self, arguments: &Value, lent: &Extensions) -> Access {
        Access::Edit(vec![access_to_change(
            arguments["path"].as_str().unwrap_or_default(),
            lent,
        )])
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let arguments = Arguments::deserialize(arguments).ok()?;
        let title = format!("edit {}", arguments.path);
        let locations = vec![Location {
            path: arguments.path.clone(),
            line: None,
        }];
        let largest = arguments.old.len().max(arguments.new.len());
        if largest > self.config.diff_bytes {
            let content = format!("the change is too large to show ({largest} bytes)");
            return Some(CallView::Generic {
                title,
                kind: ToolKind::Edit,
                raw_input: None,
                content: vec![ContentBlock::text(content)],
                locations,
            });
        }
        let diffs = vec![diff(arguments)];
        Some(CallView::Diff {
            title,
            diffs,
            locations,
        })
    }

    fn present_result(&self, arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        let arguments = Arguments::deserialize(arguments).ok()?;
        let is_large = arguments.old.len().max(arguments.new.len()) > self.config.diff_bytes;
        if result.is_error || is_large {
            return None;
        }
        let diffs = vec![diff(arguments)];
        Some(ResultView::Diff { title: None, diffs })
    }
}

fn diff(arguments: Arguments) -> FileDiff {
    FileDiff {
        path: arguments.path,
        old_text: Some(arguments.old),
        new_text: arguments.new,
    }
}

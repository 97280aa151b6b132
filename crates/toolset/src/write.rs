//! The `write` tool: a file's whole content.
//!
//! A file that exists is replaced only if the agent knows what it held. Its byte order mark and encoding
//! are kept, and its line ends where all of them are CRLF; otherwise the content is written as it is given.

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

use crate::files::{
    Encoding, FilesConfig, Folders, Found, Knowledge, Known, Place, TextFile, Unreadable, access_to_change, arguments,
    blocking, find, outcome,
};
use crate::setting::InvalidSetting;

/// Writes files.
///
/// Needs the [`WorkingDirectory`](weft_tools::WorkingDirectory) extension of its caller, and works only
/// within that folder. Refuses to replace a file unless its [`Memory`](weft_tools::Memory) has what it holds.
#[derive(Debug)]
pub struct Write {
    config: Arc<FilesConfig>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

/// The canonical value.
#[derive(Serialize, Deserialize)]
struct Wrote {
    path: String,
    what: What,
    /// The text before, for the card; absent if there was none or it is too long to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    /// Whether the card can show the change.
    is_shown: bool,
    bytes: usize,
    notes: Vec<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum What {
    Created,
    Replaced,
    Unchanged,
}

/// What the card of a result needs: what was there before.
#[derive(Serialize, Deserialize)]
struct Before {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
}

impl Write {
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

    async fn run(&self, execution: &ToolExecution) -> Result<Wrote, ToolError> {
        let arguments: Arguments = arguments(execution)?;
        let folders = Folders::of(execution)?;
        let (config, known) = (Arc::clone(&self.config), Known::of(execution));
        let path = arguments.path.clone();
        let done = blocking(execution, move |stop| {
            write(&arguments, &folders, &config, &known, stop)
        })
        .await?;
        outcome(execution, &path, done)
    }
}

fn write(
    Arguments { path, content }: &Arguments,
    folders: &Folders,
    config: &FilesConfig,
    known: &Known,
    stop: &CancellationToken,
) -> Result<Wrote, ToolError> {
    let most = config.max_bytes;
    if content.len() > most {
        let message = format!(
            "the content has {} bytes, above the limit of {most} (files.max_bytes)",
            content.len()
        );
        return Err(ToolError::new(message));
    }
    let place = Place::to_write(folders, path)?;
    if path.ends_with('/') {
        return Err(ToolError::new(format!("{path} names a folder; name a file in it")));
    }
    let mut wrote = Wrote {
        path: path.clone(),
        what: What::Created,
        old: None,
        is_shown: content.len() <= config.diff_bytes,
        bytes: content.len(),
        notes: Vec::new(),
    };
    let bytes = match find(&place)? {
        Found::Folder => return Err(ToolError::new(format!("{path} is a folder"))),
        Found::Missing => {
            let overlay = folders.buffers.overlay(&place, None, stop);
            if let Some(unsaved) = &overlay.unsaved {
                check_knowledge(path, known.compare(&place.real, unsaved), unsaved)?;
            }
            let bytes = content.as_bytes().to_vec();
            wrote.notes = folders.buffers.commit(&place, (None, &overlay), &bytes, stop)?;
            bytes
        }
        Found::File(mut opened) => {
            let old = opened.bytes(&place, most)?.ok_or_else(|| {
                let size = opened.size;
                ToolError::new(format!(
                    "{path} has {size} bytes, and only files of up to {most} are replaced (files.max_bytes)"
                ))
            })?;
            let mut overlay = folders.buffers.overlay(&place, Some(&old), stop);
            let old = overlay.or(old);
            check_knowledge(path, known.compare(&place.real, &old), &old)?;
            let bytes = dressed_like(&old, content);
            wrote.show_old(&old, config);
            wrote.what = What::Unchanged;
            if bytes != old {
                wrote.what = What::Replaced;
                let was = (Some(&opened.stat), &overlay);
                wrote.notes = folders.buffers.commit(&place, was, &bytes, stop)?;
            }
            bytes
        }
    };
    wrote.bytes = bytes.len();
    known.remember(&place.real, &bytes);
    Ok(wrote)
}

fn check_knowledge(path: &str, knowledge: Knowledge, old: &[u8]) -> Result<(), ToolError> {
    match knowledge {
        Knowledge::Current => Ok(()),
        // There is nothing to lose.
        _ if old.is_empty() => Ok(()),
        Knowledge::Stale => Err(ToolError::new(format!(
            "{path} has changed since you last read it; read it again, then write it"
        ))),
        Knowledge::None => Err(ToolError::new(format!(
            "{path} exists, and you have not read it; read it before you replace it, or change it with edit"
        ))),
    }
}

/// The content in the encoding and with the line ends of what it replaces.
fn dressed_like(old: &[u8], content: &str) -> Vec<u8> {
    let was = TextFile::parse(old);
    let crlf = memchr::memmem::find_iter(&was.body, b"\r\n").count();
    let has_crlf = crlf > 0 && crlf == memchr::memchr_iter(b'\n', &was.body).count();
    let content = content
        .strip_prefix('\u{feff}')
        .filter(|_| was.encoding != Encoding::Utf8)
        .unwrap_or(content);
    let body = if has_crlf && !content.contains('\r') {
        content.replace('\n', "\r\n")
    } else {
        content.to_owned()
    };
    let file = TextFile {
        encoding: was.encoding,
        body: body.into_bytes(),
        is_lossy: false,
    };
    file.to_bytes()
}

impl Wrote {
    fn show_old(&mut self, old: &[u8], config: &FilesConfig) {
        let text = String::from_utf8(TextFile::parse(old).body).ok();
        let text = text.filter(|text| text.len() <= config.diff_bytes && Unreadable::of(old).is_none());
        self.is_shown &= text.is_some();
        self.old = text.filter(|_| self.is_shown);
    }
}

impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write".into(),
            description: format!(
                "Writes a file: makes it, with the folders it needs, or replaces all that it holds. A file that exists \
                 must have been read before, and not have changed since; to change a part of it use edit. Byte order \
                 mark, encoding and mode of the old file are kept, and CRLF if all its lines end so. At most {} bytes. \
                 Fails outside the session's folder.",
                self.config.max_bytes
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "minLength": 1, "description": "The file, relative to the session's folder or absolute." },
                    "content": { "type": "string", "description": "All that the file is to hold." },
                },
                "required": ["path", "content"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "what": { "enum": ["created", "replaced", "unchanged"] },
                "old": { "type": "string" },
                "is_shown": { "type": "boolean" },
                "bytes": { "type": "integer", "minimum": 0 },
                "notes": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["path", "what", "is_shown", "bytes", "notes"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let wrote = self.run(&execution).await?;
            serde_json::to_value(wrote).map_err(|error| ToolError::new(error.to_string()))
        }
        .boxed()
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let Ok(Wrote {
            path,
            what,
            bytes,
            notes,
            ..
        }) = Wrote::deserialize(value)
        else {
            return Vec::new();
        };
        let done = match what {
            What::Created => format!("created {path} ({bytes} bytes)"),
            What::Replaced => format!("replaced {path} ({bytes} bytes)"),
            What::Unchanged => format!("{path} already held exactly this ({bytes} bytes)"),
        };
        let notes = notes.iter().map(|note| format!("; {note}")).collect::<String>();
        vec![ContentBlock::text(done + &notes)]
    }

    fn presentation_meta(&self, _arguments: &Value, value: &Value) -> Option<Value> {
        let wrote = Wrote::deserialize(value).ok().filter(|wrote| wrote.is_shown)?;
        serde_json::to_value(Before { old: wrote.old }).ok()
    }

    fn access(&self, arguments: &Value, lent: &Extensions) -> Access {
        Access::Edit(vec![access_to_change(
            arguments["path"].as_str().unwrap_or_default(),
            lent,
        )])
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let Arguments { path, content } = Arguments::deserialize(arguments).ok()?;
        let title = format!("write {path}");
        let locations = vec![Location {
            path: path.clone(),
            line: None,
        }];
        if content.len() > self.config.diff_bytes {
            let text = format!("the content is too large to show ({} bytes)", content.len());
            return Some(CallView::Generic {
                title,
                kind: ToolKind::Edit,
                raw_input: None,
                content: vec![ContentBlock::text(text)],
                locations,
            });
        }
        let diffs = vec![diff(path, None, content)];
        Some(CallView::Diff {
            title,
            diffs,
            locations,
        })
    }

    fn present_result(&self, arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        let Arguments { path, content } = Arguments::deserialize(arguments).ok()?;
        let Before { old } = result.meta.and_then(|meta| Before::deserialize(meta).ok())?;
        Some(ResultView::Diff {
            title: None,
            diffs: vec![diff(path, old, content)],
        })
    }
}

fn diff(path: String, old_text: Option<String>, new_text: String) -> FileDiff {
    FileDiff {
        path,
        old_text,
        new_text,
    }
}

//! The `read` tool: the lines of a text file, numbered, or a picture.
//!
//! A file up to [`FilesConfig::max_bytes`] is read whole, its lines are counted and what it holds is
//! remembered for `write` and `edit`. Of a larger one only as much is read as is needed, and no more than a
//! window of it is ever in memory.

mod page;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::io::{BufReader, Cursor, Seek as _};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weft_tools::{
    Access, CallView, Extensions, Location, ResultForView, ResultView, Tool, ToolError, ToolExecution, ToolKind,
};
use weft_types::{ContentBlock, ToolSpec};

use self::page::{Page, Want};
use crate::files::{
    Encoding, FilesConfig, Folders, Format, Found, Known, Opened, Place, TextFile, Unreadable, access_to_read,
    arguments, as_it_is, blocking, describe_missing, find, head_of, names_in, with_notes,
};
use crate::setting::InvalidSetting;

/// How many names an error about a folder lists.
const MAX_NAMES: usize = 100;

/// Reads text files and pictures.
///
/// Needs the [`WorkingDirectory`](weft_tools::WorkingDirectory) extension of its caller; remembers what it read in its
/// [`Memory`](weft_tools::Memory).
#[derive(Debug)]
pub struct Read {
    config: Arc<FilesConfig>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<usize>,
}

/// The canonical value.
#[derive(Serialize, Deserialize)]
struct Reading {
    /// The number of the first line.
    first: u64,
    lines: Vec<String>,
    /// What else is to be said, a sentence each.
    notes: Vec<String>,
    /// The picture, for a file that is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<Picture>,
}

/// A picture as a model is given it.
#[derive(Serialize, Deserialize)]
struct Picture {
    mime_type: String,
    data: String,
}

impl Read {
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

    async fn run(&self, execution: &ToolExecution) -> Result<Reading, ToolError> {
        let arguments: Arguments = arguments(execution)?;
        let folders = Folders::of(execution)?;
        let (config, known) = (Arc::clone(&self.config), Known::of(execution));
        blocking(execution, move |stop| read(&arguments, &folders, &config, &known, stop)).await
    }
}

fn read(
    arguments: &Arguments,
    folders: &Folders,
    config: &FilesConfig,
    known: &Known,
    stop: &CancellationToken,
) -> Result<Reading, ToolError> {
    let place = Place::to_read(folders, &arguments.path)?;
    let want = Want {
        first: arguments.offset.unwrap_or(1),
        lines: arguments.limit.unwrap_or(config.read_lines).min(config.read_lines),
        bytes: config.read_bytes,
        line_chars: config.line_chars,
        counts_all: true,
    };
    let (disk, overlay) = match find(&place)? {
        Found::Folder => return Err(is_folder(&place)),
        Found::Missing => (None, folders.buffers.overlay(&place, None, stop)),
        Found::File(mut opened) => {
            let head = head_of(&mut opened.file).map_err(|error| failed(&place, &error))?;
            if let Some(format) = Format::of(&head) {
                return picture(&place, opened, format, config);
            }
            let encoding = check_text(&mut opened, &place)?;
            let Some(bytes) = opened.bytes(&place, config.max_bytes)? else {
                return window(&place, (opened, encoding), want, config, stop);
            };
            let overlay = folders.buffers.overlay(&place, Some(&bytes), stop);
            (Some(bytes), overlay)
        }
    };
    let bytes = overlay.unsaved.or(disk);
    let bytes = bytes.ok_or_else(|| describe_missing(&place, &folders.session))?;
    known.remember(&place.real, &bytes);
    let text = TextFile::parse(&bytes);
    let mut page = page::scan(Cursor::new(&text.body), &want, stop).map_err(|error| failed(&place, &error))?;
    page.is_lossy |= text.is_lossy;
    let mut reading = reading(&arguments.path, &want, page, text.encoding)?;
    reading.notes.extend(overlay.notes);
    Ok(reading)
}

fn failed(place: &Place, error: &std::io::Error) -> ToolError {
    ToolError::new(format!("failed to read {}: {error}", place.shown))
}

/// The encoding of a file, if it is text.
fn check_text(opened: &mut Opened, place: &Place) -> Result<Encoding, ToolError> {
    let head = head_of(&mut opened.file).map_err(|error| failed(place, &error))?;
    match Unreadable::of(&head) {
        // Whole pictures have been told apart by then.
        Some(Unreadable::Image(format)) => Err(broken(place, format, opened.size)),
        Some(unreadable) => Err(ToolError::new(unreadable.told(&place.shown, opened.size))),
        None => Ok(Encoding::of(&head)),
    }
}

/// A part of a file that is too large to be read whole.
fn window(
    place: &Place,
    (opened, encoding): (Opened, Encoding),
    want: Want,
    config: &FilesConfig,
    stop: &CancellationToken,
) -> Result<Reading, ToolError> {
    let want = Want {
        counts_all: false,
        ..want
    };
    let input = streamed(place, opened, encoding, config).map_err(|error| failed(place, &error))?;
    let page = page::scan(input, &want, stop).map_err(|error| failed(place, &error))?;
    reading(&place.shown, &want, page, encoding)
}

/// A provider refuses a picture that it cannot read, and with it every later request of the conversation.
fn broken(place: &Place, kind: &str, size: u64) -> ToolError {
    ToolError::new(format!(
        "{} begins as a picture ({kind}) but is broken: it ends after {size} bytes, or its size in pixels cannot be told",
        place.shown
    ))
}

/// A picture, whole: a part of one shows nothing.
fn picture(place: &Place, mut opened: Opened, format: Format, config: &FilesConfig) -> Result<Reading, ToolError> {
    let (shown, kind, size) = (&place.shown, format.media_type(), opened.size);
    let Some(bytes) = opened.bytes(place, config.image_bytes)? else {
        return Err(ToolError::new(format!(
            "{shown} is a picture ({kind}) of {size} bytes, more than the {} that are shown (files.image_bytes)",
            config.image_bytes
        )));
    };
    let Some((width, height)) = format.size(&bytes) else {
        return Err(broken(place, kind, size));
    };
    Ok(Reading {
        first: 1,
        lines: Vec::new(),
        notes: vec![format!(
            "{shown} is a picture: {kind}, {width} × {height} pixels, {} bytes",
            bytes.len()
        )],
        picture: Some(Picture {
            mime_type: kind.to_owned(),
            data: BASE64_STANDARD.encode(&bytes),
        }),
    })
}

/// A large file, from its first line.
fn streamed(
    place: &Place,
    mut opened: Opened,
    encoding: Encoding,
    config: &FilesConfig,
) -> std::io::Result<BufReader<std::fs::File>> {
    if matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
        return Err(std::io::Error::other(format!(
            "{} is UTF-16 of {} bytes, and only up to {} are decoded (files.max_bytes)",
            place.shown, opened.size, config.max_bytes
        )));
    }
    let mark = if encoding == Encoding::Utf8Marked { 3 } else { 0 };
    opened.file.seek(std::io::SeekFrom::Start(mark))?;
    Ok(BufReader::with_capacity(64 << 10, opened.file))
}

fn reading(path: &str, want: &Want, page: Page, encoding: Encoding) -> Result<Reading, ToolError> {
    let mut notes = Vec::new();
    match page.total {
        Some(0) => notes.push(format!("{path} is empty")),
        Some(total) if want.first > total => {
            return Err(ToolError::new(format!(
                "offset {} is past the end: {path} has {total} lines",
                want.first
            )));
        }
        _ => notes.extend(page.rest_told(want)),
    }
    if page.cut_lines > 0 {
        notes.push(format!(
            "{} of these lines are longer than {} characters and end in `…` where they were cut",
            page.cut_lines, want.line_chars
        ));
    }
    notes.extend(encoding.name().map(|name| format!("the file is {name}")));
    if page.has_crlf {
        notes.push("lines end in CRLF, which `edit` takes care of".to_owned());
    }
    if page.is_lossy {
        notes.push("some bytes are no valid text in this encoding and are shown as U+FFFD".to_owned());
    }
    if page.lacks_final_newline {
        notes.push("the last line has no line end".to_owned());
    }
    Ok(Reading {
        first: want.first,
        lines: page.lines,
        notes,
        picture: None,
    })
}

fn is_folder(place: &Place) -> ToolError {
    let message = match names_in(&place.real, MAX_NAMES) {
        Err(error) => format!("{} is a folder, and it cannot be listed: {error}", place.shown),
        Ok((names, _)) if names.is_empty() => format!("{} is a folder; it is empty", place.shown),
        Ok((names, more)) => {
            let more = if more { "\n…" } else { "" };
            format!("{} is a folder; it holds:\n{}{more}", place.shown, names.join("\n"))
        }
    };
    ToolError::new(message)
}

impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        let config = &self.config;
        ToolSpec {
            name: "read".into(),
            description: format!(
                "Reads a text file or a picture. Of a text it gives the lines, each with its number and a tab before it, and then notes in \
                 brackets: which part this is, and what is special about the file. At most {} lines and {} bytes at a \
                 time; go on with offset. Lines longer than {} characters are cut. UTF-8 and UTF-16 are decoded; \
                 other binary files are refused. PNG, JPEG, GIF and WebP pictures are shown to you, if you can see. A path outside the session's folder needs the user's approval.",
                config.read_lines, config.read_bytes, config.line_chars,
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "minLength": 1, "description": "The file, relative to the session's folder or absolute." },
                    "offset": { "type": "integer", "minimum": 1, "description": "The line to begin with; default 1." },
                    "limit": { "type": "integer", "minimum": 1, "description": format!("The most lines to give; default {}.", config.read_lines) },
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "first": { "type": "integer", "minimum": 1 },
                "lines": { "type": "array", "items": { "type": "string" } },
                "notes": { "type": "array", "items": { "type": "string" } },
                "picture": { "type": "object", "required": ["mime_type", "data"] },
            },
            "required": ["first", "lines", "notes"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let reading = self.run(&execution).await?;
            serde_json::to_value(reading).map_err(|error| ToolError::new(error.to_string()))
        }
        .boxed()
    }

    /// The numbered lines, if there are any, and the notes in a block of their own.
    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let Ok(Reading {
            first,
            lines,
            notes,
            picture,
        }) = Reading::deserialize(value)
        else {
            return Vec::new();
        };
        let mut text = String::new();
        for (number, line) in (first..).zip(&lines) {
            writeln!(text, "{number:>6}\t{line}").expect("a string takes all text");
        }
        let mut blocks = with_notes(text, &notes);
        blocks.extend(picture.map(|Picture { mime_type, data }| ContentBlock::Image { mime_type, data }));
        blocks
    }

    fn is_concurrency_safe(&self, _arguments: &Value) -> bool {
        true
    }

    fn access(&self, arguments: &Value, lent: &Extensions) -> Access {
        Access::Read(vec![access_to_read(
            arguments["path"].as_str().unwrap_or_default(),
            lent,
        )])
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let Arguments { path, offset, limit } = Arguments::deserialize(arguments).ok()?;
        let first = offset.unwrap_or(1);
        let range = match limit {
            Some(limit) => format!(
                ", lines {first} to {}",
                first.saturating_add(limit as u64).saturating_sub(1)
            ),
            None if first > 1 => format!(", from line {first}"),
            None => String::new(),
        };
        Some(CallView::Generic {
            title: format!("read {path}{range}"),
            kind: ToolKind::Read,
            raw_input: Some(arguments.clone()),
            content: Vec::new(),
            locations: vec![Location {
                path,
                line: offset.and_then(|line| u32::try_from(line).ok()),
            }],
        })
    }

    fn present_result(&self, _arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        let is_picture = result.content.iter().any(|block| block.as_text().is_none());
        if is_picture { None } else { as_it_is(result) }
    }
}

//! The `glob` tool: which files there are.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weft_tools::{
    Access, CallView, Extensions, Location, ResultForView, ResultView, Tool, ToolError, ToolExecution, ToolKind,
};
use weft_types::{ContentBlock, ToolSpec};

use crate::files::{Folders, Found, access_to_read, arguments, as_it_is, blocking, with_notes};
use crate::search::{NamePattern, Names, Search, SearchConfig, root_of};
use crate::setting::InvalidSetting;

/// Finds files by their names.
///
/// Needs the [`WorkingDirectory`](weft_tools::WorkingDirectory) extension of its caller.
#[derive(Debug)]
pub struct Glob {
    config: Arc<SearchConfig>,
}

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
}

/// The canonical value.
#[derive(Serialize, Deserialize)]
struct Listing {
    paths: Vec<String>,
    total: usize,
    notes: Vec<String>,
}

impl Glob {
    /// The tool with these limits.
    ///
    /// # Errors
    /// One of them is out of bounds.
    pub fn new(config: SearchConfig) -> Result<Self, InvalidSetting> {
        config.validate()?;
        Ok(Self {
            config: Arc::new(config),
        })
    }

    async fn run(&self, execution: &ToolExecution) -> Result<Listing, ToolError> {
        let arguments: Arguments = arguments(execution)?;
        let folders = Folders::of(execution)?;
        let config = Arc::clone(&self.config);
        blocking(execution, move |stop| list(&arguments, &folders, &config, stop)).await
    }
}

/// The first paths in order, and how many there were.
#[derive(Default)]
struct First {
    paths: BTreeSet<PathBuf>,
    total: usize,
}

impl First {
    fn take(&mut self, path: &Path, most: usize) {
        self.total += 1;
        if self.paths.len() == most && self.paths.last().is_some_and(|last| last.as_path() < path) {
            return;
        }
        self.paths.insert(path.to_owned());
        if self.paths.len() > most {
            self.paths.pop_last();
        }
    }
}

fn list(
    arguments: &Arguments,
    folders: &Folders,
    config: &SearchConfig,
    stop: &CancellationToken,
) -> Result<Listing, ToolError> {
    let pattern = NamePattern::new(&arguments.pattern)?;
    let (root, found) = root_of(folders, arguments.path.as_deref().unwrap_or("."))?;
    if !matches!(found, Found::Folder) {
        return Err(ToolError::new(format!(
            "{} is a file, and path must name a folder",
            root.shown
        )));
    }
    let first = Mutex::new(First::default());
    let search = Search::new(&root, Some(&pattern), config, stop);
    search.walk(|| {
        |path: &Path| {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            first.take(path, config.results);
        }
    });
    let mut notes = search.end(config)?;
    let First { paths, total } = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut names = Names::from(&folders.session);
    let paths: Vec<String> = paths.iter().map(|path| names.of(path)).collect();
    notes.extend(names.notes());
    match total - paths.len() {
        0 if total == 0 => notes.insert(0, "no file matches".to_owned()),
        0 => {}
        more => notes.insert(0, format!("{more} more are not shown; use a narrower pattern or path")),
    }
    Ok(Listing { paths, total, notes })
}

impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "glob".into(),
            description: format!(
                "Lists files by name, sorted, at most {}. In the pattern `*` and `?` stand for what is within one \
                 name, `**` for any folders, `{{a,b}}` for either, `[ab]` for one of some letters; a pattern without \
                 a slash is about the name at any depth. Ignored files (.gitignore) are left out, and hidden ones \
                 unless the pattern says a name that begins with a dot.",
                self.config.results
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": { "type": "string", "minLength": 1, "description": "Such as `*.rs` or `src/**/*_test.{js,ts}`." },
                    "path": { "type": "string", "minLength": 1, "description": "The folder to look in; default the session's folder." },
                },
                "required": ["pattern"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "paths": { "type": "array", "items": { "type": "string" } },
                "total": { "type": "integer", "minimum": 0 },
                "notes": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["paths", "total", "notes"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let listing = self.run(&execution).await?;
            serde_json::to_value(listing).map_err(|error| ToolError::new(error.to_string()))
        }
        .boxed()
    }

    /// The paths, one a line, if there are any, and the notes in a block of their own.
    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let Ok(Listing { paths, notes, .. }) = Listing::deserialize(value) else {
            return Vec::new();
        };
        let text = paths.iter().map(|path| format!("{path}\n")).collect();
        with_notes(text, &notes)
    }

    fn is_concurrency_safe(&self, _arguments: &Value) -> bool {
        true
    }

    fn access(&self, arguments: &Value, lent: &Extensions) -> Access {
        Access::Read(vec![access_to_read(arguments["path"].as_str().unwrap_or("."), lent)])
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let Arguments { pattern, path } = Arguments::deserialize(arguments).ok()?;
        let place = path.as_ref().map(|path| format!(" in {path}")).unwrap_or_default();
        Some(CallView::Generic {
            title: format!("glob {pattern}{place}"),
            kind: ToolKind::Search,
            raw_input: Some(arguments.clone()),
            content: Vec::new(),
            locations: path.into_iter().map(|path| Location { path, line: None }).collect(),
        })
    }

    fn present_result(&self, _arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        as_it_is(result)
    }
}

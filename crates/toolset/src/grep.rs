//! The `grep` tool: in which files, and on which lines of them, a pattern occurs.

mod collect;
mod file;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weft_tools::{
    Access, CallView, Extensions, Location, ResultForView, ResultView, Tool, ToolError, ToolExecution, ToolKind,
};
use weft_types::{ContentBlock, ToolSpec};

use self::collect::{Collected, Entry};
use self::file::Seeker;
use crate::files::{Folders, access_to_read, arguments, as_it_is, blocking, with_notes};
use crate::search::{NamePattern, Names, Search, SearchConfig, root_of};
use crate::setting::InvalidSetting;

/// The most lines around a match.
const MAX_CONTEXT: usize = 20;

/// Finds lines in files.
///
/// Needs the [`WorkingDirectory`](weft_tools::WorkingDirectory) extension of its caller.
#[derive(Debug)]
pub struct Grep {
    config: Arc<SearchConfig>,
}

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    context: usize,
    #[serde(default)]
    output: Output,
}

/// What is wanted of the matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Output {
    #[default]
    Lines,
    Files,
    Count,
}

/// The canonical value.
#[derive(Serialize, Deserialize)]
struct Matches {
    text: String,
    /// How many lines match.
    lines: u64,
    /// In how many files.
    files: u64,
    notes: Vec<String>,
}

impl Grep {
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

    async fn run(&self, execution: &ToolExecution) -> Result<Matches, ToolError> {
        let arguments: Arguments = arguments(execution)?;
        let folders = Folders::of(execution)?;
        let config = Arc::clone(&self.config);
        blocking(execution, move |stop| grep(&arguments, &folders, &config, stop)).await
    }
}

fn grep(
    arguments: &Arguments,
    folders: &Folders,
    config: &SearchConfig,
    stop: &CancellationToken,
) -> Result<Matches, ToolError> {
    let matcher = matcher(arguments)?;
    let names = arguments.glob.as_deref().map(NamePattern::new).transpose()?;
    let (root, _) = root_of(folders, arguments.path.as_deref().unwrap_or("."))?;
    let search = Search::new(&root, names.as_ref(), config, stop);
    let collected = Mutex::new(Collected::new(config.results));
    let plan = file::Plan {
        matcher,
        context: arguments.context,
        is_first_enough: arguments.output == Output::Files,
        config,
    };
    search.walk(|| {
        let mut seeker = Seeker::new(&plan, &search);
        let collected = &collected;
        move |path: &Path| {
            let collected = || collected.lock().unwrap_or_else(PoisonError::into_inner);
            // What is past now stays so.
            let keeps_lines = arguments.output == Output::Lines && !collected().is_past(path);
            if let Some(entry) = seeker.search(path, keeps_lines) {
                collected().take(path, entry);
            }
        }
    });
    let mut notes = search.end(config)?;
    let collected = collected.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut names = Names::from(&folders.session);
    let text = told(&collected, arguments.output, &mut names);
    notes.extend(names.notes());
    if let Some(rest) = rest_told(&collected, arguments.output) {
        notes.insert(0, rest);
    }
    Ok(Matches {
        text,
        lines: collected.lines,
        files: collected.files,
        notes,
    })
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher, ToolError> {
    if !arguments.literal {
        // The matcher puts the pattern into a group, and would tell places in that.
        regex_syntax::parse(&arguments.pattern)
            .map_err(|error| ToolError::new(format!("the pattern cannot be used: {error}")))?;
    }
    RegexMatcherBuilder::new()
        .case_insensitive(arguments.ignore_case)
        .fixed_strings(arguments.literal)
        // What `^` and `$` mean is about lines.
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .crlf(true)
        .build(&arguments.pattern)
        .map_err(|error| ToolError::new(format!("the pattern cannot be used: {error}")))
}

fn told(collected: &Collected, output: Output, names: &mut Names) -> String {
    let mut text = String::new();
    for (path, entry) in collected.entries() {
        let name = names.of(path);
        let done = match output {
            Output::Files => writeln!(text, "{name}"),
            Output::Count => writeln!(text, "{name}: {}", entry.count),
            Output::Lines => {
                let gap = if text.is_empty() { "" } else { "\n" };
                writeln!(text, "{gap}{name}\n{}", block(entry))
            }
        };
        done.expect("a string takes all text");
    }
    text
}

/// The lines of one file: `12: ` before a match, `12- ` before one around it, `--` where some are left out.
fn block(entry: &Entry) -> String {
    let mut lines = Vec::new();
    let mut last = None;
    for line in &entry.lines {
        if last.is_some_and(|last| last + 1 < line.number) && entry.has_context {
            lines.push("--".to_owned());
        }
        last = Some(line.number);
        let sign = if line.is_match { ':' } else { '-' };
        lines.push(format!("{}{sign} {}", line.number, line.text));
    }
    lines.join("\n")
}

fn rest_told(collected: &Collected, output: Output) -> Option<String> {
    if collected.files == 0 {
        return Some("nothing matches".to_owned());
    }
    let narrower = "use a narrower pattern, glob or path";
    match output {
        Output::Lines => match collected.lines - collected.shown_matches() {
            0 => None,
            more => Some(format!(
                "{more} more matching lines are not shown, of {} in {} files; {narrower}",
                collected.lines, collected.files
            )),
        },
        Output::Files | Output::Count => match collected.files - collected.entries().count() as u64 {
            0 => None,
            more => Some(format!("{more} more files are not shown; {narrower}")),
        },
    }
}

impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "grep".into(),
            description: format!(
                "Searches the lines of text files for a regular expression (syntax of Rust: no look-around, no \
                 back-references). Gives the matching lines with their numbers under the name of their file, sorted; \
                 or, as output says, only the names of the files, or how many lines match in each. At most {} lines \
                 or files; lines are cut at {} characters. Ignored files (.gitignore), binary files and, unless glob \
                 says a name that begins with a dot, hidden files are left out.",
                self.config.results, self.config.line_chars
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": { "type": "string", "minLength": 1, "description": "The regular expression." },
                    "path": { "type": "string", "minLength": 1, "description": "The folder or file to search; default the session's folder." },
                    "glob": { "type": "string", "minLength": 1, "description": "Only files whose names match, as in the glob tool." },
                    "ignore_case": { "type": "boolean", "description": "Take small and capital letters for the same; default false." },
                    "literal": { "type": "boolean", "description": "Take the pattern as plain text; default false." },
                    "context": { "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "description": "Lines to show before and after each match; default 0." },
                    "output": { "enum": ["lines", "files", "count"], "description": "What to give; default lines." },
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
                "text": { "type": "string" },
                "lines": { "type": "integer", "minimum": 0 },
                "files": { "type": "integer", "minimum": 0 },
                "notes": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["text", "lines", "files", "notes"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let matches = self.run(&execution).await?;
            serde_json::to_value(matches).map_err(|error| ToolError::new(error.to_string()))
        }
        .boxed()
    }

    /// The matches, if there are any, and the notes in a block of their own.
    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let Ok(Matches { text, notes, .. }) = Matches::deserialize(value) else {
            return Vec::new();
        };
        with_notes(text, &notes)
    }

    fn is_concurrency_safe(&self, _arguments: &Value) -> bool {
        true
    }

    fn access(&self, arguments: &Value, lent: &Extensions) -> Access {
        Access::Read(vec![access_to_read(arguments["path"].as_str().unwrap_or("."), lent)])
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let Arguments {
            pattern, path, glob, ..
        } = Arguments::deserialize(arguments).ok()?;
        let place = path.as_ref().or(glob.as_ref()).map(|place| format!(" in {place}"));
        Some(CallView::Generic {
            title: format!("grep {pattern}{}", place.unwrap_or_default()),
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

//! What the model calls the tool with.

use serde_json::{Value, json};
use weft_tools::{ErrorCode, ToolError};
use weft_workflow::RunLimits;

/// The arguments of one call, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    /// Absent only if a saved one is meant, or a run is taken up again, which has one.
    pub(crate) script: Option<&'a str>,
    pub(crate) meta: Option<&'a Value>,
    pub(crate) args: Option<&'a Value>,
    /// The name of the saved workflow that is meant.
    pub(crate) saved: Option<&'a str>,
    /// The id of the run that is taken up again.
    pub(crate) resume: Option<&'a str>,
    rerun: Option<&'a Value>,
    pub(crate) limits: RunLimits,
}

impl<'a> Arguments<'a> {
    /// Reads arguments that fit [`schema`].
    pub(crate) fn read(arguments: &'a Value) -> Result<Self, ToolError> {
        let text = |field| arguments.get(field).and_then(Value::as_str);
        let (script, saved, resume) = (text("script"), text("name"), text("resume"));
        let rerun = arguments.get("rerun");
        let refused = |why| Err(ToolError::with_code(ErrorCode::InvalidArgs, why));
        if saved.is_some() && (script.is_some() || arguments.get("meta").is_some()) {
            return refused(
                "`name` stands for the script of a saved workflow and what it says of itself; leave out `script` and `meta`",
            );
        }
        if script.is_none() && saved.is_none() && resume.is_none() {
            return refused(
                "cannot run a workflow without a script: expected `script`, a string, `name`, that of a saved workflow, or `resume`, the id of a run that has one",
            );
        }
        if rerun.is_some() && resume.is_none() {
            return refused("`rerun` says which calls of an earlier run are made again, and goes with `resume`");
        }
        Ok(Self {
            script,
            saved,
            meta: arguments.get("meta"),
            args: arguments.get("args"),
            resume,
            rerun,
            limits: limits(arguments.get("limits"))?,
        })
    }

    /// The labels and phases whose calls are made again.
    pub(crate) fn rerun(&self) -> Vec<String> {
        let names = self.rerun.and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The workflow's name as the arguments have it.
    pub(crate) fn name(&self) -> Option<&'a str> {
        self.saved.or_else(|| self.meta?.get("name")?.as_str())
    }
}

fn limits(given: Option<&Value>) -> Result<RunLimits, ToolError> {
    let Some(given) = given else {
        return Ok(RunLimits::default());
    };
    serde_json::from_value(given.clone())
        .map_err(|error| ToolError::with_code(ErrorCode::InvalidArgs, format!("limits of a workflow: {error}")))
}

/// The JSON Schema of the arguments. Objects are open: what is too much in `meta` is refused by the engine, which
/// lists every violation at once.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "script": {
                "type": "string",
                "description": "JavaScript, the body of an async function: `await` and `return` stand at the top level. \
                    It may begin with `export const meta = {…};`, a plain literal, instead of the `meta` argument. \
                    Required, but with `name`, or with `resume`: left out there, the run's own script is run again."
            },
            "name": {
                "type": "string",
                "minLength": 1,
                "description": "The name of a saved workflow to run, instead of `script` and `meta`."
            },
            "meta": {
                "type": "object",
                "description": "What the workflow is. Leave it out if the script begins with its own.",
                "required": ["name", "description"],
                "properties": {
                    "name": { "type": "string", "description": "A short name in kebab-case; shown to the user." },
                    "description": { "type": "string", "description": "One sentence on what it does." },
                    "whenToUse": { "type": "string", "description": "When it is worth running." },
                    "phases": {
                        "type": "array",
                        "description": "The phases it will go through, for the user's information.",
                        "items": {
                            "type": "object",
                            "required": ["title"],
                            "properties": {
                                "title": { "type": "string" },
                                "detail": { "type": "string" },
                                "provider": { "type": "string" },
                                "model": { "type": "string" }
                            }
                        }
                    }
                }
            },
            "args": {
                "description": "Any JSON value; the script sees it, unchanged, as the global `args`. With `resume` it is \
                    by default what the run had."
            },
            "resume": {
                "type": "string",
                "minLength": 1,
                "description": "The id of an earlier run of this conversation. The script, its own or an edited one, is run \
                    from its start, but calls whose agents had answered, with the same prompt and options, get those \
                    answers again without an agent."
            },
            "rerun": {
                "type": "array",
                "items": { "type": "string" },
                "description": "With `resume`: labels or phases whose agents work again even if they had answered."
            },
            "limits": {
                "type": "object",
                "description": "Lowers what is configured for this run, as when the user names a budget.",
                "additionalProperties": false,
                "properties": {
                    "agents": { "type": "integer", "minimum": 1, "description": "Agents in all." },
                    "concurrency": { "type": "integer", "minimum": 1, "description": "Agents at once." },
                    "seconds": { "type": "integer", "minimum": 1, "description": "Time of the whole run." },
                    "tokens": { "type": "integer", "minimum": 1, "description": "Tokens of all agents, of requests and \
                        answers; then no further one starts." },
                    "costCents": { "type": "integer", "minimum": 1, "description": "US cents of all agents, where \
                        prices are known; then no further one starts." }
                }
            }
        }
    })
}

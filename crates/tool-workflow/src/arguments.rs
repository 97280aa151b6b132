//! What the model calls the tool with.

use serde_json::{Value, json};
use weft_tools::{ErrorCode, ToolError};

/// The arguments of one call, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) script: &'a str,
    pub(crate) meta: Option<&'a Value>,
    pub(crate) args: Option<&'a Value>,
}

impl<'a> Arguments<'a> {
    /// Reads arguments that fit [`schema`].
    pub(crate) fn read(arguments: &'a Value) -> Result<Self, ToolError> {
        let script = arguments.get("script").and_then(Value::as_str);
        let script = script.ok_or_else(|| {
            ToolError::with_code(
                ErrorCode::InvalidArgs,
                "cannot run a workflow without a script, expected a string",
            )
        })?;
        Ok(Self {
            script,
            meta: arguments.get("meta"),
            args: arguments.get("args"),
        })
    }

    /// The workflow's name as the `meta` argument has it.
    pub(crate) fn name(&self) -> Option<&'a str> {
        self.meta?.get("name")?.as_str()
    }
}

/// The JSON Schema of the arguments. Objects are open: what is too much in `meta` is refused by the engine, which
/// lists every violation at once.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["script"],
        "properties": {
            "script": {
                "type": "string",
                "description": "JavaScript, the body of an async function: `await` and `return` stand at the top level. \
                    It may begin with `export const meta = {…};`, a plain literal, instead of the `meta` argument."
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
                "description": "Any JSON value; the script sees it, unchanged, as the global `args`."
            }
        }
    })
}

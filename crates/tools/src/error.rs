//! Why a tool call failed.

use std::fmt;

use serde_json::Value;
use weft_types::ToolErrorRecord;

use crate::InvalidView;

/// The failure of one tool call: what the model is told, and a code if a machine may tell it apart.
///
/// The message is lower-case, names what failed and why, and stands without a prefix: the registry puts
/// `Error: ` before it where the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    message: String,
    code: Option<ErrorCode>,
    meta: Option<Value>,
}

impl ToolError {
    /// A failure of the tool's own, without a code.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: None,
            meta: None,
        }
    }

    /// A failure with a code.
    pub fn with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: Some(code),
            meta: None,
        }
    }

    /// The same failure with what the presenter of its result needs besides the message.
    #[must_use]
    pub fn with_meta(self, meta: Value) -> Self {
        Self {
            meta: Some(meta),
            ..self
        }
    }

    /// The message, without a prefix.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The code, for failures of the registry's own making.
    pub fn code(&self) -> Option<ErrorCode> {
        self.code
    }

    /// What the presenter of its result needs besides the message.
    pub fn meta(&self) -> Option<&Value> {
        self.meta.as_ref()
    }

    /// The failure as a session log holds it.
    pub fn to_record(&self) -> ToolErrorRecord {
        ToolErrorRecord {
            message: self.message.clone(),
            code: self.code.map(|code| code.as_str().to_owned()),
        }
    }
}

impl From<InvalidView> for ToolError {
    fn from(error: InvalidView) -> Self {
        Self::new(error.to_string())
    }
}

/// What kind of failure a [`ToolError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The arguments are no JSON object or do not fit the tool's parameters.
    InvalidArgs,
    /// A schema uses what is not supported.
    UnsupportedSchema,
    /// The value a body returned does not fit the tool's output schema, or no log could hold it.
    InvalidToolOutput,
    /// No tool of that name is visible to the caller.
    UnknownTool,
    /// The call was cancelled after its body had started; the body's success does not count.
    Aborted,
    /// The call was cancelled before its body started; nothing has happened.
    AbortedBeforeDispatch,
    /// The body did not return within the grace after the cancel and was abandoned.
    DidNotStop,
    /// A time limit that the tool declares has passed.
    ToolTimeout,
    /// A program that calls tools failed.
    CodeRunFailed,
    /// A log was repaired: the call had not started when the process died.
    ToolNotStarted,
    /// A log was repaired: the call had started, and nobody knows how it ended.
    ToolOutcomeUnknown,
}

impl ErrorCode {
    /// The code as logs and clients see it, such as `INVALID_ARGS`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgs => "INVALID_ARGS",
            Self::UnsupportedSchema => "UNSUPPORTED_SCHEMA",
            Self::InvalidToolOutput => "INVALID_TOOL_OUTPUT",
            Self::UnknownTool => "UNKNOWN_TOOL",
            Self::Aborted => "ABORTED",
            Self::AbortedBeforeDispatch => "ABORTED_BEFORE_DISPATCH",
            Self::DidNotStop => "DID_NOT_STOP",
            Self::ToolTimeout => "TOOL_TIMEOUT",
            Self::CodeRunFailed => "CODE_RUN_FAILED",
            Self::ToolNotStarted => "TOOL_NOT_STARTED",
            Self::ToolOutcomeUnknown => "TOOL_OUTCOME_UNKNOWN",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

//! The names of the event types.

use super::EventBody;

impl EventBody {
    /// The types that this version knows, in the order of the enum.
    pub const KINDS: [&str; 21] = [
        "turn/start",
        "user/message",
        "session/title",
        "session/mode",
        "session/model",
        "session/rule",
        "session/notice",
        "session/compaction",
        "tool/context",
        "step/start",
        "request/header",
        "model/retry",
        "assistant/message",
        "tool/call",
        "tool/result",
        "step/end",
        "turn/end",
        "tool-workflow/run-start",
        "tool-workflow/agent-start",
        "tool-workflow/agent-end",
        "tool-workflow/run-end",
    ];

    /// The event's type, as its JSON names it.
    pub fn kind(&self) -> &str {
        match self {
            Self::TurnStart { .. } => "turn/start",
            Self::UserMessage { .. } => "user/message",
            Self::SessionTitle { .. } => "session/title",
            Self::SessionMode { .. } => "session/mode",
            Self::SessionModel { .. } => "session/model",
            Self::SessionRule { .. } => "session/rule",
            Self::SessionNotice { .. } => "session/notice",
            Self::SessionCompaction { .. } => "session/compaction",
            Self::ToolContext { .. } => "tool/context",
            Self::StepStart { .. } => "step/start",
            Self::RequestHeader { .. } => "request/header",
            Self::ModelRetry { .. } => "model/retry",
            Self::AssistantMessage { .. } => "assistant/message",
            Self::ToolCall { .. } => "tool/call",
            Self::ToolResult { .. } => "tool/result",
            Self::StepEnd { .. } => "step/end",
            Self::TurnEnd { .. } => "turn/end",
            Self::WorkflowRunStart { .. } => "tool-workflow/run-start",
            Self::WorkflowAgentStart { .. } => "tool-workflow/agent-start",
            Self::WorkflowAgentEnd { .. } => "tool-workflow/agent-end",
            Self::WorkflowRunEnd { .. } => "tool-workflow/run-end",
            Self::Other(other) => other.kind(),
        }
    }
}

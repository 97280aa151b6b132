//! The session log's vocabulary.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    AssistantBlock, CallId, ContentBlock, MemberOutcome, RunId, RunStop, SessionId, StopReason, ToolSpec, Usage,
};

/// Milliseconds since the Unix epoch. Order in a log is by `seq`, never by time: clocks jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub u64);

/// What stands before a session's events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    /// The version of this vocabulary; [`SessionHeader::VERSION`] for logs written today.
    pub version: u32,
    /// The session's id.
    pub id: SessionId,
    /// When it was created.
    pub created_at: UnixMillis,
    /// The absolute folder it works in.
    pub cwd: String,
    /// What made it.
    pub origin: Origin,
    /// The session that started it, for a subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// How many parents stand above it; 0 for a user's session.
    pub depth: u32,
    /// The name its starter gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The workflow run it is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Its member number in that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_seq: Option<u64>,
}

impl SessionHeader {
    /// The vocabulary version written today.
    pub const VERSION: u32 = 2;
}

/// What made a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A client.
    User,
    /// Another agent.
    Subagent,
}

/// One entry of a session log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its index in the log: contiguous from 0.
    pub seq: u64,
    /// When it was appended.
    pub time: UnixMillis,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened. Turn and step numbers are 1-based; steps count within their turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all_fields = "camelCase")]
pub enum EventBody {
    /// A turn began.
    #[serde(rename = "turn/start")]
    TurnStart {
        /// Its number.
        turn: u32,
    },
    /// The message that the turn answers.
    #[serde(rename = "user/message")]
    UserMessage {
        /// The turn.
        turn: u32,
        /// What was said.
        content: Vec<ContentBlock>,
    },
    /// The session has a title from here on.
    #[serde(rename = "session/title")]
    SessionTitle {
        /// The title, one line.
        title: String,
    },
    /// What tools gave the model beside their results, between two steps.
    #[serde(rename = "tool/context")]
    ToolContext {
        /// The turn.
        turn: u32,
        /// What they gave.
        content: Vec<ContentBlock>,
    },
    /// A step (one model request and its tool calls) began.
    #[serde(rename = "step/start")]
    StepStart {
        /// The turn.
        turn: u32,
        /// The step.
        step: u32,
    },
    /// What the model is given beside the messages; written when it is new or has changed.
    #[serde(rename = "request/header")]
    RequestHeader {
        /// Why it was written.
        reason: HeaderReason,
        /// Provider and model, `provider/model`.
        model: String,
        /// The system prompt.
        system: String,
        /// The tools.
        tools: Vec<ToolSpec>,
    },
    /// A model request failed before anything of its answer was shown, and will be sent again.
    #[serde(rename = "model/retry")]
    ModelRetry {
        /// The turn.
        turn: u32,
        /// The step.
        step: u32,
        /// The number of the attempt that failed, from 1.
        attempt: u32,
        /// How long the loop waits first.
        delay_ms: u64,
        /// Why it failed.
        message: String,
    },
    /// The model's answer, or the part of it that arrived.
    #[serde(rename = "assistant/message")]
    AssistantMessage {
        /// The turn.
        turn: u32,
        /// The step.
        step: u32,
        /// The answer. An interrupted one holds no tool calls.
        content: Vec<AssistantBlock>,
        /// Why the model stopped; absent when it was interrupted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<StopReason>,
        /// Tokens, if the provider told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Whether a cancel or an error cut it off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    /// A tool call, before any policy saw it.
    #[serde(rename = "tool/call")]
    ToolCall {
        /// The turn.
        turn: u32,
        /// The step.
        step: u32,
        /// The call.
        call_id: CallId,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The arguments as the model wrote them.
        arguments: String,
        /// Whether the user is asked before it may run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        needs_approval: bool,
    },
    /// The outcome of a tool call: exactly one for each.
    #[serde(rename = "tool/result")]
    ToolResult {
        /// The turn.
        turn: u32,
        /// The step.
        step: u32,
        /// The call.
        call_id: CallId,
        /// What the model gets.
        content: Vec<ContentBlock>,
        /// Set when the call failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolErrorRecord>,
        /// What the result's presenter needs besides the content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meta: Option<serde_json::Value>,
    },
    /// A step ended; every call of it has its result.
    #[serde(rename = "step/end")]
    StepEnd {
        /// The turn.
        turn: u32,
        /// The step.
        step: u32,
    },
    /// A turn ended; no step of it is open.
    #[serde(rename = "turn/end")]
    TurnEnd {
        /// The turn.
        turn: u32,
        /// How.
        reason: TurnEnd,
    },
    /// A top-level workflow run was accepted.
    #[serde(rename = "tool-workflow/run-start")]
    WorkflowRunStart {
        /// The run.
        run_id: RunId,
        /// The workflow's name.
        name: String,
    },
    /// A member of a run started.
    #[serde(rename = "tool-workflow/agent-start")]
    WorkflowAgentStart {
        /// The run.
        run_id: RunId,
        /// The member's number, from 1, in call order.
        seq: u64,
        /// Its label; may be empty.
        label: String,
        /// Its phase. Absent and empty are two different things, and `null` is neither.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        /// Its session.
        child_id: SessionId,
    },
    /// A member of a run ended.
    #[serde(rename = "tool-workflow/agent-end")]
    WorkflowAgentEnd {
        /// The run.
        run_id: RunId,
        /// The member's number.
        seq: u64,
        /// How it ended.
        outcome: MemberOutcome,
    },
    /// A run ended and everything of it is quiet.
    #[serde(rename = "tool-workflow/run-end")]
    WorkflowRunEnd {
        /// The run.
        run_id: RunId,
        /// How it ended.
        stop_reason: RunStop,
    },
}

/// For an optional field that must hold a value where it stands.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Why a request header was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderReason {
    /// The session's first request.
    Initial,
    /// The model, the system prompt or the tools are others than before.
    Changed,
}

/// Why a tool call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolErrorRecord {
    /// The message, without a prefix.
    pub message: String,
    /// A code such as `INVALID_ARGS`, for failures of the registry's own making.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model had no more to say.
    Completed,
    /// It was stopped.
    Aborted {
        /// By whom.
        by: AbortCause,
    },
    /// It could not go on.
    Error {
        /// Why, for the user.
        message: String,
    },
    /// The answer reached a token limit.
    MaxTokens,
    /// The turn reached its limit of model requests.
    MaxSteps,
    /// The provider or the model refused.
    Refusal,
    /// The process died during the turn; written only when the log is repaired.
    Interrupted,
}

/// Who stopped a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortCause {
    /// The user.
    User,
    /// The agent that started this one.
    Parent,
    /// The closing of the session.
    Closed,
}

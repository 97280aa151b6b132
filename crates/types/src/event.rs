//! The session log's vocabulary.

mod kind;
mod other;
mod parse;
mod reason;
mod write;

use serde::{Deserialize, Serialize};

use crate::{
    AssistantBlock, CallId, ContentBlock, MemberOutcome, RunId, RunStop, SessionId, StopReason, ToolSpec, Usage,
    optional,
};

pub use other::{OtherEvent, OtherEventError};
pub use parse::EventParseError;
pub use reason::{AbortCause, CompactionReason, HeaderReason, RuleEffect, ToolErrorRecord, TurnEnd};

/// Milliseconds since the Unix epoch. Order in a log is by `seq`, never by time: clocks jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(transparent)]
pub struct UnixMillis(pub u64);

/// One entry of a session log.
///
/// As JSON it is an object of `seq`, `time`, `type` and `data`. Fields that a reader does not know are passed over, in
/// the event and in its data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Event {
    /// Its index in the log: contiguous from 0. At most 2^53 - 1.
    #[cfg_attr(feature = "bindings", schemars(range(max = Self::MAX_NUMBER)))]
    pub seq: u64,
    /// When it was appended. At most 2^53 - 1.
    #[cfg_attr(feature = "bindings", schemars(range(max = Self::MAX_NUMBER)))]
    pub time: UnixMillis,
    /// What happened.
    #[cfg_attr(feature = "bindings", schemars(flatten), ts(flatten))]
    pub body: EventBody,
}

/// What happened. Turn and step numbers are 1-based; steps count within their turn.
///
/// It is read and written as a part of its [`Event`]. By itself an [`EventBody::Other`] cannot be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "bindings", ts(optional_fields))]
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
    /// What the agent may do without a question, from here on.
    #[serde(rename = "session/mode")]
    SessionMode {
        /// The mode's name: `plan`, `ask`, `accept-edits` or `full`.
        mode: String,
    },
    /// The model to ask from here on.
    #[serde(rename = "session/model")]
    SessionModel {
        /// Provider and model, `provider/model`.
        model: String,
    },
    /// A rule that the user gave in answer to a question; it holds for the rest of the session.
    #[serde(rename = "session/rule")]
    SessionRule {
        /// The rule, as the configuration writes it.
        rule: String,
        /// Whether it allows or denies.
        effect: RuleEffect,
    },
    /// Something that the user should know and no model is told.
    #[serde(rename = "session/notice")]
    SessionNotice {
        /// What, one paragraph.
        message: String,
    },
    /// What was said before was summed up: from here on the model is given the summary in place of all that stands
    /// before event `kept_from`. What it stands for stays in the log.
    #[serde(rename = "session/compaction")]
    SessionCompaction {
        /// The turn in which it happened.
        turn: u32,
        /// Why.
        reason: CompactionReason,
        /// What the model is given in place of the earlier conversation.
        summary: String,
        /// The number of the first event whose message is still given as it is.
        kept_from: u64,
        /// The tokens of the context before, if they are known.
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        tokens_before: Option<u64>,
        /// The tokens that making the summary took, if the provider told.
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// What the model is given between two steps beside what the user said and what calls gave: by tools, behind a
    /// command, or by the places that were looked at.
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
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        stop: Option<StopReason>,
        /// Tokens, if the provider told.
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Whether a cancel or an error cut it off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "bindings", ts(optional, as = "Option<_>"))]
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
        #[cfg_attr(feature = "bindings", ts(optional, as = "Option<_>"))]
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
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        error: Option<ToolErrorRecord>,
        /// What the result's presenter needs besides the content.
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "bindings", ts(type = "unknown", optional))]
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
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
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
    /// An event of a later version that this one may pass over.
    #[serde(skip)]
    Other(OtherEvent),
}

#[cfg(test)]
mod tests;

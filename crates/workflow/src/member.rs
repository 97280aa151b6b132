//! What an engine needs of the world: members, the subagents that a script starts.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_types::{RunId, SessionId};

use crate::Spent;

/// Starts members on behalf of the agent that called the workflow.
pub trait Members: Send + Sync {
    /// Whether a subagent provider of this name exists.
    fn has_provider(&self, name: &str) -> bool;

    /// Starts one member. It resolves once the member is published: its session exists and can be opened.
    ///
    /// Dropping the future before that abandons the start; a member that comes to be all the same is
    /// disposed of by the implementation.
    ///
    /// # Errors
    ///
    /// The provider is unknown or refused, or the member could not be made. Nothing was published.
    fn start(&self, request: MemberRequest) -> BoxFuture<'static, Result<Arc<dyn Member>, MemberError>>;

    /// What all members that were started here have used so far. What a member used is in it when its result is had.
    fn spent(&self) -> Spent;
}

/// What a member is started with.
#[derive(Clone, Debug)]
pub struct MemberRequest {
    /// The run it belongs to.
    pub run: RunId,
    /// Its number in the run, from 1, in call order.
    pub seq: u64,
    /// Its label; may be empty.
    pub label: String,
    /// Its phase. Absent and empty are two different things.
    pub phase: Option<String>,
    /// What it is asked.
    pub prompt: String,
    /// The JSON Schema that its answer has to satisfy; absent for an answer in text.
    pub schema: Option<Value>,
    /// The subagent provider; absent for the default one.
    pub provider: Option<String>,
    /// The model; absent for the parent's.
    pub model: Option<String>,
    /// The only tools it may have, by their names; absent for all that it would have.
    pub tools: Option<Vec<String>>,
    /// Cancels the start and the member when it fires.
    pub cancel: CancellationToken,
}

/// One published member.
pub trait Member: Send + Sync {
    /// The id of its session.
    fn id(&self) -> &SessionId;

    /// Resolves once it has answered or cannot answer any more.
    fn result(&self) -> BoxFuture<'static, Result<MemberResult, MemberError>>;

    /// Stops it if it still runs and resolves once nothing of it is left. Asking again is harmless.
    fn dispose(&self) -> BoxFuture<'static, ()>;
}

/// How a member ended.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberResult {
    /// In which way.
    pub stop: MemberStop,
    /// The text of its answer; may be empty.
    pub text: String,
    /// The value of its answer, if a schema was asked for and one was given.
    pub structured: Option<Value>,
}

/// The ways in which a member ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberStop {
    /// It answered.
    Completed,
    /// It was stopped.
    Aborted,
    /// It failed, with the error's text.
    Error(String),
    /// Its answer reached a token limit.
    MaxTokens,
    /// Its model refused.
    Refusal,
}

/// Why a member could not be started, or its result not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct MemberError {
    message: String,
}

impl MemberError {
    /// An error with its text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl fmt::Display for MemberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

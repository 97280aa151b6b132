//! What policies are asked, and what they may answer.

use std::fmt;
use std::future::pending;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_types::ContentBlock;

use crate::pipeline::Chain;
use crate::{Access, ExecutionToken, ToolError, ToolExecution, ToolResult};

pub(crate) type BeforePolicy = dyn Fn(&ProposedCall<'_>) -> Decision + Send + Sync;
pub(crate) type Guard = dyn Fn(&ToolExecution) -> Result<(), String> + Send + Sync;
pub(crate) type Wrapper = dyn Fn(ToolExecution, Next) -> BoxFuture<'static, Executed> + Send + Sync;
pub(crate) type AfterPolicy = dyn Fn(ToolExecution, Arc<ToolResult>) -> BoxFuture<'static, Verdict> + Send + Sync;

/// A call that a policy decides upon before it runs.
#[derive(Clone, Copy, Debug)]
pub struct ProposedCall<'a> {
    /// The tool's name, as the model wrote it; a tool of that name need not exist.
    pub name: &'a str,
    /// The arguments; text that is not JSON is a string.
    pub arguments: &'a Value,
    /// The tool's own word on what it would do.
    pub access: &'a Access,
    /// Whether the user has allowed this very call already; what then still denies is stricter than that word.
    pub is_approved: bool,
}

/// What a policy decides. Of several policies the strictest decision holds: one denial denies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call may run, as far as this policy is concerned.
    Allow,
    /// It may not.
    Deny {
        /// Why, for the model.
        reason: String,
    },
    /// The user is asked.
    Ask,
}

/// How the execute phase went, as wrappers see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    outcome: Result<Value, ToolError>,
    /// The execution whose body made a value, which is then known to fit.
    checked_by: Option<ExecutionToken>,
}

impl Executed {
    /// An outcome of a wrapper's own. A value is checked against the tool's output schema.
    pub fn new(outcome: Result<Value, ToolError>) -> Self {
        Self {
            outcome,
            checked_by: None,
        }
    }

    pub(crate) fn by_body(outcome: Result<Value, ToolError>, token: ExecutionToken) -> Self {
        Self {
            outcome,
            checked_by: Some(token),
        }
    }

    /// The outcome.
    pub fn outcome(&self) -> &Result<Value, ToolError> {
        &self.outcome
    }

    /// The outcome, owned.
    pub fn into_outcome(self) -> Result<Value, ToolError> {
        self.outcome
    }

    pub(crate) fn is_checked_by(&self, token: ExecutionToken) -> bool {
        self.checked_by == Some(token)
    }
}

/// What a wrapper wraps: the wrappers further in and, innermost, the body. It may run it again, or not
/// at all.
pub struct Next {
    chain: Arc<Chain>,
    depth: usize,
    execution: ToolExecution,
}

impl Next {
    pub(crate) fn new(chain: Arc<Chain>, depth: usize, execution: ToolExecution) -> Self {
        Self {
            chain,
            depth,
            execution,
        }
    }

    /// Runs it. Dropping the future aborts the body.
    pub fn run(&self) -> BoxFuture<'static, Executed> {
        Arc::clone(&self.chain).step(self.depth, self.execution.clone())
    }

    /// Runs it with another signal. The body's signal fires when either that or the caller's does.
    pub fn run_with_signal(&self, signal: CancellationToken) -> BoxFuture<'static, Executed> {
        let merged = self.execution.signal().child_token();
        let inner = Arc::clone(&self.chain).step(self.depth, self.execution.with_signal(merged.clone()));
        Box::pin(async move {
            let relay = async {
                signal.cancelled().await;
                merged.cancel();
                pending().await
            };
            tokio::select! {
                biased;
                never = relay => never,
                executed = inner => executed,
            }
        })
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next")
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// What a policy says of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It stands.
    Accept {
        /// What is put in its place.
        replace: Option<Replacement>,
        /// Further context for the model.
        contexts: Vec<ContentBlock>,
    },
    /// The model is told the feedback instead, as a failure; what the body deferred is dropped.
    Block {
        /// Why, for the model.
        feedback: String,
    },
}

impl Verdict {
    /// It stands as it is.
    pub fn accept() -> Self {
        Self::Accept {
            replace: None,
            contexts: Vec::new(),
        }
    }
}

/// What a policy puts in place of a part of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Replacement {
    /// Other content; the outcome stays.
    Content(Vec<ContentBlock>),
    /// Another value, checked and rendered like a body's. Not for failures.
    Value(Value),
}

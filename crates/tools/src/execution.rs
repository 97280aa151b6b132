//! The handle of one execution, which its body, its policies and its observers hold.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_types::{AgentId, CallId, ContentBlock};

use crate::progress::channel::{BacklogFull, Channel};
use crate::{Extensions, InvalidView, ProgressLimits, ProgressObservation, ProgressView, ToolCallRequest};

/// The opaque identity of one execution, unique within the process.
///
/// It exists only inside the execution, so that a request that names a parent was made by that parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExecutionToken(u64);

impl ExecutionToken {
    fn mint() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// One execution: who calls what with which arguments, the signal that cancels it, and its reporter.
///
/// Clones share everything but the signal, which a wrapper may replace for what it wraps.
#[derive(Clone)]
pub struct ToolExecution {
    shared: Arc<Shared>,
    signal: CancellationToken,
}

pub(crate) struct Shared {
    token: ExecutionToken,
    call_id: CallId,
    root_call_id: CallId,
    name: String,
    arguments: Value,
    agent: Option<AgentId>,
    parent: Option<ExecutionToken>,
    extensions: Extensions,
    limits: ProgressLimits,
    progress: Channel<ProgressObservation>,
    body_started: AtomicBool,
    deferred: Mutex<Deferred>,
}

/// What a body asked for besides its value.
#[derive(Default)]
pub(crate) struct Deferred {
    pub(crate) contexts: Vec<ContentBlock>,
    pub(crate) concludes_turn: bool,
}

impl ToolExecution {
    pub(crate) fn new(
        request: ToolCallRequest,
        arguments: Value,
        limits: ProgressLimits,
        deliver: impl Fn(&ProgressObservation) + Send + Sync + 'static,
    ) -> Self {
        let shared = Shared {
            token: ExecutionToken::mint(),
            root_call_id: request.root_call_id.unwrap_or_else(|| request.call_id.clone()),
            call_id: request.call_id,
            name: request.name,
            arguments,
            agent: request.agent,
            parent: request.parent,
            extensions: request.extensions,
            limits,
            progress: Channel::new(limits.backlog, deliver),
            body_started: AtomicBool::new(false),
            deferred: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            // A child, so that a tool that cancels its own signal stops nobody else.
            signal: request.signal.child_token(),
        }
    }

    /// The model's id of the call.
    pub fn call_id(&self) -> &CallId {
        &self.shared.call_id
    }

    /// The outermost call of a nested chain; the call itself otherwise.
    pub fn root_call_id(&self) -> &CallId {
        &self.shared.root_call_id
    }

    /// The tool's name, as the model wrote it.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The arguments. In a body they fit the tool's parameters; a policy may see others, and text that
    /// is not JSON as a string.
    pub fn arguments(&self) -> &Value {
        &self.shared.arguments
    }

    /// The calling agent, if an agent called.
    pub fn agent(&self) -> Option<AgentId> {
        self.shared.agent
    }

    /// The enclosing execution of a nested call.
    pub fn parent(&self) -> Option<ExecutionToken> {
        self.shared.parent
    }

    /// Whether the call was made by another call, so that it has no card.
    pub fn is_nested(&self) -> bool {
        self.shared.parent.is_some()
    }

    /// The identity of this execution.
    pub fn token(&self) -> ExecutionToken {
        self.shared.token
    }

    /// Fires when the call is cancelled. The body then cleans up and returns; until it does, the
    /// execution is active and may report.
    pub fn signal(&self) -> &CancellationToken {
        &self.signal
    }

    /// What the caller lent, by type.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.shared.extensions.get()
    }

    pub(crate) fn extensions(&self) -> &Extensions {
        &self.shared.extensions
    }

    /// Reports the live state of the call; it replaces that of an earlier report.
    ///
    /// `Ok(true)` means dispatched: every observer is shown this very report, after all earlier ones of
    /// this execution and before the result. `Ok(false)` means too late: the execute phase is over (or
    /// was never entered), and nobody is shown anything. Only while the phase is open is the view
    /// checked, and `Err` is a bug of the caller: return it from the body.
    ///
    /// Observers are called on this thread, or on that of another report of this execution which is
    /// being delivered. It waits only for slow observers with a full backlog.
    pub fn report_progress(&self, view: ProgressView) -> Result<bool, InvalidView> {
        let shared = &self.shared;
        if !shared.progress.is_open() {
            return Ok(false);
        }
        view.check(&shared.limits)?;
        let observation = ProgressObservation {
            agent: shared.agent,
            call_id: shared.call_id.clone(),
            root_call_id: shared.root_call_id.clone(),
            nested: self.is_nested(),
            tool: shared.name.clone(),
            view: Arc::new(view),
        };
        shared
            .progress
            .report(observation)
            .map_err(|BacklogFull| InvalidView::Backlog {
                limit: shared.limits.backlog,
            })
    }

    /// Gives the model further context, to stand after the result. Without effect once the execute
    /// phase is over; dropped if a policy blocks the result.
    pub fn defer_context(&self, content: ContentBlock) {
        self.deferred().contexts.push(content);
    }

    /// Asks that the turn ends after this result, if it is a success. Without effect once the execute
    /// phase is over.
    pub fn conclude_turn(&self) {
        self.deferred().concludes_turn = true;
    }

    /// A request for a call made by this one: with its agent, its signal, its extensions, and ids that
    /// agree with it.
    pub fn nested(
        &self,
        call_id: CallId,
        name: impl Into<String>,
        raw_arguments: impl Into<String>,
    ) -> ToolCallRequest {
        ToolCallRequest {
            call_id,
            root_call_id: Some(self.root_call_id().clone()),
            name: name.into(),
            raw_arguments: raw_arguments.into(),
            agent: self.agent(),
            parent: Some(self.token()),
            signal: self.signal.clone(),
            extensions: self.shared.extensions.clone(),
        }
    }

    pub(crate) fn with_signal(&self, signal: CancellationToken) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            signal,
        }
    }

    /// Opens the reporter until the returned guard is dropped.
    pub(crate) fn open_reporter(&self) -> OpenReporter {
        self.shared.progress.open();
        OpenReporter {
            shared: Arc::clone(&self.shared),
        }
    }

    pub(crate) fn body_started(&self) -> bool {
        self.shared.body_started.load(Ordering::Acquire)
    }

    pub(crate) fn set_body_started(&self) {
        self.shared.body_started.store(true, Ordering::Release);
    }

    pub(crate) fn take_deferred(&self) -> Deferred {
        std::mem::take(&mut *self.deferred())
    }

    fn deferred(&self) -> std::sync::MutexGuard<'_, Deferred> {
        // Nothing panics under the lock.
        self.shared.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ToolExecution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolExecution")
            .field("call_id", &self.shared.call_id)
            .field("name", &self.shared.name)
            .field("token", &self.shared.token)
            .finish_non_exhaustive()
    }
}

/// Closes the reporter when dropped, however the execute phase ends: by return, panic or abort.
///
/// The drop returns when no delivery runs any more.
pub(crate) struct OpenReporter {
    shared: Arc<Shared>,
}

impl Drop for OpenReporter {
    fn drop(&mut self) {
        self.shared.progress.close();
    }
}

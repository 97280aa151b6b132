//! The calls of one model step: which of them overlap, and in which order their results count.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::future::{BoxFuture, ready};
use futures::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;
use weft_types::CallId;

use crate::pipeline::{Opened, Settled};
use crate::{InvalidLimit, ToolCallRequest, ToolRegistry, ToolResult};

/// What a journal may fail with.
pub type JournalError = Box<dyn std::error::Error + Send + Sync>;

/// Writes down what happens to calls, so that nothing that happened can be lost.
pub trait CallJournal: Send + Sync {
    /// A call is about to be taken up: in model order, before any policy sees it.
    fn called(&self, call: &ToolCallRequest) -> Result<(), JournalError>;

    /// A call has its final result: in model order, once for each that was called.
    fn finished(&self, call: &ToolCallRequest, result: &ToolResult) -> Result<(), JournalError>;

    /// Returns when all that was written is durable enough for the body of this call to start. A failure
    /// fails the call, and the body does not start. Dropped when the call is cancelled meanwhile.
    fn before_body<'a>(&'a self, _call: &'a ToolCallRequest) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(ready(Ok(())))
    }
}

/// The bounds of [`run_calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    max_parallel: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { max_parallel: 10 }
    }
}

impl CallLimits {
    /// Sets how many bodies may run at once, 1 to 256; 10 by default.
    pub fn max_parallel(self, max_parallel: usize) -> Result<Self, InvalidLimit> {
        let max_parallel = InvalidLimit::check("max_parallel_tool_calls", max_parallel, &(1..=256))?;
        Ok(Self { max_parallel })
    }
}

/// The journal broke; no results were invented for what it does not hold.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// A call could not be written down and was not taken up, nor was any after it.
    #[error("failed to record the call {call_id}: {source}")]
    Called {
        /// The call.
        call_id: CallId,
        /// Why.
        source: JournalError,
    },
    /// A result could not be written down.
    #[error("failed to record the result of the call {call_id}: {source}")]
    Finished {
        /// The call.
        call_id: CallId,
        /// Why.
        source: JournalError,
    },
}

/// Executes the calls of one step and returns their results, in the order of the calls.
///
/// A run of calls that may overlap forms a pool; any other call waits for all before it and holds up all
/// after it. Policies before and after the bodies, and the journal, see calls in their order, whichever
/// body is done first.
///
/// When `signal` fires, what has started is waited for, and each of the rest is written down and ends as
/// cancelled before it started: every call has its result. The signals of the calls should fire with it;
/// it only stops the starting. Dropping the future aborts all bodies.
pub async fn run_calls(
    registry: &ToolRegistry,
    calls: Vec<ToolCallRequest>,
    limits: CallLimits,
    journal: &dyn CallJournal,
    signal: &CancellationToken,
) -> Result<Vec<ToolResult>, ScheduleError> {
    let walk = Walk {
        registry,
        journal,
        signal,
        limits,
        calls: &calls,
        started: 0,
        running: FuturesUnordered::new(),
        is_exclusive: false,
        settled: BTreeMap::new(),
        results: Vec::new(),
        broken: None,
    };
    walk.run().await
}

/// A walk over the calls of one step. `results.len() <= started`; the calls between are running or settled.
struct Walk<'a> {
    registry: &'a ToolRegistry,
    journal: &'a dyn CallJournal,
    signal: &'a CancellationToken,
    limits: CallLimits,
    calls: &'a [ToolCallRequest],
    /// How many calls have started.
    started: usize,
    running: FuturesUnordered<BoxFuture<'a, (usize, Settled)>>,
    /// Whether the call that started last tolerates no other beside it.
    is_exclusive: bool,
    /// Calls whose bodies are done and whose turn has not come, by index.
    settled: BTreeMap<usize, Settled>,
    /// The results of the first calls, written down.
    results: Vec<ToolResult>,
    broken: Option<ScheduleError>,
}

impl<'a> Walk<'a> {
    async fn run(mut self) -> Result<Vec<ToolResult>, ScheduleError> {
        loop {
            self.start_what_may();
            if let Some(settled) = self.settled.remove(&self.results.len()) {
                self.commit(settled).await;
            } else if let Some((index, settled)) = self.running.next().await {
                self.settled.insert(index, settled);
            } else {
                break;
            }
        }
        match self.broken {
            Some(error) => Err(error),
            None => Ok(self.results),
        }
    }

    fn start_what_may(&mut self) {
        while self.broken.is_none() && self.started < self.calls.len() {
            let call = &self.calls[self.started];
            let is_quiet = self.results.len() == self.started;
            let has_room = !self.is_exclusive && self.running.len() < self.limits.max_parallel;
            if !is_quiet && (!has_room || self.signal.is_cancelled()) {
                return;
            }
            // Asked only now: what the tool says may depend on what has run before.
            let is_safe = self.registry.is_concurrency_safe(&call.name, &call.raw_arguments);
            if !is_quiet && !is_safe {
                return;
            }
            self.is_exclusive = !is_safe;
            self.start();
        }
    }

    fn start(&mut self) {
        let (index, call, journal) = (self.started, &self.calls[self.started], self.journal);
        if let Err(source) = journal.called(call) {
            let call_id = call.call_id.clone();
            self.broken = Some(ScheduleError::Called { call_id, source });
            return;
        }
        let mut request = call.clone();
        if self.signal.is_cancelled() {
            request.signal = self.signal.clone();
        }
        let opened = Opened::new(&self.registry.layer, request);
        let checkpoint = journal.before_body(call);
        let run = async move { (index, opened.run(Some(checkpoint)).await) };
        self.running.push(Box::pin(run));
        self.started += 1;
    }

    /// Takes the first call without a result through its last phases, while others go on.
    async fn commit(&mut self, settled: Settled) {
        let finish = settled.finish();
        tokio::pin!(finish);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut finish => break result,
                Some((index, settled)) = self.running.next() => {
                    self.settled.insert(index, settled);
                    self.start_what_may();
                }
            }
        };
        let call = &self.calls[self.results.len()];
        // Once a result is missing from the journal, a later one would stand out of order.
        if !matches!(self.broken, Some(ScheduleError::Finished { .. }))
            && let Err(source) = self.journal.finished(call, &result)
        {
            let call_id = call.call_id.clone();
            self.broken = Some(ScheduleError::Finished { call_id, source });
        }
        self.results.push(result);
    }
}

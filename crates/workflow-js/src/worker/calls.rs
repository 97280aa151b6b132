//! Calls of `agent()` on their way to the host and back.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use rquickjs::{Ctx, Function, Result, String as JsString, Value};

use super::output::Output;
use super::prelude::Prelude;
use crate::protocol::{Call, FromWorker, Reply};

/// A call that was accepted.
pub(super) struct Accepted<'js> {
    /// All but the prompt, which stays in the script's heap as long as the call waits.
    pub(super) call: Call,
    pub(super) prompt: JsString<'js>,
    pub(super) promise: Deferred<'js>,
}

/// A promise that the script has.
pub(super) struct Deferred<'js> {
    pub(super) resolve: Function<'js>,
    pub(super) reject: Function<'js>,
    /// How error messages call the call.
    pub(super) name: String,
}

/// All calls of a script that have no outcome yet.
pub(super) struct Calls<'js> {
    max_in_flight: usize,
    accepted: u64,
    waiting: VecDeque<Accepted<'js>>,
    in_flight: HashMap<u64, Deferred<'js>>,
}

/// An error that a script sees.
pub(super) struct Failure {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(super) fn cancelled() -> Self {
        Self::new("CANCELLED", "the workflow run was cancelled")
    }
}

impl<'js> Deferred<'js> {
    pub(super) fn reject(&self, prelude: &Prelude<'js>, failure: &Failure) -> Result<()> {
        let error = prelude.error(failure.code, &failure.message)?;
        self.reject.call((error,))
    }
}

impl<'js> Calls<'js> {
    pub(super) fn new(max_in_flight: usize) -> Self {
        Self {
            max_in_flight,
            accepted: 0,
            waiting: VecDeque::new(),
            in_flight: HashMap::new(),
        }
    }

    /// How many were accepted so far.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Counts a call and gives it its number.
    pub(super) fn number(&mut self) -> u64 {
        self.accepted += 1;
        self.accepted
    }

    pub(super) fn push(&mut self, call: Accepted<'js>) {
        self.waiting.push_back(call);
    }

    /// Whether an outcome is still to come.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.in_flight.is_empty()
    }

    /// The labels of calls that the host does not know of.
    pub(super) fn unsent(&self) -> impl ExactSizeIterator<Item = &str> {
        self.waiting.iter().map(|accepted| accepted.call.label.as_str())
    }

    /// The next call to hand over, if the host has room for it.
    pub(super) fn next(&mut self) -> Option<Accepted<'js>> {
        if self.in_flight.len() < self.max_in_flight {
            self.waiting.pop_front()
        } else {
            None
        }
    }

    pub(super) fn sent(&mut self, seq: u64, promise: Deferred<'js>) {
        self.in_flight.insert(seq, promise);
    }

    /// Takes the promise that a reply is for.
    pub(super) fn answered(&mut self, seq: u64) -> Option<Deferred<'js>> {
        self.in_flight.remove(&seq)
    }

    /// Takes all promises.
    pub(super) fn abandon(&mut self) -> Vec<Deferred<'js>> {
        let waiting = self.waiting.drain(..).map(|accepted| accepted.promise);
        let in_flight = self.in_flight.drain().map(|(_, promise)| promise);
        in_flight.chain(waiting).collect()
    }
}

impl<'js> Accepted<'js> {
    /// Sends the call. Gives the promise back if that worked; if it did not, the promise has been rejected.
    pub(super) fn send(self, prelude: &Prelude<'js>, output: &RefCell<Output>) -> Result<Option<(u64, Deferred<'js>)>> {
        let Self {
            mut call,
            prompt,
            promise,
        } = self;
        let seq = call.seq;
        call.prompt = prelude.text(&prompt)?.value;
        let sent = output.borrow_mut().send(&FromWorker::Call(call));
        match sent {
            Ok(()) => Ok(Some((seq, promise))),
            Err(error) => {
                let message = format!("{} is too large to be sent: {error}", promise.name);
                promise.reject(prelude, &Failure::new("INVALID_ARGUMENT", message))?;
                Ok(None)
            }
        }
    }
}

/// Settles a promise with what the host replied.
pub(super) fn settle<'js>(ctx: &Ctx<'js>, prelude: &Prelude<'js>, promise: &Deferred<'js>, reply: Reply) -> Result<()> {
    let value = match reply {
        Reply::Text(text) => JsString::from_str(ctx.clone(), &text)?.into_value(),
        Reply::Value(json) => ctx.json_parse(json.get())?,
        Reply::Nothing => Value::new_null(ctx.clone()),
        Reply::StartFailed(why) => {
            let message = format!("{} could not be started: {why}", promise.name);
            return promise.reject(prelude, &Failure::new("AGENT_START", message));
        }
        Reply::Exhausted(why) => {
            let message = format!("{} was not started: {why}", promise.name);
            return promise.reject(prelude, &Failure::new("BUDGET", message));
        }
        Reply::ResultFailed(why) => {
            let message = format!("the result of {} could not be had: {why}", promise.name);
            return promise.reject(prelude, &Failure::new("AGENT_RESULT", message));
        }
    };
    promise.resolve.call((value,))
}

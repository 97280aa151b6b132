//! One script at work.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Error, Function, Promise, Result, Value};

use super::calls::{Calls, Failure, settle};
use super::control::Control;
use super::notes::Notes;
use super::output::Output;
use super::prelude::Prelude;
use super::render::{Source, describe_briefly, place_of, place_thrown};
use super::saved::SavedScripts;
use crate::protocol::{Load, Reply, Setup, ToWorker};
use crate::script::{HEAD, Position};

/// What the hooks and the loop share. No borrow of a cell may last while script runs, since script calls hooks.
pub(super) struct Session<'js> {
    pub(super) ctx: Ctx<'js>,
    pub(super) setup: Setup,
    pub(super) max_total_agents: u64,
    /// How many tokens the run's members may use.
    pub(super) max_tokens: Option<u64>,
    /// How many they had used at the last reply.
    pub(super) spent: Cell<u64>,
    pub(super) control: Arc<Control>,
    pub(super) script: Load,
    pub(super) prelude: OnceCell<Prelude<'js>>,
    pub(super) output: Rc<RefCell<Output>>,
    pub(super) calls: RefCell<Calls<'js>>,
    pub(super) saved: RefCell<SavedScripts<'js>>,
    /// The line of the latest call of `agent()`.
    pub(super) last_call: Cell<Option<usize>>,
    pub(super) notes: RefCell<Notes>,
}

/// Why the loop ended.
#[derive(Debug)]
pub(super) enum Ending<'js> {
    /// The script's function returned.
    Returned(Value<'js>),
    /// It threw.
    Threw(Value<'js>),
    /// It waits for something that cannot come.
    Stalled,
    /// It used up a slice, at this place if that can be told.
    Stopped(Option<Position>),
    /// It was cancelled.
    Cancelled,
    /// The engine failed outside of script.
    Broken(Error),
}

impl<'js> Session<'js> {
    pub(super) fn set_prelude(&self, prelude: Prelude<'js>) {
        // It is installed once.
        drop(self.prelude.set(prelude));
    }

    pub(super) fn prelude(&self) -> &Prelude<'js> {
        self.prelude.get().expect("installed before any script runs")
    }

    pub(super) fn source(&self) -> Source<'_> {
        Source {
            file: &self.script.file,
            body: &self.script.body,
            head: HEAD,
        }
    }

    /// How much CPU time a slice of script has.
    pub(super) fn slice(&self) -> Duration {
        Duration::from_millis(self.setup.max_slice_ms)
    }

    pub(super) fn check_cancelled(&self) -> std::result::Result<(), Failure> {
        if self.control.is_cancelled() {
            Err(Failure::cancelled())
        } else {
            Ok(())
        }
    }

    pub(super) fn throw_if_cancelled(&self) -> Result<()> {
        self.check_cancelled().map_err(|failure| self.throw(&failure))
    }

    /// Makes a failure the pending exception.
    pub(super) fn throw(&self, failure: &Failure) -> Error {
        match self.prelude().error(failure.code, &failure.message) {
            Ok(error) => self.ctx.throw(error),
            Err(error) => error,
        }
    }

    /// The line of the call of `agent()` that the script is making, which is remembered.
    pub(super) fn line_of_call(&self) -> Option<usize> {
        let stack = self.prelude().call_site()?;
        let line = place_of(&stack, self.source())?.line;
        self.last_call.set(Some(line));
        Some(line)
    }

    /// An item of a combinator threw.
    pub(super) fn swallowed(&self, hook: &str, index: usize, error: &Value<'js>) {
        let wanted = self.notes.borrow().wants_description();
        let description = wanted.then(|| {
            let text = describe_briefly(error, self.source(), self.prelude(), &self.control);
            format!("{hook}() item {index}: {text}")
        });
        self.notes.borrow_mut().swallowed(description);
    }

    /// Hands calls over as far as the host has room.
    pub(super) fn send_calls(&self) -> Result<()> {
        loop {
            let next = self.calls.borrow_mut().next();
            let Some(accepted) = next else { return Ok(()) };
            let sent = accepted.send(self.prelude(), &self.output)?;
            if let Some((seq, promise)) = sent {
                self.calls.borrow_mut().sent(seq, promise);
            }
        }
    }

    /// Runs the script's function until it ends one way or another.
    pub(super) fn play(&self, body: &Function<'js>, inbox: &Receiver<ToWorker>) -> (Ending<'js>, Option<Promise<'js>>) {
        self.control.begin(self.slice());
        let (ending, main) = match body.call::<_, Promise<'js>>(()) {
            Ok(main) => (
                self.drive(&main, inbox).unwrap_or_else(|error| self.broken(error)),
                Some(main),
            ),
            Err(error) => (self.broken(error), None),
        };
        self.control.end();
        (ending, main)
    }

    fn drive(&self, main: &Promise<'js>, inbox: &Receiver<ToWorker>) -> Result<Ending<'js>> {
        loop {
            self.run_jobs();
            if self.control.was_stopped() {
                // The engine does not tell what a job was at.
                return Ok(self.stopped(None));
            }
            self.output.borrow_mut().flush();
            if main.state() != PromiseState::Pending {
                return Ok(self.settled(main));
            }
            if !self.calls.borrow().is_waiting() && !self.saved.borrow().is_waiting() {
                return Ok(if self.control.is_cancelled() {
                    Ending::Cancelled
                } else {
                    Ending::Stalled
                });
            }
            self.control.end();
            // The sender lives as long as the process.
            let Ok(message) = inbox.recv() else {
                return Ok(Ending::Cancelled);
            };
            self.control.begin(self.slice());
            self.handle(message)?;
        }
    }

    /// Runs what the script has pending until there is nothing more or its time is over.
    fn run_jobs(&self) {
        // The interpreter looks at the clock as well, but there are jobs that run nothing it interprets.
        const LOOK_EVERY: u32 = 64;
        let mut jobs = 0u32;
        while !self.control.was_stopped() && self.ctx.execute_pending_job() {
            jobs = jobs.wrapping_add(1);
            if jobs.is_multiple_of(LOOK_EVERY) {
                self.control.must_stop();
            }
        }
    }

    fn handle(&self, message: ToWorker) -> Result<()> {
        match message {
            ToWorker::Reply { seq, reply, spent } => {
                self.spent.set(spent);
                self.handle_reply(seq, reply)
            }
            ToWorker::Saved(saved) => self.got_saved(saved),
            ToWorker::Cancel => {
                let mut promises = self.calls.borrow_mut().abandon();
                promises.extend(self.saved.borrow_mut().abandon());
                promises
                    .iter()
                    .try_for_each(|promise| promise.reject(self.prelude(), &Failure::cancelled()))
            }
            // Nothing that a parent sends to a script at work.
            ToWorker::Setup(_) | ToWorker::Load(_) | ToWorker::Go(_) => Ok(()),
        }
    }

    fn handle_reply(&self, seq: u64, reply: Reply) -> Result<()> {
        let promise = self.calls.borrow_mut().answered(seq);
        let Some(promise) = promise else { return Ok(()) };
        settle(&self.ctx, self.prelude(), &promise, reply)?;
        self.send_calls()
    }

    fn settled(&self, main: &Promise<'js>) -> Ending<'js> {
        match main.result::<Value<'js>>() {
            _ if self.control.is_cancelled() => Ending::Cancelled,
            Some(Ok(value)) => Ending::Returned(value),
            Some(Err(Error::Exception)) => Ending::Threw(self.ctx.catch()),
            Some(Err(error)) => Ending::Broken(error),
            None => Ending::Stalled,
        }
    }

    fn broken(&self, error: Error) -> Ending<'js> {
        if self.control.was_stopped() {
            let place = matches!(error, Error::Exception).then(|| self.ctx.catch());
            return self.stopped(place.and_then(|thrown| place_thrown(&thrown, self.source(), self.prelude())));
        }
        match error {
            Error::Exception => Ending::Threw(self.ctx.catch()),
            other => Ending::Broken(other),
        }
    }

    fn stopped(&self, place: Option<Position>) -> Ending<'js> {
        if self.control.is_cancelled() {
            Ending::Cancelled
        } else {
            Ending::Stopped(place)
        }
    }
}

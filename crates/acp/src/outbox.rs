//! The one ordered queue of everything that leaves on a connection.
//!
//! Updates of sessions, responses and requests go through one [`Outbox`]; what is enqueued first leaves
//! first, from whatever thread. That is what every ordering rule of the bridge rests on: a producer enqueues
//! its update before the next phase can begin, so the update stands before whatever that phase sends.
//!
//! # Bounds
//!
//! Up to the byte bound nothing is merged. Above it a call has one update in progress, the newest, beyond those
//! that were below, and text joins the queued text of the same message. Everything else
//! (responses, requests, final cards, text as such) is never dropped. Beyond [`OutboxBytes::ceiling`] the
//! connection takes up no further request, see [`Outbox::below_ceiling`].
//!
//! # The writer
//!
//! A thread writes: one write a batch, see [`writer`]. It ends after [`Outbox::close`] once everything is
//! written, or when a write fails; then the outbox is broken and takes nothing more.

mod queue;
mod writer;

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use weft_types::CallId;

pub(crate) use queue::TextRun;
pub(crate) use writer::BATCH_BYTES;

use crate::settings::OutboxBytes;
use queue::Queue;

/// Closes an outbox when it is dropped, so that its thread ends on every path.
#[derive(Debug)]
pub(crate) struct CloseOnDrop(Outbox);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The sending end; clones share one queue.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the writer.
    wake: Condvar,
    /// Wakes who waits for room; notified after each batch.
    written: Notify,
    /// Fires when a write failed or the client was given up.
    broken: CancellationToken,
    /// Fires when the writer has ended.
    ended: CancellationToken,
    bound: usize,
    ceiling: usize,
}

#[derive(Debug)]
struct State {
    queue: Queue,
    /// Whether something waits that should not wait for a batch to fill.
    urgent: bool,
    /// Whether the queue takes anything more.
    open: bool,
    writer: WriterState,
}

/// What the writer does, so that a producer wakes it only if that is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterState {
    /// Writing, or about to look for work.
    Busy,
    /// Waiting for anything at all.
    Idle,
    /// Waiting a moment for a batch to fill.
    Gathering,
}

impl Outbox {
    /// Starts the writer thread.
    pub(crate) fn start(output: impl Write + Send + 'static, bound: OutboxBytes) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                queue: Queue::new(bound.get()),
                urgent: false,
                open: true,
                writer: WriterState::Busy,
            }),
            wake: Condvar::new(),
            written: Notify::new(),
            broken: CancellationToken::new(),
            ended: CancellationToken::new(),
            bound: bound.get(),
            ceiling: bound.ceiling(),
        });
        writer::spawn(Arc::clone(&shared), output)?;
        Ok(Self { shared })
    }

    /// Enqueues updates that are never merged: whole lines, their newlines included.
    pub(crate) fn update(&self, lines: &[u8]) {
        self.enqueue(false, |queue| queue.push_lines(lines));
    }

    /// Enqueues an update in progress, which a later one of the same call may replace.
    pub(crate) fn progress(&self, session: &Arc<str>, call: &CallId, line: &[u8]) {
        self.enqueue(false, |queue| queue.push_progress(session, call, line));
    }

    /// Enqueues a piece of a message: as `line`, which says the same as `text`, or joined to what waits.
    pub(crate) fn text(&self, run: &TextRun, text: &str, line: &[u8]) {
        self.enqueue(false, |queue| queue.push_text(run, text, line));
    }

    /// Enqueues a response, with what stands behind it, or a request: whole lines, their newlines included. They leave
    /// without delay.
    pub(crate) fn message(&self, lines: &[u8]) {
        self.enqueue(true, |queue| queue.push_lines(lines));
    }

    fn enqueue(&self, urgent: bool, push: impl FnOnce(&mut Queue)) {
        let mut state = self.shared.lock();
        if !state.open {
            return;
        }
        push(&mut state.queue);
        state.urgent |= urgent;
        let wake = match state.writer {
            WriterState::Busy => false,
            WriterState::Idle => true,
            WriterState::Gathering => urgent || state.queue.bytes() >= writer::BATCH_BYTES,
        };
        if wake {
            state.writer = WriterState::Busy;
            drop(state);
            self.shared.wake.notify_one();
        }
    }

    /// Waits until the queue holds less than its ceiling, or is broken.
    pub(crate) async fn below_ceiling(&self) {
        self.below(self.shared.ceiling).await;
    }

    /// Whether the queue holds less than its bound, or is broken: there is room for what could as well come later.
    pub(crate) fn has_room(&self) -> bool {
        self.shared.is_below(self.shared.bound)
    }

    /// Waits until the queue [has room](Self::has_room).
    pub(crate) async fn room(&self) {
        self.below(self.shared.bound).await;
    }

    async fn below(&self, bytes: usize) {
        loop {
            let written = self.shared.written.notified();
            if self.shared.is_below(bytes) {
                return;
            }
            written.await;
        }
    }

    /// Counts the client as gone: drops what waits and takes nothing more.
    pub(crate) fn give_up(&self) {
        self.shared.give_up();
    }

    /// Waits until a write has failed or the client was given up.
    pub(crate) async fn broken(&self) {
        self.shared.broken.cancelled().await;
    }

    /// Whether a write has failed or the client was given up.
    pub(crate) fn is_broken(&self) -> bool {
        self.shared.broken.is_cancelled()
    }

    /// Takes nothing more; the writer ends when everything queued is written.
    pub(crate) fn close(&self) {
        self.shared.lock().open = false;
        self.shared.wake.notify_one();
    }

    /// Closes it when the guard is dropped.
    pub(crate) fn close_on_drop(&self) -> CloseOnDrop {
        CloseOnDrop(self.clone())
    }

    /// Waits until the writer has ended.
    pub(crate) async fn ended(&self) {
        self.shared.ended.cancelled().await;
    }

    /// The bytes that wait, those in the writer's hands not counted.
    #[cfg(test)]
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.shared.lock().queue.bytes()
    }
}

impl Shared {
    fn give_up(&self) {
        let mut state = self.lock();
        state.open = false;
        state.queue.clear();
        drop(state);
        self.broken.cancel();
        self.wake.notify_one();
        self.written.notify_waiters();
    }

    fn is_below(&self, bytes: usize) -> bool {
        let state = self.lock();
        state.queue.bytes() < bytes || !state.open
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No step of a push leaves the queue unsound, so that a poisoned lock still guards a sound one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

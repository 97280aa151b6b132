//! The way of progress reports from a body to observers, and the boundary at which it ends.
//!
//! A [`Channel`] opens once and closes once. What it accepts between the two is delivered in the order
//! of acceptance, one item at a time: by the reporter itself if nobody is delivering, else by whoever is,
//! so that a reporter may hold locks that an observer takes, and an observer may report again. When
//! [`Channel::close`] returns, all that was accepted has been delivered and nothing more ever will be.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::PoisonError;

use crate::sync::{Condvar, Mutex, MutexGuard, ThreadId, current};

/// Delivers items of one execution in order, while it is open.
pub(crate) struct Channel<T> {
    state: Mutex<State<T>>,
    /// Somebody stopped delivering, or the channel closed.
    changed: Condvar,
    /// Must not panic; it is called without a lock held.
    deliver: Box<dyn Fn(&T) + Send + Sync>,
    /// How many items may wait, and how many one thread delivers before it hands over to one that waits.
    backlog: usize,
}

struct State<T> {
    phase: Phase,
    /// Accepted and not yet delivered. Whoever leaves items here while nobody delivers has seen to it
    /// that a waiting reporter or the closer goes on with them.
    queue: VecDeque<T>,
    /// The thread that delivers.
    delivering: Option<ThreadId>,
    /// How many items that thread has delivered in a row.
    delivered: usize,
    /// How many reporters wait.
    waiting: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Unopened,
    Open,
    Closed,
}

/// An observer reported from within while the queue was full. It cannot wait for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BacklogFull;

impl<T> Channel<T> {
    /// A channel that is not open yet.
    pub(crate) fn new(backlog: usize, deliver: impl Fn(&T) + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::new(State {
                phase: Phase::Unopened,
                queue: VecDeque::new(),
                delivering: None,
                delivered: 0,
                waiting: 0,
            }),
            changed: Condvar::new(),
            deliver: Box::new(deliver),
            backlog,
        }
    }

    /// Opens a channel that was never open; a closed one stays closed.
    pub(crate) fn open(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Unopened {
            state.phase = Phase::Open;
        }
    }

    /// Whether a report has a chance. It may be false a moment later, never true again.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().phase == Phase::Open
    }

    /// Accepts an item, if the channel is open, and sees to its delivery.
    ///
    /// Waits only while `backlog` items of others are undelivered, or to take over from a thread that
    /// has delivered that many.
    pub(crate) fn report(&self, item: T) -> Result<bool, BacklogFull> {
        let me = current().id();
        let mut state = self.lock();
        let from_within = state.delivering == Some(me);
        while state.phase == Phase::Open && !from_within && state.is_busy(self.backlog) {
            state.waiting += 1;
            state = self.wait(state);
            state.waiting -= 1;
        }
        if state.phase != Phase::Open {
            return Ok(false);
        }
        if from_within && state.queue.len() >= self.backlog {
            return Err(BacklogFull);
        }
        state.queue.push_back(item);
        if state.delivering.is_none() {
            self.deliver_queue(state, me);
        }
        Ok(true)
    }

    /// Refuses all further reports, then waits until what was accepted has been delivered.
    ///
    /// Called by an observer of this very channel it cannot wait for that: the delivery it stands in
    /// goes on after it, with what was accepted before.
    pub(crate) fn close(&self) {
        let me = current().id();
        let mut state = self.lock();
        state.phase = Phase::Closed;
        self.changed.notify_all();
        if state.delivering == Some(me) {
            return;
        }
        while state.delivering.is_some() {
            state = self.wait(state);
        }
        if !state.queue.is_empty() {
            self.deliver_queue(state, me);
        }
    }

    fn deliver_queue<'a>(&'a self, mut state: MutexGuard<'a, State<T>>, me: ThreadId) {
        state.delivering = Some(me);
        state.delivered = 0;
        while !state.hands_over(self.backlog) {
            let Some(item) = state.queue.pop_front() else { break };
            drop(state);
            (self.deliver)(&item);
            drop(item);
            state = self.lock();
            state.delivered += 1;
        }
        state.delivering = None;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code that could panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    /// Whether a reporter must wait: the queue is full, or the delivering thread has done its share and
    /// must not be kept from its own work for ever.
    fn is_busy(&self, backlog: usize) -> bool {
        self.delivering.is_some() && (self.queue.len() >= backlog || self.delivered >= backlog)
    }

    /// Whether the delivering thread leaves the rest to a reporter that waits.
    fn hands_over(&self, backlog: usize) -> bool {
        self.phase == Phase::Open && self.waiting > 0 && self.delivered >= backlog
    }
}

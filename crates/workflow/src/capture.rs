//! Picking one run out of everything an engine tells, before its id is known.

mod backlog;

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use weft_observe::Subscription;
use weft_types::{MemberOutcome, RunId, SessionId};

use self::backlog::Backlog;
use crate::{DisplayLimits, ObservationKind, RunInfo, Snapshot, WorkflowObservation, WorkflowObservers};

/// What a capture hands to its sink.
#[derive(Debug)]
pub struct Captured<'a> {
    /// The run as it is now.
    pub snapshot: &'a Snapshot,
    /// The members' starts and ends since the last call, in order, with their exact texts. Only those that the
    /// snapshot took in: each number starts once, and ends at most once, after its start.
    pub members: &'a [MemberEvent],
}

/// The start or the end of one member, exactly as observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberEvent {
    /// It started.
    Start {
        /// Its number.
        seq: u64,
        /// Its label; may be empty.
        label: String,
        /// Its phase. Absent and empty are two different things.
        phase: Option<String>,
        /// Its session.
        child_id: SessionId,
    },
    /// It ended.
    End {
        /// Its number.
        seq: u64,
        /// How.
        outcome: MemberOutcome,
    },
}

/// A listener that is installed before a run is started and told later which run it is for.
///
/// Until [`Capture::select`] it keeps a compact state of every run it sees, since an engine may emit everything,
/// even the end, before it returns the run's id. From then on it follows the selected run only: one call of the
/// sink for each visible change, in order, none lost and none twice, whatever thread they come from. The sink is
/// never called by two threads at once and never under a lock, so that it may emit and cancel as it likes; a change
/// that comes up meanwhile is delivered right after, by the thread that is delivering.
///
/// It is released, which is final, when the run has ended and none of its members runs any more, when the sink breaks
/// off or panics, and at the latest when it is dropped. A call of the sink that another thread has begun by then still
/// returns; no further one begins.
#[must_use = "dropping a capture releases it"]
pub struct Capture {
    shared: Arc<Shared>,
}

type Sink = Box<dyn Fn(Captured<'_>) -> ControlFlow<()> + Send + Sync>;

struct Shared {
    limits: DisplayLimits,
    sink: Sink,
    state: Mutex<State>,
    subscription: Mutex<Option<Subscription>>,
    /// Whether a thread is in the sink, or on its way there or back.
    delivering: AtomicBool,
    delivered: Notify,
}

enum State {
    /// The run is not known yet.
    Window(HashMap<RunId, Candidate>),
    Following(Box<Follow>),
    Released,
}

struct Candidate {
    snapshot: Snapshot,
    members: Vec<MemberEvent>,
}

struct Follow {
    run: RunId,
    /// Absent while a thread delivers; it has the snapshot then.
    idle: Option<Snapshot>,
    backlog: Backlog,
}

impl Capture {
    /// Begins to listen. Nothing is handed to the sink before [`Capture::select`].
    pub fn install(
        observers: &WorkflowObservers,
        limits: DisplayLimits,
        sink: impl Fn(Captured<'_>) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            limits,
            sink: Box::new(sink),
            state: Mutex::new(State::Window(HashMap::new())),
            subscription: Mutex::new(None),
            delivering: AtomicBool::new(false),
            delivered: Notify::new(),
        });
        let observer = Arc::clone(&shared);
        let subscription = observers.subscribe(None, move |observation| observer.observe(observation));
        *lock(&shared.subscription) = Some(subscription);
        Self { shared }
    }

    /// Says which run this is for, drops what was kept of all others, and hands the run's present state to the sink:
    /// an empty one if nothing of the run was seen. A second selection changes nothing.
    pub fn select(&self, info: &RunInfo) {
        let candidate = {
            let mut state = lock(&self.shared.state);
            let State::Window(candidates) = &mut *state else { return };
            let candidate = candidates.remove(&info.id);
            *state = State::Following(Box::new(Follow {
                run: info.id.clone(),
                idle: None,
                backlog: Backlog::default(),
            }));
            self.shared.delivering.store(true, Ordering::SeqCst);
            candidate.unwrap_or_else(|| Candidate::new(info, self.shared.limits))
        };
        let delivery = Delivery {
            shared: &self.shared,
            snapshot: Some(candidate.snapshot),
        };
        delivery.hand_over(&candidate.members);
    }

    /// Waits until everything observed so far has been through the sink.
    ///
    /// Another thread may be in the middle of delivering when a run's result is known. Must not be awaited by the sink.
    pub async fn delivered(&self) {
        loop {
            let mut delivered = pin!(self.shared.delivered.notified());
            // From here on an end of the delivery is noticed, so that none falls between the look and the wait.
            delivered.as_mut().enable();
            if !self.shared.delivering.load(Ordering::SeqCst) {
                return;
            }
            delivered.await;
        }
    }

    /// How many runs it keeps a state of.
    pub fn tracked_runs(&self) -> usize {
        match &*lock(&self.shared.state) {
            State::Window(candidates) => candidates.len(),
            State::Following(_) => 1,
            State::Released => 0,
        }
    }

    /// Stops listening and forgets everything. Again is harmless.
    pub fn release(&self) {
        self.shared.release();
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("tracked_runs", &self.tracked_runs())
            .finish_non_exhaustive()
    }
}

impl Candidate {
    fn new(info: &RunInfo, limits: DisplayLimits) -> Self {
        Self {
            snapshot: Snapshot::new(info, limits),
            members: Vec::new(),
        }
    }

    fn apply(&mut self, kind: &ObservationKind) {
        if self.snapshot.apply(kind) {
            self.members.extend(MemberEvent::of(kind));
        }
    }
}

impl MemberEvent {
    fn of(kind: &ObservationKind) -> Option<Self> {
        match kind {
            ObservationKind::AgentStart {
                seq,
                label,
                phase,
                child_id,
            } => Some(Self::Start {
                seq: *seq,
                label: label.clone(),
                phase: phase.clone(),
                child_id: child_id.clone(),
            }),
            ObservationKind::AgentEnd { seq, outcome, .. } => Some(Self::End {
                seq: *seq,
                outcome: *outcome,
            }),
            _ => None,
        }
    }
}

impl Shared {
    fn observe(&self, observation: &WorkflowObservation) {
        let snapshot = {
            let mut state = lock(&self.state);
            match &mut *state {
                State::Released => return,
                State::Window(candidates) => {
                    let info = &observation.run;
                    let candidate = candidates
                        .entry(info.id.clone())
                        .or_insert_with(|| Candidate::new(info, self.limits));
                    return candidate.apply(&observation.kind);
                }
                State::Following(follow) if follow.run != observation.run.id => return,
                State::Following(follow) => {
                    let Some(snapshot) = follow.idle.take() else {
                        return follow.backlog.push(&observation.kind, self.limits);
                    };
                    self.delivering.store(true, Ordering::SeqCst);
                    snapshot
                }
            }
        };
        let delivery = Delivery {
            shared: self,
            snapshot: Some(snapshot),
        };
        delivery.observe(&observation.kind);
    }

    fn end_delivery(&self) {
        self.delivering.store(false, Ordering::SeqCst);
        self.delivered.notify_waiters();
    }

    fn release(&self) {
        let state = mem::replace(&mut *lock(&self.state), State::Released);
        let subscription = lock(&self.subscription).take();
        // Both drops run code of others' making, so they run without a lock.
        drop((state, subscription));
    }
}

/// The right to call the sink, held by one thread at a time.
struct Delivery<'a> {
    shared: &'a Shared,
    /// Absent once it was given back.
    snapshot: Option<Snapshot>,
}

impl Delivery<'_> {
    /// Hands over the state as it is, then everything that comes up meanwhile.
    fn hand_over(mut self, members: &[MemberEvent]) {
        let flow = self.call(members);
        self.drain(flow);
    }

    /// Takes one observation in, then everything that comes up meanwhile.
    fn observe(mut self, kind: &ObservationKind) {
        let flow = self.apply(kind);
        self.drain(flow);
    }

    fn drain(&mut self, mut flow: ControlFlow<()>) {
        while flow.is_continue()
            && let Some(kind) = self.next()
        {
            flow = self.apply(&kind);
        }
    }

    fn apply(&mut self, kind: &ObservationKind) -> ControlFlow<()> {
        if self.snapshot.as_mut().is_some_and(|snapshot| snapshot.apply(kind)) {
            self.call(MemberEvent::of(kind).as_slice())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn call(&self, members: &[MemberEvent]) -> ControlFlow<()> {
        let Some(snapshot) = &self.snapshot else {
            return ControlFlow::Break(());
        };
        (self.shared.sink)(Captured { snapshot, members })
    }

    /// What came up meanwhile; with nothing more to deliver, gives the snapshot back.
    fn next(&mut self) -> Option<ObservationKind> {
        let mut state = lock(&self.shared.state);
        let State::Following(follow) = &mut *state else {
            return None;
        };
        if let Some(kind) = follow.backlog.pop() {
            return Some(kind);
        }
        if self.snapshot.as_ref().is_some_and(Snapshot::is_over) {
            return None;
        }
        follow.idle = self.snapshot.take();
        self.shared.end_delivery();
        None
    }
}

impl Drop for Delivery<'_> {
    /// Releases the capture if the snapshot was not given back: the run is over, the sink broke off or panicked, or
    /// the capture was released meanwhile.
    fn drop(&mut self) {
        if self.snapshot.is_some() {
            self.shared.release();
            self.shared.end_delivery();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

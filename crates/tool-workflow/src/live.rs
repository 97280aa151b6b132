//! What a call does with the observations of its run: it shows and records them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use weft_session::Session;
use weft_tools::{InvalidView, ToolExecution};
use weft_types::RunStop;
use weft_workflow::{Capture, Captured, DisplayLimits, RunInfo, Snapshot, WorkflowObservers};

use crate::doings::{Doings, Now};
use crate::progress::Renderer;
use crate::recorder::Recorder;

/// The consumers of one run's capture.
pub(crate) struct Live {
    execution: ToolExecution,
    renderer: Renderer,
    /// Cleared when a report came too late, or was refused for good.
    reports: AtomicBool,
    doings: Arc<Doings>,
    /// What was shown last. Held while it is shown, so that the last report shows the last state.
    latest: Mutex<Latest>,
    /// Whether what members do has changed while something was being shown.
    stale: AtomicBool,
    /// Present once a run that is recorded was accepted.
    recorder: OnceLock<Recorder>,
}

#[derive(Default)]
struct Latest {
    snapshot: Option<Snapshot>,
    now: Now,
}

impl Live {
    pub(crate) fn new(execution: ToolExecution, renderer: Renderer, doings: Arc<Doings>) -> Arc<Self> {
        let live = Arc::new(Self {
            execution,
            renderer,
            reports: AtomicBool::new(true),
            doings,
            latest: Mutex::default(),
            stale: AtomicBool::new(false),
            recorder: OnceLock::new(),
        });
        live.doings.shown_by(&live);
        live
    }

    /// Begins to listen.
    pub(crate) fn capture(self: &Arc<Self>, observers: &WorkflowObservers, limits: DisplayLimits) -> Capture {
        let live = Arc::clone(self);
        Capture::install(observers, limits, move |captured| live.take(&captured))
    }

    /// Begins the record, before the capture hands anything over.
    pub(crate) fn record(&self, session: Arc<Session>, run: &RunInfo) {
        let recorder = Recorder::new(session, run.id.clone());
        recorder.run_start(&run.meta.name);
        // Called once for each run.
        drop(self.recorder.set(recorder));
    }

    /// Ends the record, if there is one.
    pub(crate) fn end_record(&self, stop: RunStop) {
        if let Some(recorder) = self.recorder.get() {
            recorder.run_end(stop);
        }
    }

    fn take(&self, captured: &Captured<'_>) -> ControlFlow<()> {
        let records = self.recorder.get().filter(|recorder| !recorder.is_silent());
        if let Some(recorder) = records {
            recorder.members(captured.members);
        }
        if self.reports.load(Ordering::Acquire) {
            let mut latest = self.latest();
            latest.snapshot = Some(captured.snapshot.clone());
            self.show(&mut latest, true);
            drop(latest);
            self.catch_up();
        }
        if records.is_none() && !self.reports.load(Ordering::Acquire) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Shows what the members do now. If something is being shown at the moment, whoever does that shows this too.
    pub(crate) fn refresh(&self) {
        self.stale.store(true, Ordering::SeqCst);
        self.catch_up();
    }

    /// Says for how long the members have been running.
    pub(crate) fn beat(&self) {
        self.doings.beat();
        self.refresh();
    }

    fn catch_up(&self) {
        while self.stale.load(Ordering::SeqCst) && self.reports.load(Ordering::Acquire) {
            let mut latest = match self.latest.try_lock() {
                Ok(latest) => latest,
                Err(TryLockError::Poisoned(latest)) => latest.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            self.stale.store(false, Ordering::SeqCst);
            self.show(&mut latest, false);
        }
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports, if the run itself has changed or else if what its members do has.
    fn show(&self, latest: &mut Latest, changed: bool) {
        let now = self.doings.now();
        let changed = changed || now != latest.now;
        latest.now = now;
        if let (true, Some(snapshot)) = (changed, &latest.snapshot) {
            self.report(snapshot, &latest.now);
        }
    }

    fn report(&self, snapshot: &Snapshot, now: &Now) {
        match self.renderer.report(&self.execution, snapshot, now) {
            // A full backlog has a newer report waiting to replace this one.
            Ok(true) | Err(InvalidView::Backlog { .. }) => {}
            Ok(false) => self.reports.store(false, Ordering::Release),
            Err(error) => {
                tracing::warn!(run = %snapshot.run_id(), %error, "the progress of a workflow run cannot be shown");
                self.reports.store(false, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! What a call does with the observations of its run: it shows and records them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use weft_session::Session;
use weft_tools::{InvalidView, ToolExecution};
use weft_types::RunStop;
use weft_workflow::{Capture, Captured, DisplayLimits, RunInfo, Snapshot, WorkflowObservers};

use crate::progress::Renderer;
use crate::recorder::Recorder;

/// The consumers of one run's capture.
pub(crate) struct Live {
    execution: ToolExecution,
    renderer: Renderer,
    /// Cleared when a report came too late, or was refused for good.
    reports: AtomicBool,
    /// Present once a run that is recorded was accepted.
    recorder: OnceLock<Recorder>,
}

impl Live {
    pub(crate) fn new(execution: ToolExecution, call_title: String, shown_members: usize) -> Self {
        Self {
            execution,
            renderer: Renderer {
                call_title,
                shown_members,
            },
            reports: AtomicBool::new(true),
            recorder: OnceLock::new(),
        }
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
            self.report(captured.snapshot);
        }
        if records.is_none() && !self.reports.load(Ordering::Acquire) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn report(&self, snapshot: &Snapshot) {
        match self.renderer.report(&self.execution, snapshot) {
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

//! The durable record of one run in the calling agent's session.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_observe::panic_text;
use weft_session::Session;
use weft_types::{EventBody, RunId, RunStop};
use weft_workflow::MemberEvent;

/// Writes the records of one run. The first that fails is the last that is tried: it costs one warning, and nothing
/// of the run changes. What is in the log is then the beginning of a record, which is legal.
pub(crate) struct Recorder {
    session: Arc<Session>,
    run: RunId,
    silent: AtomicBool,
}

impl Recorder {
    pub(crate) fn new(session: Arc<Session>, run: RunId) -> Self {
        Self {
            session,
            run,
            silent: AtomicBool::new(false),
        }
    }

    /// Whether a record failed, so that nothing is written any more.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Acquire)
    }

    /// Right after the run was accepted.
    pub(crate) fn run_start(&self, name: &str) {
        self.append(EventBody::WorkflowRunStart {
            run_id: self.run.clone(),
            name: name.to_owned(),
        });
    }

    /// As members start and end.
    pub(crate) fn members(&self, members: &[MemberEvent]) {
        for member in members {
            self.append(self.member(member));
        }
    }

    /// Once nothing of the run is left.
    pub(crate) fn run_end(&self, stop_reason: RunStop) {
        self.append(EventBody::WorkflowRunEnd {
            run_id: self.run.clone(),
            stop_reason,
        });
    }

    fn member(&self, member: &MemberEvent) -> EventBody {
        let run_id = self.run.clone();
        match member {
            MemberEvent::Start {
                seq,
                label,
                phase,
                child_id,
            } => EventBody::WorkflowAgentStart {
                run_id,
                seq: *seq,
                label: label.clone(),
                phase: phase.clone(),
                child_id: child_id.clone(),
            },
            MemberEvent::End { seq, outcome } => EventBody::WorkflowAgentEnd {
                run_id,
                seq: *seq,
                outcome: *outcome,
            },
        }
    }

    fn append(&self, body: EventBody) {
        if self.is_silent() {
            return;
        }
        let kind = body.kind().to_owned();
        let error = match catch_unwind(AssertUnwindSafe(|| self.session.append(body))) {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => printed(&error),
            Err(panic) => panic_text(&*panic).to_owned(),
        };
        if !self.silent.swap(true, Ordering::AcqRel) {
            let session = self.session.id();
            tracing::warn!(%session, run = %self.run, kind, error, "the record of a workflow run ends before this event");
        }
    }
}

/// An error's text, even if its own code panics over it.
fn printed(error: &impl Display) -> String {
    catch_unwind(AssertUnwindSafe(|| error.to_string()))
        .unwrap_or_else(|_| "an error that cannot be printed".to_owned())
}

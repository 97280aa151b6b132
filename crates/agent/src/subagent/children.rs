//! Telling of children as they start and end.

use std::sync::Arc;

use weft_types::{CallId, SessionId};

use super::{SubagentStop, Subagents};
use crate::Agent;

/// An agent that another one has started.
#[derive(Clone, Debug)]
pub struct Child {
    /// The agent. Its label and the run it belongs to are in its session's header.
    pub agent: Agent,
    /// The session of the agent that started it.
    pub parent: SessionId,
    /// The call of that agent which started it, the outermost of a nested chain; absent if none did.
    pub call: Option<CallId>,
}

/// What happened to a child.
#[derive(Clone, Debug)]
pub enum ChildObservation {
    /// It exists and has done nothing yet.
    Started(Child),
    /// It is quiet for good.
    Ended {
        /// The child.
        child: Child,
        /// How it ended.
        stop: SubagentStop,
    },
}

/// A child whose start was told. That its end is told is certain, whatever becomes of its task.
#[derive(Debug)]
pub(crate) struct Announced {
    subagents: Arc<Subagents>,
    child: Child,
    stop: Option<SubagentStop>,
}

impl Announced {
    pub(super) fn start(subagents: &Arc<Subagents>, child: Child) -> Self {
        subagents
            .children()
            .emit(None, &ChildObservation::Started(child.clone()));
        Self {
            subagents: Arc::clone(subagents),
            child,
            stop: None,
        }
    }

    /// Tells the end.
    pub(super) fn end(mut self, stop: SubagentStop) {
        self.stop = Some(stop);
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let stop = self.stop.take();
        let ended = ChildObservation::Ended {
            child: self.child.clone(),
            stop: stop.unwrap_or_else(|| SubagentStop::Error("its task was ended from outside".to_owned())),
        };
        self.subagents.children().emit(None, &ended);
    }
}

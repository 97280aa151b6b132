//! The subagents of one session, for a client that shows them as sessions of their own.
//!
//! Each agent that the session's agent starts, or that one of those starts, is announced on the session of its parent
//! before anything else names it. Then what it does is shown under its own id, by a projector and a view like those of
//! any session, until its state becomes idle as the last word about it. The client may cancel it, and nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weft_agent::{Agent, Child, ChildObservation, SubagentStop};
use weft_observe::Subscription;
use weft_types::{SessionHeader, SessionId};

use crate::sdk::schema;
use crate::view::SessionView;

/// The JSON-RPC code of a failure that is not the caller's.
const INTERNAL_ERROR: i32 = -32603;

/// The subagents of one session that are not over.
#[derive(Debug)]
pub(crate) struct Family {
    /// The session's own view. Weak, since the session holds both.
    root: Weak<SessionView>,
    root_id: SessionId,
    members: Mutex<HashMap<SessionId, Member>>,
}

#[derive(Debug)]
struct Member {
    agent: Agent,
    view: Arc<SessionView>,
    _follows: [Subscription; 4],
}

impl Family {
    /// Shows the subagents of an agent's session, as long as the subscription is kept; nothing for a client that takes
    /// none.
    pub(crate) fn follow(root: &Arc<SessionView>, agent: &Agent) -> Option<(Arc<Self>, Subscription)> {
        if !root.takes_subagents() {
            return None;
        }
        let family = Arc::new(Self {
            root: Arc::downgrade(root),
            root_id: agent.session().id().clone(),
            members: Mutex::default(),
        });
        root.has_family(&family);
        let seen = Arc::clone(&family);
        let subscription = agent.subagents().children().subscribe(None, move |child| match child {
            ChildObservation::Started(child) => seen.started(child),
            ChildObservation::Ended { child, stop } => seen.ended(child, stop),
        });
        Some((family, subscription))
    }

    /// Stops a subagent's turn; says whether there is such a subagent.
    pub(crate) fn cancel(&self, id: &SessionId) -> bool {
        let agent = self.lock().get(id).map(|member| member.agent.clone());
        if let Some(agent) = &agent {
            agent.cancel();
        }
        agent.is_some()
    }

    /// The view of a subagent.
    pub(crate) fn child(&self, id: &SessionId) -> Option<Arc<SessionView>> {
        self.lock().get(id).map(|member| Arc::clone(&member.view))
    }

    fn started(&self, child: &Child) {
        let Some(parent) = self.view(&child.parent) else { return };
        let session = child.agent.session();
        parent.show(announcement(session.header()));
        let view = parent.of_child(&child.agent);
        let member = Member {
            agent: child.agent.clone(),
            _follows: view.follow(&child.agent),
            view,
        };
        self.lock().insert(session.id().clone(), member);
        if let Some(call) = &child.call {
            parent.link(call, session.id());
        }
    }

    fn ended(&self, child: &Child, stop: &SubagentStop) {
        let id = child.agent.session().id();
        let Some(member) = self.lock().remove(id) else { return };
        member.view.close();
        // The client may have been told of its parent's end already.
        let Some(parent) = self.view(&child.parent) else { return };
        let idle = schema::IdleStateUpdate::new().stop_reason(stop_reason(stop));
        parent.show(with_state(update(id), schema::StateUpdate::Idle(idle)));
    }

    fn view(&self, id: &SessionId) -> Option<Arc<SessionView>> {
        if *id == self.root_id {
            return self.root.upgrade();
        }
        self.child(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An update about a subagent that says nothing yet.
fn update(id: &SessionId) -> schema::SubagentUpdate {
    schema::SubagentUpdate::new(id.as_str().to_owned())
}

fn with_state(told: schema::SubagentUpdate, state: schema::StateUpdate) -> schema::SessionUpdate {
    schema::SessionUpdate::SubagentUpdate(told.state(state))
}

/// A subagent that is at work.
fn announcement(header: &SessionHeader) -> schema::SessionUpdate {
    let capabilities = schema::SubagentSessionCapabilities::new().cancel(schema::SessionCancelCapabilities::new());
    let described = header
        .run_id
        .as_ref()
        .map(|run| format!("a member of the workflow run {run}"));
    let told = update(&header.id)
        .capabilities(capabilities)
        .cwd(std::path::PathBuf::from(&header.cwd));
    let told = titled(told, header.label.as_deref());
    let told = match described {
        Some(description) => told.description(description),
        None => told,
    };
    with_state(told, schema::StateUpdate::Running(schema::RunningStateUpdate::new()))
}

/// A subagent of which the log tells: it is over, and nothing can be done with it.
pub(crate) fn past(id: &SessionId, title: Option<&str>) -> schema::SessionUpdate {
    with_state(
        titled(update(id), title),
        schema::StateUpdate::Idle(schema::IdleStateUpdate::new()),
    )
}

fn titled(told: schema::SubagentUpdate, title: Option<&str>) -> schema::SubagentUpdate {
    match title.filter(|title| !title.is_empty()) {
        Some(title) => told.title(title.to_owned()),
        None => told,
    }
}

fn stop_reason(stop: &SubagentStop) -> schema::IdleStopReason {
    match stop {
        SubagentStop::Completed => schema::IdleStopReason::EndTurn,
        SubagentStop::Aborted => schema::IdleStopReason::Cancelled,
        SubagentStop::MaxTokens => schema::IdleStopReason::MaxTokens,
        SubagentStop::Refusal => schema::IdleStopReason::Refusal,
        SubagentStop::Error(message) => {
            let error = schema::Error::new(INTERNAL_ERROR, message.clone());
            schema::IdleStopReason::Error(schema::ErrorStopReason::new().error(error))
        }
    }
}

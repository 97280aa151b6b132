//! Members of a workflow as subagents of the calling agent.

mod journaled;

use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use weft_agent::{AgentContext, SubagentRequest, SubagentRun, SubagentStop};
use weft_types::{CallId, ContentBlock, SessionId, text_of};
use weft_workflow::{Member, MemberError, MemberRequest, MemberResult, MemberStop, Members};

use crate::doings::{Doings, Place};

pub(crate) use journaled::JournaledMembers;

/// Starts members through the calling agent's providers.
pub(crate) struct AgentMembers {
    pub(crate) parent: Arc<AgentContext>,
    /// The call that the run is of, the outermost of a nested chain.
    pub(crate) call: CallId,
    pub(crate) doings: Arc<Doings>,
    /// What the run is called, once it was accepted.
    pub(crate) run_name: Arc<OnceLock<String>>,
}

struct AgentMember {
    run: Box<dyn SubagentRun>,
    _place: Place,
}

impl Members for AgentMembers {
    fn has_provider(&self, name: &str) -> bool {
        self.parent.subagents.has(name)
    }

    fn start(&self, request: MemberRequest) -> BoxFuture<'static, Result<Arc<dyn Member>, MemberError>> {
        let subagents = Arc::clone(&self.parent.subagents);
        let (place, feed) = self.doings.member(request.seq);
        let wish = SubagentRequest {
            parent: Arc::clone(&self.parent),
            prompt: vec![ContentBlock::text(request.prompt)],
            label: Some(request.label),
            schema: request.schema,
            model: request.model,
            run: Some((request.run, request.seq)),
            run_name: self.run_name.get().cloned(),
            call: Some(self.call.clone()),
            activity: Some(feed),
            cancel: request.cancel,
        };
        async move {
            let started = subagents.start(request.provider.as_deref(), wish).await;
            let run = started.map_err(|error| MemberError::new(error.to_string()))?;
            Ok(Arc::new(AgentMember { run, _place: place }) as Arc<dyn Member>)
        }
        .boxed()
    }
}

impl Member for AgentMember {
    fn id(&self) -> &SessionId {
        self.run.id()
    }

    fn result(&self) -> BoxFuture<'static, Result<MemberResult, MemberError>> {
        let result = self.run.result();
        async move {
            let result = result.await;
            Ok(MemberResult {
                stop: match result.stop {
                    SubagentStop::Completed => MemberStop::Completed,
                    SubagentStop::Aborted => MemberStop::Aborted,
                    SubagentStop::Error(message) => MemberStop::Error(message),
                    SubagentStop::MaxTokens => MemberStop::MaxTokens,
                    SubagentStop::Refusal => MemberStop::Refusal,
                },
                text: text_of(&result.output),
                structured: result.structured,
            })
        }
        .boxed()
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        self.run.dispose()
    }
}

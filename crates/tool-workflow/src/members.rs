//! Members of a workflow as subagents of the calling agent.

mod journaled;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use weft_agent::{AgentContext, Pulse, Spending, SubagentRequest, SubagentResult, SubagentRun, SubagentStop};
use weft_types::{CallId, ContentBlock, SessionId, text_of};
use weft_workflow::{Member, MemberError, MemberRequest, MemberResult, MemberStop, Members, Spent};

use crate::doings::{Doings, Place};
use crate::results::{self, Results};
use crate::stall;

pub(crate) use journaled::JournaledMembers;

/// Starts members through the calling agent's providers.
pub(crate) struct AgentMembers {
    pub(crate) parent: Arc<AgentContext>,
    /// The call that the run is of, the outermost of a nested chain.
    pub(crate) call: CallId,
    pub(crate) doings: Arc<Doings>,
    /// What the run is called, once it was accepted.
    pub(crate) run_name: Arc<OnceLock<String>>,
    /// Counts what the members use.
    pub(crate) spending: Arc<Spending>,
    /// Keeps what they return.
    pub(crate) results: Arc<Results>,
    /// After how long without any activity a member has failed; zero for never.
    pub(crate) max_stall: Duration,
}

struct AgentMember {
    run: Box<dyn SubagentRun>,
    place: Arc<Place>,
    result: results::Place,
    pulse: Arc<Pulse>,
    max_stall: Duration,
}

impl Members for AgentMembers {
    fn has_provider(&self, name: &str) -> bool {
        self.parent.subagents.has(name)
    }

    fn start(&self, request: MemberRequest) -> BoxFuture<'static, Result<Arc<dyn Member>, MemberError>> {
        let subagents = Arc::clone(&self.parent.subagents);
        let spending = self.spending.part();
        let (place, feed) = self.doings.member(request.seq);
        let (pulse, max_stall) = (feed.pulse(), self.max_stall);
        let result = results::Place {
            results: Arc::clone(&self.results),
            seq: request.seq,
            label: request.label.clone(),
        };
        let wish = SubagentRequest {
            parent: Arc::clone(&self.parent),
            prompt: vec![ContentBlock::text(request.prompt)],
            label: Some(request.label),
            schema: request.schema,
            model: request.model,
            tools: request.tools,
            run: Some((request.run, request.seq)),
            run_name: self.run_name.get().cloned(),
            call: Some(self.call.clone()),
            activity: Some(feed),
            spending: Some(spending),
            cancel: request.cancel,
        };
        async move {
            let started = subagents.start(request.provider.as_deref(), wish).await;
            let run = started.map_err(|error| MemberError::new(error.to_string()))?;
            Ok(Arc::new(AgentMember {
                run,
                place: Arc::new(place),
                result,
                pulse,
                max_stall,
            }) as Arc<dyn Member>)
        }
        .boxed()
    }

    fn spent(&self) -> Spent {
        Spent {
            tokens: self.spending.tokens(),
            cost_usd: self.spending.cost(&*self.parent.models),
        }
    }
}

impl Member for AgentMember {
    fn id(&self) -> &SessionId {
        self.run.id()
    }

    fn result(&self) -> BoxFuture<'static, Result<MemberResult, MemberError>> {
        let (answer, id) = (self.run.result(), self.run.id().clone());
        let (place, result, pulse, limit) = (
            Arc::clone(&self.place),
            self.result.clone(),
            Arc::clone(&self.pulse),
            self.max_stall,
        );
        async move {
            let answer = tokio::select! {
                biased;
                answer = answer => result_of(answer),
                () = stall::stalled(&pulse, limit) => MemberResult {
                    stop: MemberStop::Error(stall::problem(limit, place.now().as_deref())),
                    text: String::new(),
                    structured: None,
                },
            };
            result.put(&id, &answer);
            Ok(answer)
        }
        .boxed()
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        self.run.dispose()
    }
}

fn result_of(answer: SubagentResult) -> MemberResult {
    MemberResult {
        stop: match answer.stop {
            SubagentStop::Completed => MemberStop::Completed,
            SubagentStop::Aborted => MemberStop::Aborted,
            SubagentStop::Error(message) => MemberStop::Error(message),
            SubagentStop::MaxTokens => MemberStop::MaxTokens,
            SubagentStop::Refusal => MemberStop::Refusal,
        },
        text: text_of(&answer.output),
        structured: answer.structured,
    }
}

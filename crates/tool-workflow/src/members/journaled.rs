//! Members whose calls are kept in the run's journal, and which are not started where an earlier attempt was answered.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use weft_agent::{StoredAnswer, SubagentResult};
use weft_session::{FileStore, StoreError};
use weft_types::{MemberOutcome, SessionId};
use weft_workflow::{Member, MemberError, MemberRequest, MemberResult, MemberStop, Members, Spent};

use super::{AgentMembers, result_of};
use crate::journal::{Accepted, Answer, Ledger};
use crate::results::Place;

/// What a member is told, after its prompt, whose call an earlier attempt had begun.
const BEGUN_BEFORE: &str = "\n\n(A note from the workflow: this task was begun before and did not come to its end. Some \
     of it may be done already: look at what is there before you do anything that must not be done twice.)";

/// Members of a run with a ledger.
pub(crate) struct JournaledMembers {
    pub(crate) members: Arc<AgentMembers>,
    pub(crate) ledger: Arc<Ledger>,
    /// Where the sessions of earlier members are.
    pub(crate) store: FileStore,
}

impl Members for JournaledMembers {
    fn has_provider(&self, name: &str) -> bool {
        self.members.has_provider(name)
    }

    fn start(&self, mut request: MemberRequest) -> BoxFuture<'static, Result<Arc<dyn Member>, MemberError>> {
        let (members, ledger, store) = (Arc::clone(&self.members), Arc::clone(&self.ledger), self.store.clone());
        let Accepted {
            call,
            answer,
            begun_before,
        } = ledger.accept(&request);
        let (seq, structured) = (request.seq, request.schema.is_some());
        async move {
            if let Some(Answer { session }) = answer
                && let Some(result) = read(store, session.clone(), structured).await
            {
                // Should the run return nothing, it is told like what its own members returned.
                let place = Place {
                    results: Arc::clone(&members.results),
                    seq,
                    label: call.label.clone(),
                };
                let result = result_of(result);
                place.put(&session, &result);
                ledger.answer(call, session.clone());
                return Ok(Arc::new(AnsweredMember { session, result }) as Arc<dyn Member>);
            }
            if begun_before {
                request.prompt.push_str(BEGUN_BEFORE);
            }
            ledger.begin_call(call, begun_before);
            let member = members.start(request).await?;
            ledger.member(seq, member.id().clone());
            Ok(Arc::new(JournaledMember {
                member,
                ledger,
                seq,
                structured,
            }) as Arc<dyn Member>)
        }
        .boxed()
    }

    fn spent(&self) -> Spent {
        self.members.spent()
    }
}

/// What the member of this session answered; none if it did not, or if that cannot be read any more.
async fn read(store: FileStore, session: SessionId, structured: bool) -> Option<SubagentResult> {
    let read = move || {
        let answer = answer_in(&store, &session, structured);
        answer.unwrap_or_else(|error| {
            tracing::warn!(%session, %error, "what a workflow's member answered cannot be read, so its call runs again");
            None
        })
    };
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

fn answer_in(store: &FileStore, session: &SessionId, structured: bool) -> Result<Option<SubagentResult>, StoreError> {
    let mut answer = StoredAnswer::default();
    store.each_event(session, |event| answer.push(&event.body))?;
    Ok(answer.finish(structured))
}

/// A member that answered in an earlier attempt.
struct AnsweredMember {
    session: SessionId,
    result: MemberResult,
}

impl Member for AnsweredMember {
    fn id(&self) -> &SessionId {
        &self.session
    }

    fn result(&self) -> BoxFuture<'static, Result<MemberResult, MemberError>> {
        let result = self.result.clone();
        futures::future::ready(Ok(result)).boxed()
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        futures::future::ready(()).boxed()
    }
}

/// A member whose end is written down.
struct JournaledMember {
    member: Arc<dyn Member>,
    ledger: Arc<Ledger>,
    seq: u64,
    structured: bool,
}

impl Member for JournaledMember {
    fn id(&self) -> &SessionId {
        self.member.id()
    }

    fn result(&self) -> BoxFuture<'static, Result<MemberResult, MemberError>> {
        let (result, ledger) = (self.member.result(), Arc::clone(&self.ledger));
        let (seq, structured) = (self.seq, self.structured);
        async move {
            let result = result.await;
            ledger.end(seq, outcome_of(&result, structured));
            result
        }
        .boxed()
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        self.member.dispose()
    }
}

fn outcome_of(result: &Result<MemberResult, MemberError>, structured: bool) -> MemberOutcome {
    match result {
        Ok(result) => match result.stop {
            MemberStop::Completed if !structured || result.structured.is_some() => MemberOutcome::Completed,
            MemberStop::Aborted => MemberOutcome::Cancelled,
            _ => MemberOutcome::Failed,
        },
        Err(_) => MemberOutcome::Failed,
    }
}

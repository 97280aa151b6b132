//! Seeing one member through, from its start to its disposal.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use weft_observe::panic_text;
use weft_types::{MemberOutcome, SessionId};
use weft_workflow::{Member, MemberError, MemberRequest, MemberResult, MemberStop, Members};

use crate::protocol::Reply;
use crate::text::cut_bytes;

/// Something that happened to a member.
#[derive(Debug)]
pub(super) struct MemberEvent {
    pub(super) seq: u64,
    pub(super) kind: MemberEventKind,
}

/// What happened. A member that started ends; one that did not is lost.
#[derive(Debug)]
pub(super) enum MemberEventKind {
    /// It exists.
    Started(SessionId),
    /// It will not exist. Absent a reason, the start was abandoned.
    Lost(Option<String>),
    /// It ended.
    Ended(End),
}

/// How a member ended.
#[derive(Debug)]
pub(super) enum End {
    /// It told.
    Result(MemberResult),
    /// It could not.
    Broken(String),
    /// It took too long.
    Late,
    /// It was stopped, and gone before it told anything.
    Gone,
}

/// Where events go. Unbounded, but a member has two at most.
pub(super) type Events = mpsc::UnboundedSender<MemberEvent>;

/// Starts a member, waits for its end and disposes of it, telling each step. The provider's code is contained: it may
/// fail and panic as it likes.
///
/// Once the token fires, a start is abandoned, and a member is disposed of while it may still tell its end.
pub(super) async fn see_through(members: Arc<dyn Members>, request: MemberRequest, limit: Duration, events: Events) {
    let (seq, cancel) = (request.seq, request.cancel.clone());
    let tell = |kind| drop(events.send(MemberEvent { seq, kind }));
    let member = match start(members, request, limit, &cancel).await {
        Ok(Some(member)) => member,
        Ok(None) => return tell(MemberEventKind::Lost(None)),
        Err(error) => return tell(MemberEventKind::Lost(Some(error))),
    };
    if cancel.is_cancelled() {
        tell(MemberEventKind::Lost(None));
        return dispose(&member).await;
    }
    tell(MemberEventKind::Started(member.id().clone()));
    finish(&member, limit, &cancel, |end| tell(MemberEventKind::Ended(end))).await;
}

type Started = Result<Option<Arc<dyn Member>>, String>;

async fn start(
    members: Arc<dyn Members>,
    request: MemberRequest,
    limit: Duration,
    cancel: &CancellationToken,
) -> Started {
    let provider = request.provider.clone().unwrap_or_default();
    let start = contained(async move {
        if !members.has_provider(&provider) {
            return Err(MemberError::new(format!("there is no subagent provider {provider:?}")));
        }
        members.start(request).await
    });
    tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(None),
        () = sleep(limit), if !limit.is_zero() => Err(format!("it took longer than {limit:?} to start (max_agent_time)")),
        started = start => match started {
            Ok(Ok(member)) => Ok(Some(member)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(panic) => Err(panic),
        },
    }
}

/// Waits for the member's end, tells it, and disposes of the member, once.
async fn finish(member: &Arc<dyn Member>, limit: Duration, cancel: &CancellationToken, tell: impl FnOnce(End)) {
    let result = result(member);
    tokio::pin!(result);
    let late = tokio::select! {
        biased;
        end = &mut result => {
            tell(end);
            return dispose(member).await;
        }
        () = cancel.cancelled() => false,
        () = sleep(limit), if !limit.is_zero() => true,
    };
    // The run's token tells it to stop, or else its own does.
    cancel.cancel();
    let disposal = dispose(member);
    tokio::pin!(disposal);
    tokio::select! {
        biased;
        end = &mut result => {
            tell(if late { End::Late } else { end });
            disposal.await;
        }
        () = &mut disposal => tell(if late { End::Late } else { End::Gone }),
    }
}

async fn result(member: &Arc<dyn Member>) -> End {
    let member = Arc::clone(member);
    match contained(async move { member.result().await }).await {
        Ok(Ok(result)) => End::Result(result),
        Ok(Err(error)) => End::Broken(error.to_string()),
        Err(panic) => End::Broken(panic),
    }
}

async fn dispose(member: &Arc<dyn Member>) {
    let member = Arc::clone(member);
    if let Err(panic) = contained(async move { member.dispose().await }).await {
        tracing::warn!(%panic, "the disposal of a workflow member failed");
    }
}

/// Runs somebody else's future; its panic becomes a text.
async fn contained<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let caught = AssertUnwindSafe(future).catch_unwind().await;
    caught.map_err(|panic: Box<dyn Any + Send>| format!("the provider panicked: {}", panic_text(&*panic)))
}

/// What an end means.
#[derive(Debug)]
pub(super) struct Judgement {
    pub(super) outcome: MemberOutcome,
    pub(super) reply: Reply,
    /// Why there is no answer.
    pub(super) problem: Option<String>,
}

/// Judges a member's end. `over` is whether the run itself is over by then.
pub(super) fn judge(end: End, has_schema: bool, over: bool) -> Judgement {
    let answered = |reply| Judgement {
        outcome: MemberOutcome::Completed,
        reply,
        problem: None,
    };
    let failed = |reply, problem: String| Judgement {
        outcome: if over {
            MemberOutcome::Cancelled
        } else {
            MemberOutcome::Failed
        },
        reply,
        problem: Some(cut_bytes(&problem, 500)),
    };
    let result = match end {
        End::Result(result) => result,
        End::Broken(error) => return failed(Reply::ResultFailed(error.clone()), error),
        End::Late => return failed(Reply::Nothing, "it took longer than allowed (max_agent_time)".into()),
        End::Gone => return failed(Reply::Nothing, "it was stopped".into()),
    };
    let problem = match (result.stop, result.structured) {
        (MemberStop::Completed, _) if !has_schema => return answered(Reply::Text(result.text)),
        (MemberStop::Completed, Some(value)) => match serde_json::value::to_raw_value(&value) {
            Ok(value) => return answered(Reply::Value(value)),
            Err(error) => return failed(Reply::ResultFailed(error.to_string()), error.to_string()),
        },
        (MemberStop::Completed, None) => "it gave no structured answer to its schema".into(),
        (MemberStop::Aborted, _) => "it was stopped".into(),
        (MemberStop::Error(error), _) => error,
        (MemberStop::MaxTokens, _) => "its answer reached a token limit".into(),
        (MemberStop::Refusal, _) => "its model refused".into(),
    };
    failed(Reply::Nothing, problem)
}

#[cfg(test)]
mod tests;

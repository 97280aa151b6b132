//! One subagent from its prompt to its answer.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use weft_observe::Subscription;
use weft_session::Session;
use weft_tools::Registration;
use weft_types::{AbortCause, AssistantBlock, ContentBlock, EventBody, SessionId, TurnEnd};

use crate::subagent::children::Announced;
use crate::subagent::structured::{Capture, REMINDER};
use crate::{Agent, SubagentResult, SubagentRun, SubagentStop};

/// A started agent of this process.
pub(super) struct InProcessRun {
    id: SessionId,
    result: watch::Receiver<Option<SubagentResult>>,
    /// Stops the work; dropped with the run.
    cancel: DropGuard,
    /// Fires when the work's task is over.
    done: CancellationToken,
}

impl InProcessRun {
    pub(super) fn start(id: SessionId, work: Work, prompt: Vec<ContentBlock>) -> Self {
        let cancel = work.cancel.clone().drop_guard();
        let (publish, result) = watch::channel(None);
        let done = CancellationToken::new();
        let is_over = done.clone().drop_guard();
        tokio::spawn(async move {
            let _is_over = is_over;
            let result = work.run(prompt).await;
            publish.send_replace(Some(result));
        });
        Self {
            id,
            result,
            cancel,
            done,
        }
    }
}

impl SubagentRun for InProcessRun {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn result(&self) -> BoxFuture<'static, SubagentResult> {
        let mut result = self.result.clone();
        Box::pin(async move {
            let published = result.wait_for(Option::is_some).await;
            published
                .ok()
                .and_then(|result| result.clone())
                .unwrap_or_else(|| SubagentResult {
                    output: Vec::new(),
                    structured: None,
                    stop: SubagentStop::Error("the subagent's task was ended from outside".to_owned()),
                })
        })
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        let (cancel, done) = (self.cancel.token().clone(), self.done.clone());
        Box::pin(async move {
            cancel.cancel();
            done.cancelled().await;
        })
    }
}

/// What a subagent's task does: prompt the agent until it has answered, then close it.
pub(super) struct Work {
    pub(super) agent: Agent,
    /// Tells those who observe children of the end.
    pub(super) announced: Announced,
    /// Tells the starter what the agent does.
    pub(super) watch: Option<[Subscription; 3]>,
    /// Catches the answer in a schema, if one is asked for.
    pub(super) capture: Option<Arc<Capture>>,
    /// Keeps the tool for it registered.
    pub(super) tool: Option<Registration>,
    /// Stops the work.
    pub(super) cancel: CancellationToken,
    pub(super) reminders: u32,
    pub(super) max_steps: u32,
}

impl Work {
    async fn run(self, prompt: Vec<ContentBlock>) -> SubagentResult {
        let _watch = self.capture.as_ref().map(|capture| capture.watch(&self.agent));
        let stop = self.answer(prompt).await;
        self.agent.close().await;
        drop(self.tool);
        drop(self.watch);
        self.announced.end(stop.clone());
        let structured = match stop {
            SubagentStop::Completed => self.capture.as_ref().and_then(|capture| capture.take()),
            _ => None,
        };
        SubagentResult {
            output: last_text(self.agent.session()),
            structured,
            stop,
        }
    }

    async fn answer(&self, prompt: Vec<ContentBlock>) -> SubagentStop {
        let mut stop = self.turn(prompt).await;
        let Some(capture) = &self.capture else {
            return stop;
        };
        let mut reminded = 0;
        loop {
            if capture.is_confirmed() {
                return SubagentStop::Completed;
            }
            if capture.is_exhausted() {
                return SubagentStop::Error(capture.failure(reminded));
            }
            if stop != SubagentStop::Completed {
                return stop;
            }
            if reminded == self.reminders {
                return SubagentStop::Error(capture.failure(reminded));
            }
            reminded += 1;
            stop = self.turn(vec![ContentBlock::text(REMINDER)]).await;
        }
    }

    /// One turn to its end, stopped when the run is.
    async fn turn(&self, prompt: Vec<ContentBlock>) -> SubagentStop {
        let turn = match self.agent.prompt(prompt) {
            Ok(turn) => turn,
            Err(refused) => return SubagentStop::Error(refused.to_string()),
        };
        let ended = turn.ended();
        tokio::pin!(ended);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            end = &mut ended => return self.stop_of(end),
        }
        self.agent.cancel_by(AbortCause::Parent);
        self.stop_of(ended.await)
    }

    fn stop_of(&self, end: TurnEnd) -> SubagentStop {
        match end {
            TurnEnd::Completed => SubagentStop::Completed,
            TurnEnd::Aborted { .. } | TurnEnd::Interrupted => SubagentStop::Aborted,
            TurnEnd::Error { message } => SubagentStop::Error(message),
            TurnEnd::MaxTokens => SubagentStop::MaxTokens,
            TurnEnd::MaxSteps => SubagentStop::Error(format!(
                "the agent made {} model requests, the limit agent.max_steps, and was not done",
                self.max_steps
            )),
            TurnEnd::Refusal => SubagentStop::Refusal,
        }
    }
}

/// The last non-empty text of the assistant in its last turn.
fn last_text(session: &Session) -> Vec<ContentBlock> {
    let events = session.last_turn();
    let texts = events.iter().rev().filter_map(|event| match &event.body {
        EventBody::AssistantMessage { content, .. } => Some(content.iter().filter_map(text_of).collect::<Vec<_>>()),
        _ => None,
    });
    texts.into_iter().find(|blocks| !blocks.is_empty()).unwrap_or_default()
}

/// What of a block is an answer.
pub(in crate::subagent) fn text_of(block: &AssistantBlock) -> Option<ContentBlock> {
    match block {
        AssistantBlock::Text { text } if !text.trim().is_empty() => Some(ContentBlock::text(text)),
        _ => None,
    }
}

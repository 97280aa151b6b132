//! Running the calls of a step, and writing them down.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use weft_session::Session;
use weft_tools::{CallJournal, JournalError, ToolCallRequest, ToolRegistry, ToolResult, run_calls};
use weft_types::{CallId, EventBody};

use crate::slot::TurnCancel;
use crate::turn::{LoopError, Place, Turns};

/// A call as the log will name it.
pub(crate) struct NamedCall {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Turns {
    /// Runs the calls; each has a record and a result in the log when this returns well.
    pub(crate) async fn run_calls(
        &mut self,
        place: Place,
        calls: Vec<NamedCall>,
        cancel: &TurnCancel,
    ) -> Result<Vec<ToolResult>, LoopError> {
        let calls = calls.into_iter().map(|call| self.request_of(call, cancel)).collect();
        let journal = Journal {
            session: self.session(),
            tools: self.tools(),
            place,
            written: Mutex::default(),
        };
        let limits = self.options.limits.calls;
        let results = run_calls(self.tools(), calls, limits, &journal, cancel.token()).await;
        let written = journal.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        written.iter().for_each(|body| self.history.push(body));
        Ok(results?)
    }

    fn request_of(&self, call: NamedCall, cancel: &TurnCancel) -> ToolCallRequest {
        ToolCallRequest {
            agent: Some(self.id),
            // A child, so that no tool can stop the turn with it.
            signal: cancel.token().child_token(),
            extensions: self.extensions.clone(),
            ..ToolCallRequest::new(call.id, call.name, call.arguments)
        }
    }
}

/// Appends calls and results to the session.
struct Journal<'a> {
    session: &'a Arc<Session>,
    tools: &'a ToolRegistry,
    place: Place,
    /// The results, for the history.
    written: Mutex<Vec<EventBody>>,
}

impl CallJournal for Journal<'_> {
    fn called(&self, call: &ToolCallRequest) -> Result<(), JournalError> {
        self.session.append(EventBody::ToolCall {
            turn: self.place.turn,
            step: self.place.step,
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            arguments: call.raw_arguments.clone(),
            needs_approval: self
                .tools
                .needs_approval(&call.name, &call.raw_arguments, &call.extensions),
        })?;
        Ok(())
    }

    fn finished(&self, call: &ToolCallRequest, result: &ToolResult) -> Result<(), JournalError> {
        let body = EventBody::ToolResult {
            turn: self.place.turn,
            step: self.place.step,
            call_id: call.call_id.clone(),
            content: result.content.clone(),
            error: result.outcome.as_ref().err().map(weft_tools::ToolError::to_record),
            meta: result.meta.clone(),
        };
        self.session.append(body.clone())?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(body);
        Ok(())
    }

    fn before_body<'a>(&'a self, _call: &'a ToolCallRequest) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async { Ok(self.session.durable().await?) })
    }
}

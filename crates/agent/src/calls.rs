//! Running the calls of a step, and writing them down.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use weft_session::Session;
use weft_tools::{Access, CallJournal, JournalError, ToolCallRequest, ToolRegistry, ToolResult, run_calls};
use weft_types::{CallId, ContentBlock, Event, EventBody};

use crate::budget::Budget;
use crate::slot::TurnCancel;
use crate::turn::{LoopError, Place, Turns};
use crate::{LibraryHandle, Note};

/// A call as the log will name it.
pub(crate) struct NamedCall {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Turns {
    /// Runs the calls; each has a record and a result in the log when this returns well. The results may take so many
    /// bytes together.
    pub(crate) async fn run_calls(
        &mut self,
        place: Place,
        calls: Vec<NamedCall>,
        bytes: usize,
        cancel: &TurnCancel,
    ) -> Result<Vec<ToolResult>, LoopError> {
        let budget = Mutex::new(Budget::new(bytes, calls.len()));
        let calls = calls.into_iter().map(|call| self.request_of(call, cancel)).collect();
        let journal = Journal {
            session: self.session(),
            tools: self.tools(),
            place,
            budget,
            written: Mutex::default(),
        };
        let limits = self.options.limits.calls;
        let results = run_calls(self.tools(), calls, limits, &journal, cancel.token()).await;
        let written = journal.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        written.iter().for_each(|event| self.history.push(event));
        self.meter.set_context(self.history.context_size());
        Ok(results?)
    }

    /// The places that calls look at or change, in their own words.
    pub(crate) fn places_of(&self, calls: &[NamedCall]) -> Vec<PathBuf> {
        let accesses = calls.iter().filter_map(|call| {
            let tools = self.tools();
            tools.access(&call.name, &call.arguments, &self.extensions)
        });
        let places = accesses.flat_map(|access| match access {
            Access::Read(places) | Access::Edit(places) => places,
            Access::Harmless | Access::Execute(_) | Access::Fetch { .. } | Access::Script(_) | Access::Other => {
                Vec::new()
            }
        });
        places.map(|place| place.path).collect()
    }

    /// What the library has to say about places that the model does not know already.
    pub(crate) async fn notes_on(&self, places: Vec<PathBuf>, cancel: &TurnCancel) -> Vec<ContentBlock> {
        let Some(library) = self.options.lent.get::<LibraryHandle>().filter(|_| !places.is_empty()) else {
            return Vec::new();
        };
        let notes = tokio::select! {
            biased;
            () = cancel.token().cancelled() => return Vec::new(),
            notes = library.0.notes(places) => notes,
        };
        let news = notes
            .into_iter()
            .filter(|note| !self.history.holds_context(&format!("{}\n", note.title)));
        news.map(|Note { title, text }| ContentBlock::text(format!("{title}\n\n{text}")))
            .collect()
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
    budget: Mutex<Budget>,
    /// The results, for the history.
    written: Mutex<Vec<Arc<Event>>>,
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
            content: (self.budget.lock().unwrap_or_else(PoisonError::into_inner)).fit(&result.content),
            error: result.outcome.as_ref().err().map(weft_tools::ToolError::to_record),
            meta: result.meta.clone(),
        };
        let event = self.session.append(body)?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        Ok(())
    }

    fn before_body<'a>(&'a self, _call: &'a ToolCallRequest) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async { Ok(self.session.durable().await?) })
    }
}

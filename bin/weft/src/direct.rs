//! One call of a tool without a model: what `weft workflow run` makes of an agent.
//!
//! The session is like any other: it has a turn with what the user asked for, the call and its result. In the place of the
//! model stands [`OneCall`], for the session's own agent alone; the agents that the call starts have the real models.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use serde_json::Value;
use weft_model::{Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStream, Models, ResolvedModel};
use weft_types::{CallId, StopReason};

/// The call.
#[derive(Clone, Debug)]
pub(crate) struct DirectCall {
    /// The tool's name.
    pub(crate) tool: &'static str,
    /// What it is called with.
    pub(crate) arguments: Value,
    /// What stands in the session as the user's words.
    pub(crate) prompt: String,
}

/// Models of which the session's agent gets none but one that makes the call.
pub(crate) struct OneCall {
    models: Arc<dyn Models>,
    caller: Arc<Caller>,
}

impl OneCall {
    pub(crate) fn instead_of(models: Arc<dyn Models>, call: DirectCall) -> Self {
        let caller = Caller {
            call,
            is_made: AtomicBool::new(false),
        };
        Self {
            models,
            caller: Arc::new(caller),
        }
    }
}

impl Models for OneCall {
    /// It goes by the name of the model that the session has: the agents that the call starts inherit that, and whoever
    /// takes the session up again goes on with it. Only where there is none it has a name of its own.
    fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
        let model = Arc::clone(&self.caller) as Arc<dyn Model>;
        match (self.models.resolve(choice), choice) {
            (Ok(found), _) => Ok(ResolvedModel { model, ..found }),
            (Err(_), None) => Ok(ResolvedModel {
                model,
                provider: "weft".to_owned(),
                name: "direct".to_owned(),
            }),
            (Err(error), Some(_)) => Err(error),
        }
    }

    fn info(&self, choice: &str) -> ModelInfo {
        self.models.info(choice)
    }

    fn list(&self) -> Vec<ModelInfo> {
        self.models.list()
    }
}

/// Makes the call when it is asked first. Asked again, since the call failed, it has nothing to add.
struct Caller {
    call: DirectCall,
    is_made: AtomicBool,
}

impl Model for Caller {
    fn stream(&self, _request: ModelRequest) -> ModelStream {
        let events = if self.is_made.swap(true, Ordering::AcqRel) {
            let text = format!("The call of `{}` did not succeed.", self.call.tool);
            vec![ModelEvent::TextDelta(text), ModelEvent::Finish(StopReason::EndTurn)]
        } else {
            let call = ModelEvent::ToolCall {
                id: CallId::new("direct"),
                name: self.call.tool.to_owned(),
                arguments: self.call.arguments.to_string(),
            };
            vec![call, ModelEvent::Finish(StopReason::ToolUse)]
        };
        futures::stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

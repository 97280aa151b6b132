//! A turn that is one call of a tool, which ends with the call's result.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use weft_agent::Agent;
use weft_tools::ToolError;
use weft_types::{ContentBlock, TurnEnd};

use super::outcome::Ending;

/// Makes the call. What the agent's models answer is nothing but that.
pub(super) async fn make(agent: &Agent, prompt: Vec<ContentBlock>) -> Ending {
    let made = Arc::<OnceLock<Result<Value, ToolError>>>::default();
    let concluding = agent.tools().around_execute(|execution, next| {
        execution.conclude_turn();
        next.run()
    });
    let result = Arc::clone(&made);
    let watching = agent.tools().results().subscribe(Some(agent.id()), move |observation| {
        // Its nested calls are its own.
        if !observation.execution.is_nested() {
            result.get_or_init(|| observation.result.outcome.clone());
        }
    });
    let end = match agent.prompt(prompt) {
        Ok(turn) => turn.ended().await,
        Err(refused) => TurnEnd::Error {
            message: refused.to_string(),
        },
    };
    drop((concluding, watching));
    match (made.get(), end) {
        (Some(result), TurnEnd::Completed) => Ending::Called(result.clone().map_err(|error| error.to_string())),
        (_, end) => Ending::Turn(end),
    }
}

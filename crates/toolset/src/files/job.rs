//! Work on files, away from the threads that serve everybody.

use std::panic::resume_unwind;

use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use weft_tools::{ErrorCode, ToolError, ToolExecution};

/// The call's arguments, which the registry has checked.
pub(crate) fn arguments<T: DeserializeOwned>(execution: &ToolExecution) -> Result<T, ToolError> {
    T::deserialize(execution.arguments())
        .map_err(|error| ToolError::with_code(ErrorCode::InvalidArgs, error.to_string()))
}

/// Does the work on a thread that may wait. Its token fires when the call is cancelled or dropped.
pub(crate) async fn blocking<T: Send + 'static>(
    execution: &ToolExecution,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = execution.signal().child_token();
    let _stopped_when_dropped = stop.clone().drop_guard();
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(ToolError::new(
                "the work on the file was stopped with the runtime it ran in",
            )),
        },
    }
}

/// Fails once the call has been cancelled; nothing has been changed by then.
pub(crate) fn check_cancel(stop: &CancellationToken) -> Result<(), ToolError> {
    if stop.is_cancelled() {
        let message = "the call was cancelled before anything was changed";
        return Err(ToolError::with_code(ErrorCode::Aborted, message));
    }
    Ok(())
}

/// What comes of a change that has been made. A success of a cancelled call is lost on the way to the model,
/// which would then take the file for unchanged.
pub(crate) fn outcome<T>(execution: &ToolExecution, path: &str, done: T) -> Result<T, ToolError> {
    if execution.signal().is_cancelled() {
        let message = format!("the call was cancelled, but {path} had been changed by then");
        return Err(ToolError::with_code(ErrorCode::Aborted, message));
    }
    Ok(done)
}

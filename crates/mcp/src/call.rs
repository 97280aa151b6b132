//! One call of a server's tool, from its request to its end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};
use weft_tools::{ErrorCode, ProgressView, ToolError, ToolExecution};

use crate::connection::{Line, chain};
use crate::server::Server;

/// How long telling the server that a call is given up may take.
const FAREWELL: Duration = Duration::from_millis(500);

type Response = Result<ServerResult, ServiceError>;

/// Why a call has no answer.
enum End {
    Answered(Box<Response>),
    Cancelled,
    TimedOut,
}

/// Calls the tool and gives its result as JSON.
///
/// A cancel is passed on and ends the call at once; a server that then gives no sign of life is started anew for the
/// next call.
pub(crate) async fn call(server: &Server, tool: &str, execution: &ToolExecution) -> Result<Value, ToolError> {
    let name = &server.config.name;
    let line = tokio::select! {
        line = server.line() => line,
        () = execution.signal().cancelled() => return Err(cancelled(name, tool)),
    };
    let line = line.map_err(|failure| {
        ToolError::new(format!(
            "MCP server \"{name}\" cannot be used: {failure}\nhint: {}",
            failure.hint()
        ))
    })?;
    let mut params = CallToolRequestParams::new(tool.to_owned());
    params.arguments = execution.arguments().as_object().cloned();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = line
        .peer
        .send_request_with_option(request, PeerRequestOptions::no_options());
    let mut handle = tokio::select! {
        handle = sent => match handle {
            Ok(handle) => handle,
            Err(error) => return Err(failed(server, &line, &error).await),
        },
        () = execution.signal().cancelled() => return Err(cancelled(name, tool)),
    };
    let limit = server.config.call_timeout;
    match wait(&line, &mut handle, execution, limit).await {
        End::Answered(response) => match *response {
            Ok(result) => {
                line.worked.store(true, Ordering::Relaxed);
                answer(name, tool, result)
            }
            Err(error) => Err(failed(server, &line, &error).await),
        },
        End::Cancelled => {
            give_up(&line, handle, "the user cancelled the call").await;
            Err(cancelled(name, tool))
        }
        End::TimedOut => {
            give_up(&line, handle, "the call took too long").await;
            let message = format!(
                "tool \"{tool}\" of MCP server \"{name}\" gave no answer and no progress for {limit:?} and was given \
                 up; the limit is mcp.call_timeout"
            );
            Err(ToolError::with_code(ErrorCode::ToolTimeout, message))
        }
    }
}

/// Waits for the answer and reports progress, each of which gives the call its whole time again.
async fn wait(line: &Line, handle: &mut RequestHandle<RoleClient>, execution: &ToolExecution, limit: Duration) -> End {
    let mut watch = line.board.watch(handle.progress_token.clone());
    let mut deadline = Instant::now() + limit;
    loop {
        tokio::select! {
            biased;
            response = &mut handle.rx => {
                let response = response.unwrap_or(Err(ServiceError::TransportClosed));
                return End::Answered(Box::new(response));
            }
            () = execution.signal().cancelled() => return End::Cancelled,
            news = watch.news.changed() => {
                if news.is_err() {
                    // The board outlives the watch.
                    continue;
                }
                deadline = Instant::now() + limit;
                let progress = watch.news.borrow_and_update().clone();
                if let Some(progress) = progress
                    && let Err(error) = execution.report_progress(ProgressView::text(progress.text()))
                {
                    tracing::debug!(%error, "progress of an MCP server could not be shown");
                }
            }
            () = sleep_until(deadline) => return End::TimedOut,
        }
    }
}

/// Tells the server that nobody waits any more.
async fn give_up(line: &Line, handle: RequestHandle<RoleClient>, reason: &str) {
    line.doubted.store(true, Ordering::Relaxed);
    // One that does not even read is not waited for.
    if timeout(FAREWELL, handle.cancel(Some(reason.to_owned()))).await.is_err() {
        tracing::debug!("an MCP server could not be told that a call was given up");
    }
}

fn answer(server: &str, tool: &str, result: ServerResult) -> Result<Value, ToolError> {
    let odd = |what: &str| {
        Err(ToolError::new(format!(
            "tool \"{tool}\" of MCP server \"{server}\" {what}"
        )))
    };
    match result {
        ServerResult::InputRequiredResult(_) => odd("asks for input in the middle of a call, which weft does not give"),
        ServerResult::CreateTaskResult(_) => odd("answered with a task, which weft does not follow"),
        ServerResult::CustomResult(result) => Ok(result.0),
        ServerResult::CallToolResult(result) => serde_json::to_value(result).map_err(|error| {
            ToolError::new(format!(
                "MCP server \"{server}\" gave a result that cannot be read: {error}"
            ))
        }),
        // A result without any content looks like one of many others.
        _ => Ok(Value::Object(serde_json::Map::new())),
    }
}

async fn failed(server: &Server, line: &Line, error: &ServiceError) -> ToolError {
    let name = &server.config.name;
    if let ServiceError::McpError(error) = error {
        let message = server.mask.apply(&error.message);
        return ToolError::new(format!(
            "MCP server \"{name}\" refused the call: {message} (code {})",
            error.code.0
        ));
    }
    let reason = match line.death().await {
        Some(death) => death.to_string(),
        None => server.mask.apply(&chain(error)),
    };
    ToolError::new(format!(
        "MCP server \"{name}\" broke off during the call: {reason}; the next call starts it again"
    ))
}

fn cancelled(server: &str, tool: &str) -> ToolError {
    ToolError::with_code(
        ErrorCode::Aborted,
        format!("the call of \"{tool}\" of MCP server \"{server}\" was cancelled"),
    )
}

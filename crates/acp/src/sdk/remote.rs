//! The other side of the protocol: an agent that weft is the client of.
//!
//! The SDK matches requests with responses and dispatches the agent's questions. What the agent tells never gets to it:
//! updates are taken from the lines themselves, in the order in which they came and before any response behind them, so
//! that they need no unbounded queue, and one of a kind that this version does not know costs nothing but itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Channel, Client as ClientRole, Error, JsonRpcNotification, JsonRpcRequest, TransportFrame, on_receive_request,
};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender};
use futures::future::BoxFuture;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{RawJsonRpcId, RawJsonRpcMessage, schema};
use crate::settings::LineLimit;
use crate::transport::{HEAD_BYTES, Inbound, read_frame, read_too_long};
use crate::wire;

/// An agent, as somebody to prompt.
#[derive(Clone, Debug)]
pub(crate) struct RemoteAgent {
    connection: ConnectionTo<agent_client_protocol::Agent>,
}

impl RemoteAgent {
    /// Asks for something. Dropping the future withdraws the request.
    pub(crate) async fn ask<R: JsonRpcRequest>(&self, request: R) -> Result<R::Response, RemoteError> {
        Ok(self.connection.send_request(request).block_task().await?)
    }

    /// Tells it something. What cannot be told any more is left out: the connection is over.
    pub(crate) fn tell<N: JsonRpcNotification>(&self, notification: N) {
        if let Err(error) = self.connection.send_notification(notification) {
            tracing::debug!(
                code = error.code.value(),
                "an agent could not be told anything any more"
            );
        }
    }
}

/// What an agent answered instead of what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteError {
    /// Whether it wants the user to log in first.
    pub(crate) wants_login: bool,
    /// Its own words.
    pub(crate) message: String,
}

impl From<Error> for RemoteError {
    fn from(error: Error) -> Self {
        let detail = error.data.and_then(|data| match data {
            serde_json::Value::String(text) => Some(text),
            serde_json::Value::Object(fields) => {
                let told = fields.get("details").or_else(|| fields.get("message"))?;
                told.as_str().map(str::to_owned)
            }
            _ => None,
        });
        let message = match detail {
            Some(detail) if !error.message.contains(&detail) => format!("{}: {detail}", error.message),
            _ => error.message,
        };
        Self {
            wants_login: error.code == agent_client_protocol::ErrorCode::AUTH_REQUIRED,
            message: message.chars().take(MESSAGE_CHARS).collect(),
        }
    }
}

/// How much of an agent's error is told, in characters.
const MESSAGE_CHARS: usize = 1_000;

/// Who an agent speaks with.
pub(crate) trait Host: Send + Sync + 'static {
    /// It tells something. Called in order, and never while the future of an earlier call is pending.
    fn update(&self, update: schema::SessionNotification) -> BoxFuture<'_, ()>;

    /// It asks for a permission. Dropping the future withdraws the question.
    fn question(
        &self,
        question: schema::RequestPermissionRequest,
    ) -> BoxFuture<'static, schema::RequestPermissionOutcome>;

    /// It wrote a line that is no message.
    fn noise(&self, line: &[u8]);

    /// It gave a sign of life.
    fn alive(&self);
}

/// How many bytes of requests an agent may have made that it has no answer to; further ones are left in the pipe.
const UNANSWERED_BYTES: u32 = 32 << 20;
/// What a request counts at least, so that there are never more than 256 of them.
const REQUEST_BYTES: u32 = UNANSWERED_BYTES / 256;

/// The requests of an agent that it has no answer to yet. Who asks without end, or reads no answers, fills no memory.
struct Unanswered {
    room: Arc<Semaphore>,
    requests: Mutex<Vec<(RawJsonRpcId, OwnedSemaphorePermit)>>,
}

impl Unanswered {
    fn new() -> Self {
        Self {
            room: Arc::new(Semaphore::new(UNANSWERED_BYTES as usize)),
            requests: Mutex::default(),
        }
    }

    /// Counts a request as soon as there is room for it; false if nothing is answered any more.
    async fn count(&self, id: &RawJsonRpcId, bytes: usize) -> bool {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let bytes = bytes.clamp(REQUEST_BYTES, UNANSWERED_BYTES);
        let Ok(place) = Arc::clone(&self.room).acquire_many_owned(bytes).await else {
            return false;
        };
        self.requests().push((id.clone(), place));
        true
    }

    /// The answer has left.
    fn answered(&self, id: &RawJsonRpcId) {
        let mut requests = self.requests();
        if let Some(at) = requests.iter().position(|(asked, _)| asked == id) {
            drop(requests.swap_remove(at));
        }
    }

    fn requests(&self) -> MutexGuard<'_, Vec<(RawJsonRpcId, OwnedSemaphorePermit)>> {
        // Every change is a single one.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Speaks with an agent until its output ends and everything before that has been dispatched; `ready` gets the agent.
///
/// What it asks for beside permissions is answered with "method not found": nothing else was offered.
pub(crate) async fn connect_to_agent(
    host: Arc<dyn Host>,
    (output, input): (impl AsyncBufRead + Unpin, impl AsyncWrite + Unpin),
    limit: LineLimit,
    ready: oneshot::Sender<RemoteAgent>,
) {
    let (ours, theirs) = Channel::duplex();
    let (outgoing, incoming) = ours.into_parts();
    let asked = Arc::clone(&host);
    let client = ClientRole
        .v1()
        .name("weft")
        .on_receive_request(
            async move |request: schema::RequestPermissionRequest, responder, connection| {
                answer(&asked, request, responder, &connection)
            },
            on_receive_request!(),
        )
        .connect_with(theirs, async |connection| {
            let ended = connection.clone();
            // Nobody may be interested any more; then the connection is about to be dropped.
            drop(ready.send(RemoteAgent { connection }));
            ended.incoming_closed().await;
            Ok(())
        });
    let unanswered = Unanswered::new();
    let (result, (), ()) = tokio::join!(
        client,
        feed(&*host, output, limit.get(), (&unanswered, incoming)),
        drain(outgoing, &unanswered, input)
    );
    if let Err(error) = result {
        tracing::debug!(%error, "the connection to an agent failed");
    }
}

fn answer(
    host: &Arc<dyn Host>,
    request: schema::RequestPermissionRequest,
    responder: Responder<schema::RequestPermissionResponse>,
    connection: &ConnectionTo<agent_client_protocol::Agent>,
) -> Result<(), Error> {
    let (question, withdrawn) = (host.question(request), responder.cancellation());
    connection.spawn(async move {
        tokio::select! {
            biased;
            () = withdrawn.cancelled() => responder.respond_with_error(Error::request_cancelled()),
            outcome = question => responder.respond(schema::RequestPermissionResponse::new(outcome)),
        }
    })
}

/// Takes the agent's lines apart until its output ends.
async fn feed(
    host: &dyn Host,
    mut output: impl AsyncBufRead + Unpin,
    limit: usize,
    (unanswered, to): (&Unanswered, UnboundedSender<TransportFrame>),
) {
    let mut line = Vec::new();
    loop {
        let inbound = match next_line(&mut output, limit, &mut line).await {
            Ok(Some(true)) => read_frame(&line),
            Ok(Some(false)) => read_too_long(&line, limit),
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "reading from an agent failed; its output counts as ended");
                return;
            }
        };
        host.alive();
        match inbound {
            Some(Inbound::Message(RawJsonRpcMessage::Notification(told))) if &*told.method == "session/update" => {
                let params = told.params.map(super::RawJsonRpcParams::into_value).unwrap_or_default();
                match serde_json::from_value(params) {
                    Ok(update) => host.update(update).await,
                    Err(error) => tracing::debug!(%error, "an agent told something that is not understood"),
                }
            }
            Some(Inbound::Message(message)) => {
                if let RawJsonRpcMessage::Request(request) = &message
                    && !unanswered.count(&request.id, line.len()).await
                {
                    return;
                }
                let sent = to.unbounded_send(TransportFrame::Single(message));
                if sent.is_err() {
                    return;
                }
            }
            Some(Inbound::Refused(refusal)) => {
                tracing::debug!(refusal.message, "a line of an agent is no message");
                host.noise(&line);
            }
            None => {}
        }
    }
}

/// Reads the next line; whether it is whole, or was cut since it is longer than `limit`; `None` at the end.
async fn next_line(
    output: &mut (impl AsyncBufRead + Unpin),
    limit: usize,
    line: &mut Vec<u8>,
) -> std::io::Result<Option<bool>> {
    line.clear();
    let mut bounded = (&mut *output).take(limit as u64 + 1);
    bounded.read_until(b'\n', line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.ends_with(b"\n") || line.len() <= limit {
        return Ok(Some(true));
    }
    line.truncate(HEAD_BYTES);
    line.shrink_to_fit();
    loop {
        let (used, is_over) = match output.fill_buf().await? {
            [] => return Ok(Some(false)),
            waiting => match waiting.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (waiting.len(), false),
            },
        };
        output.consume(used);
        if is_over {
            return Ok(Some(false));
        }
    }
}

/// Writes what the SDK says, until it has said everything. Once the agent takes no more, the rest is dropped.
async fn drain(mut from: UnboundedReceiver<TransportFrame>, unanswered: &Unanswered, input: impl AsyncWrite + Unpin) {
    let mut input = Some(input);
    let mut line = Vec::new();
    while let Some(frame) = from.next().await {
        let TransportFrame::Single(message) = frame else {
            debug_assert!(false, "the SDK relays malformed frames only between others");
            continue;
        };
        if let Some(open) = &mut input {
            line.clear();
            wire::write_message(&mut line, &message);
            let written = async {
                open.write_all(&line).await?;
                open.flush().await
            };
            if let Err(error) = written.await {
                tracing::debug!(%error, "an agent takes no more input");
                input = None;
            }
        }
        if let Some(id) = message.response_id() {
            unanswered.answered(id);
        }
    }
    unanswered.room.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: std::io::Result<Option<bool>>, line: &[u8], expected: Option<(bool, &[u8])>) {
        let found = found.expect("it can be read").map(|is_whole| (is_whole, line));
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn a_line_of_exactly_the_limit_passes_and_a_longer_one_is_skipped() {
        let mut output = &b"1234\n12345\n\n123456789\nlast"[..];
        let mut line = Vec::new();
        let expected: [Option<(bool, &[u8])>; 6] = [
            Some((true, b"1234\n")),
            Some((false, b"12345")),
            Some((true, b"\n")),
            Some((false, b"12345")),
            Some((true, b"last")),
            None,
        ];
        for expected in expected {
            let found = next_line(&mut output, 4, &mut line).await;
            check(found, &line, expected);
        }
    }
}

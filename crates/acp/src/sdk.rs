//! The one module that touches the protocol's SDK: its next major version costs these files.
//!
//! The SDK matches requests with responses and dispatches typed messages, one at a time; a handler here
//! names a type and a function of the [`Bridge`] and returns at once. Work that may wait runs in tasks of
//! its own, not in the SDK's: those share one future with the dispatch, and a panic there ends the process.
//!
//! # Transport
//!
//! The SDK is given a [`Channel`] of frames rather than its line transport: lines are read and written by
//! threads of our own ([`crate::transport`], [`crate::outbox`]) anyway, and so each message is parsed off
//! the dispatching task, what is malformed never gets here, an update is serialised once, and the answer to
//! `initialize` can be told from others without reading it back. See [`frames`].
//!
//! # Order
//!
//! Updates go straight to the outbox; responses and requests get there through the SDK's queue, in their own
//! order. An update enqueued before a response is given therefore leaves before it: a replay before the answer to its
//! load. The reverse does not hold by itself: what has to follow a response directly (a new session's commands) is put
//! [behind](frames::Behind) it. Nothing else relies on it: of a turn that was answered, of a session whose id the
//! client does not know yet, and of one that was loaded and not prompted yet, there is nothing to show. (A prompt that
//! does not wait for the answer to its load is refused while the load goes on; sent in the very moment of the answer, its
//! first updates may leave before that. A question withdrawn in the moment in which it is asked may follow the failed
//! card of its call; its withdrawal follows at once.)

mod frames;
mod remote;

use std::convert::Infallible;
use std::sync::Arc;

use agent_client_protocol::{
    Agent, Channel, Error, ErrorCode, Handled, JsonRpcResponse, RequestCancellation, UntypedMessage,
    on_receive_notification, on_receive_request,
};

pub(crate) use remote::{Host, RemoteAgent, RemoteError, connect_to_agent};

pub(crate) use agent_client_protocol::v1::schema;
pub(crate) use agent_client_protocol::{
    RawJsonRpcError, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcNotification, RawJsonRpcParams, RawJsonRpcRequest,
    RawJsonRpcResponse,
};

use agent_client_protocol::v1::{ConnectionTo, Responder};
use tokio_util::sync::CancellationToken;

use crate::ExtensionError;
use crate::bridge::{Bridge, LoadRequest, Setup, closing};
use crate::outbox::Outbox;
use crate::refusal::RequestError;
use crate::transport::Input;

/// The client, as somebody to ask.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    connection: ConnectionTo<agent_client_protocol::Client>,
}

impl Client {
    /// Asks for a permission. Dropping the future withdraws the question.
    pub(crate) async fn ask_permission(
        &self,
        question: schema::RequestPermissionRequest,
    ) -> Result<schema::RequestPermissionOutcome, Error> {
        let answer = self.connection.send_request(question).block_task().await?;
        Ok(answer.outcome)
    }

    /// Reads a file of the client. Dropping the future withdraws the request.
    pub(crate) async fn read_file(&self, request: schema::ReadTextFileRequest) -> Result<String, ClientError> {
        let answer = self.connection.send_request(request).block_task().await?;
        Ok(answer.content)
    }

    /// Writes a file of the client. Dropping the future withdraws the request.
    pub(crate) async fn write_file(&self, request: schema::WriteTextFileRequest) -> Result<(), ClientError> {
        self.connection.send_request(request).block_task().await?;
        Ok(())
    }

    /// Waits until the client has closed its input, and everything before that has been dispatched.
    pub(crate) async fn closed_input(&self) {
        self.connection.incoming_closed().await;
    }
}

/// Why the client did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientError {
    /// It has no such thing.
    NotFound,
    /// Anything else, in its words.
    Failed(String),
}

impl From<Error> for ClientError {
    fn from(error: Error) -> Self {
        match error.code {
            ErrorCode::RESOURCE_NOT_FOUND => Self::NotFound,
            _ => Self::Failed(error.message),
        }
    }
}

/// Serves the protocol until `session` returns; everything answered by then has been handed to the outbox.
pub(crate) async fn connect<T>(
    bridge: &Arc<Bridge>,
    input: Input,
    outbox: &Outbox,
    session: impl AsyncFnOnce(Client) -> T,
) -> Result<T, Error> {
    let (ours, theirs) = Channel::duplex();
    let (outgoing, incoming) = ours.into_parts();
    let gate = frames::Gate::default();
    let behind = Arc::new(frames::Behind::default());
    let agent =
        agent(bridge, &behind).connect_with(theirs, async |connection| Ok(session(Client { connection }).await));
    let connection = async {
        let feeding = async {
            frames::feed(input, incoming, &gate, outbox, bridge.options().stall_timeout).await;
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            result = agent => result,
            never = feeding => match never {},
        }
    };
    let (result, ()) = tokio::join!(connection, frames::drain(outgoing, (&gate, &behind), outbox));
    result
}

/// What the client may ask for, one method an entry.
fn agent(
    bridge: &Arc<Bridge>,
    behind: &Arc<frames::Behind>,
) -> agent_client_protocol::v1::Builder<
    Agent,
    impl agent_client_protocol::HandleDispatchFrom<agent_client_protocol::Client> + use<>,
> {
    let [
        initialize,
        authenticate,
        new,
        load,
        resume,
        list,
        set_mode,
        set_option,
        prompt,
        cancel,
        close,
        delete,
        extension,
    ] = std::array::from_fn(|_| Arc::clone(bridge));
    let [behind_new, behind_load, behind_resume] = std::array::from_fn(|_| Arc::clone(behind));
    Agent
        .v1()
        .name("weft")
        .on_receive_request(
            async move |request: schema::InitializeRequest, responder, _| {
                responder.respond(initialize.initialize(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::AuthenticateRequest, responder, _| {
                responder.respond_with_result(authenticate.authenticate(&request).map_err(Error::from))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::NewSessionRequest, responder, connection| {
                start_new(
                    &new,
                    request,
                    Client { connection },
                    SetupAnswer::new(responder, &behind_new),
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::LoadSessionRequest, responder, connection| {
                start_load(
                    &load,
                    request.into(),
                    Client { connection },
                    SetupAnswer::new(responder, &behind_load),
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::ResumeSessionRequest, responder, connection| {
                start_load(
                    &resume,
                    request.into(),
                    Client { connection },
                    SetupAnswer::new(responder, &behind_resume),
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::ListSessionsRequest, responder, _| {
                let bridge = Arc::clone(&list);
                work(
                    &list,
                    responder,
                    list.ending(),
                    async move { bridge.list(request).await },
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::SetSessionModeRequest, responder, _| {
                responder.respond_with_result(set_mode.set_mode(&request).map_err(Error::from))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::SetSessionConfigOptionRequest, responder, _| {
                responder.respond_with_result(set_option.set_config_option(&request).map_err(Error::from))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::PromptRequest, responder, _| start_prompt(&prompt, request, responder),
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: schema::CancelNotification, _| {
                cancel.cancel(&request.session_id);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: schema::CloseSessionRequest, responder, _| {
                let bridge = Arc::clone(&close);
                work(&close, responder, close.expired(), async move {
                    bridge.close(&request.session_id).await
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::DeleteSessionRequest, responder, _| {
                let bridge = Arc::clone(&delete);
                work(&delete, responder, delete.expired(), async move {
                    bridge.delete(&request.session_id).await
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: UntypedMessage, responder, _| start_extension(&extension, request, responder),
            on_receive_request!(),
        )
}

/// The answer to a request that gives the client a session.
struct SetupAnswer<T: JsonRpcResponse> {
    responder: Responder<T>,
    behind: Arc<frames::Behind>,
}

impl<T: JsonRpcResponse + From<Setup>> SetupAnswer<T> {
    fn new(responder: Responder<T>, behind: &Arc<frames::Behind>) -> Self {
        Self {
            responder,
            behind: Arc::clone(behind),
        }
    }

    /// What the client has not been told of the session's commands goes directly behind the answer: it may know the
    /// session only then.
    fn give(self, mut outcome: Result<Setup, RequestError>) {
        if let Ok(setup) = &mut outcome {
            self.behind.put(self.responder.raw_id(), setup.take_commands());
        }
        answer(self.responder, outcome.map(T::from));
    }
}

impl From<Setup> for schema::NewSessionResponse {
    fn from(setup: Setup) -> Self {
        Self::new(setup.session)
            .modes(setup.modes)
            .config_options(setup.options)
    }
}

impl From<Setup> for schema::LoadSessionResponse {
    fn from(setup: Setup) -> Self {
        Self::new().modes(setup.modes).config_options(setup.options)
    }
}

impl From<Setup> for schema::ResumeSessionResponse {
    fn from(setup: Setup) -> Self {
        Self::new().modes(setup.modes).config_options(setup.options)
    }
}

fn start_new(
    bridge: &Arc<Bridge>,
    request: schema::NewSessionRequest,
    client: Client,
    answer: SetupAnswer<schema::NewSessionResponse>,
) -> Result<(), Error> {
    if let Err(error) = bridge.accepts() {
        return answer.responder.respond_with_error(error.into());
    }
    let withdrawn = answer.responder.cancellation();
    let (opening, end) = (Arc::clone(bridge), bridge.expired().clone());
    bridge.spawn(async move {
        let work = async move { opening.new_session(request, client).await };
        answer.give(until(work, withdrawn, end).await);
    });
    Ok(())
}

fn start_load<T: JsonRpcResponse + From<Setup>>(
    bridge: &Arc<Bridge>,
    request: LoadRequest,
    client: Client,
    answer: SetupAnswer<T>,
) -> Result<(), Error> {
    let load = match bridge.load(request, client) {
        Ok(load) => load,
        Err(error) => return answer.responder.respond_with_error(error.into()),
    };
    let withdrawn = answer.responder.cancellation();
    bridge.spawn(async move {
        let withdrawn = async move { withdrawn.cancelled().await };
        load.run(withdrawn, |outcome| answer.give(outcome)).await;
    });
    Ok(())
}

fn start_prompt(
    bridge: &Bridge,
    request: schema::PromptRequest,
    responder: Responder<schema::PromptResponse>,
) -> Result<(), Error> {
    let prompt = match bridge.prompt(request) {
        Ok(prompt) => prompt,
        Err(error) => return responder.respond_with_error(error.into()),
    };
    let withdrawn = responder.cancellation();
    let expired = bridge.expired().clone();
    bridge.spawn(async move {
        let withdrawn = async move { withdrawn.cancelled().await };
        let respond = |outcome: Result<_, _>| answer(responder, outcome.map(schema::PromptResponse::new));
        prompt.run(withdrawn, expired, respond).await;
    });
    Ok(())
}

type Untyped = (UntypedMessage, Responder<serde_json::Value>);

fn start_extension(
    bridge: &Bridge,
    request: UntypedMessage,
    responder: Responder<serde_json::Value>,
) -> Result<Handled<Untyped>, Error> {
    let UntypedMessage { method, params } = request;
    match bridge.options().extensions.call(&method, params) {
        Ok(running) => {
            // It may wait for something that comes no more: what is not done when the end begins is dropped.
            work(bridge, responder, bridge.ending(), async move { Ok(running.await?) })?;
            Ok(Handled::Yes)
        }
        Err(params) => Ok(Handled::No {
            message: (UntypedMessage { method, params }, responder),
            retry: false,
        }),
    }
}

/// Works on a request in a task of its own and answers it, when `end` fires at the latest.
fn work<T: JsonRpcResponse>(
    bridge: &Bridge,
    responder: Responder<T>,
    end: &CancellationToken,
    work: impl Future<Output = Result<T, RequestError>> + Send + 'static,
) -> Result<(), Error> {
    if let Err(error) = bridge.accepts() {
        return responder.respond_with_error(error.into());
    }
    let withdrawn = responder.cancellation();
    let end = end.clone();
    bridge.spawn(async move { answer(responder, until(work, withdrawn, end).await) });
    Ok(())
}

/// What comes of the work, unless the client takes its request back or the end comes first.
async fn until<T>(
    work: impl Future<Output = Result<T, RequestError>>,
    withdrawn: RequestCancellation,
    end: CancellationToken,
) -> Result<T, RequestError> {
    tokio::select! {
        // What is done is answered, even if it was read with the last bytes of the input.
        biased;
        outcome = work => outcome,
        () = withdrawn.cancelled() => Err(RequestError::Cancelled),
        () = end.cancelled() => Err(closing()),
    }
}

fn answer<T: JsonRpcResponse>(responder: Responder<T>, outcome: Result<T, RequestError>) {
    if let Err(RequestError::Internal(reason)) = &outcome {
        tracing::warn!(method = responder.method(), reason, "a request failed");
    }
    if responder.respond_with_result(outcome.map_err(Error::from)).is_err() {
        tracing::debug!("a request was answered after the end of its connection");
    }
}

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Self {
        let code = match &error {
            RequestError::InvalidParams(_) => ErrorCode::INVALID_PARAMS,
            RequestError::UnknownSession(_) | RequestError::NotStored { .. } => ErrorCode::RESOURCE_NOT_FOUND,
            RequestError::AuthRequired(_) => ErrorCode::AUTH_REQUIRED,
            RequestError::Cancelled => ErrorCode::REQUEST_CANCELLED,
            RequestError::Internal(_) => ErrorCode::INTERNAL_ERROR,
        };
        let message = error.to_string();
        let data = match error {
            RequestError::UnknownSession(id) | RequestError::NotStored { id, .. } => {
                Some(serde_json::json!({ "sessionId": id }))
            }
            _ => None,
        };
        Self::new(code, message).data(data)
    }
}

impl From<ExtensionError> for RequestError {
    fn from(error: ExtensionError) -> Self {
        match error {
            ExtensionError::InvalidParams(text) => Self::InvalidParams(text),
            ExtensionError::Failed(text) => Self::Internal(text),
        }
    }
}

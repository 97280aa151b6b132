//! One connection to a server, from its handshake to its end.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{ClientRequest, PingRequest, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::time::{Instant, timeout, timeout_at};
use weft_process::{Launch, Mask, PipedProcess, Vitals};

use crate::handler::Handler;
use crate::listing::Listing;
use crate::progress::Board;
use crate::{Failure, ServerConfig, ServerContext, Transport, http};

/// The longest line that a server may send, in bytes.
const MAX_LINE: usize = 16 << 20;
/// How long the end of a process may come after the end of its output, for its status to be told.
const STATUS: Duration = Duration::from_millis(500);
/// How long a server may take to say that it is still there.
const PING: Duration = Duration::from_secs(3);
/// How long the SDK may take to let go of a connection.
const LET_GO: Duration = Duration::from_millis(300);

type Service = RunningService<RoleClient, Handler>;

/// A server that has said hello. Dropping it kills its process.
pub(crate) struct Connection {
    pub(crate) line: Arc<Line>,
    service: Service,
    process: Option<PipedProcess>,
}

/// What a call needs of a connection. As long as a call holds it, the call is under way.
pub(crate) struct Line {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) board: Arc<Board>,
    vitals: Option<Arc<Vitals>>,
    /// A call has succeeded.
    pub(crate) worked: AtomicBool,
    /// A call was given up unanswered: the server may hang.
    pub(crate) doubted: AtomicBool,
}

/// What connecting takes.
pub(crate) struct Connecting<'a> {
    pub(crate) config: &'a ServerConfig,
    pub(crate) context: &'a ServerContext,
    pub(crate) mask: &'a Mask,
}

/// Why a handshake failed.
enum Refusal {
    /// It understood the question and refused it: it may speak a later protocol.
    Version(Failure),
    Other(Failure),
}

impl Connecting<'_> {
    /// Connects within the server's time and asks what it offers.
    pub(crate) async fn open(&self) -> Result<(Connection, Listing), Failure> {
        let deadline = Instant::now() + self.config.startup_timeout;
        match self.attempt(ClientLifecycleMode::Initialize, deadline).await {
            Ok(opened) => Ok(opened),
            Err(Refusal::Other(failure)) => Err(failure),
            Err(Refusal::Version(first)) => {
                let latest = ClientLifecycleMode::Discover {
                    preferred_versions: vec![ProtocolVersion::LATEST],
                };
                self.attempt(latest, deadline)
                    .await
                    .map_err(|second| match (first, second) {
                        (Failure::Protocol { reason }, Refusal::Version(Failure::Protocol { reason: later })) => {
                            let reason = format!("{reason}; in the protocol's next version: {later}");
                            Failure::Protocol { reason }
                        }
                        (first, _) => first,
                    })
            }
        }
    }

    async fn attempt(
        &self,
        lifecycle: ClientLifecycleMode,
        deadline: Instant,
    ) -> Result<(Connection, Listing), Refusal> {
        match &self.config.transport {
            Transport::Unusable { reason } => Err(Refusal::Other(Failure::Unusable { reason: reason.clone() })),
            Transport::Http { url, headers } => {
                let transport = http::transport(url, headers).map_err(Refusal::Other)?;
                self.shake_hands(transport, None, lifecycle, deadline).await
            }
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let own = env.iter().map(|(name, value)| (name.into(), value.into()));
                let env: Vec<_> = self.context.environment.iter().cloned().chain(own).collect();
                let launch = Launch {
                    what: "an MCP server",
                    name: &self.config.name,
                    command,
                    args,
                    env: &env,
                    folder: cwd.as_deref().unwrap_or(&self.context.cwd),
                    mask: self.mask,
                };
                let (process, stdin, stdout) =
                    PipedProcess::start(&launch).map_err(|error| Refusal::Other(error.into()))?;
                let transport = AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MAX_LINE);
                self.shake_hands(transport, Some(process), lifecycle, deadline).await
            }
        }
    }

    async fn shake_hands<T, E, A>(
        &self,
        transport: T,
        process: Option<PipedProcess>,
        lifecycle: ClientLifecycleMode,
        deadline: Instant,
    ) -> Result<(Connection, Listing), Refusal>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: Error + Send + Sync + 'static,
    {
        let board = Arc::<Board>::default();
        let handler = Handler::new(&self.config.name, self.context, Arc::clone(&board), self.mask.clone());
        let vitals = process.as_ref().map(|process| Arc::clone(process.vitals()));
        let hello = async {
            let service = serve_client_with_lifecycle(handler, transport, lifecycle).await;
            let service = service.map_err(|error| self.refusal(&error))?;
            let offers = service.peer_info().is_none_or(|info| info.capabilities.tools.is_some());
            let listing = if offers {
                Listing::of(service.peer())
                    .await
                    .map_err(|error| Refusal::Other(self.broken(&error)))?
            } else {
                Listing::default()
            };
            Ok((service, listing))
        };
        match timeout_at(deadline, hello).await {
            Ok(Ok((service, listing))) => {
                let line = Line {
                    peer: service.peer().clone(),
                    board,
                    vitals,
                    worked: AtomicBool::new(false),
                    doubted: AtomicBool::new(false),
                };
                let line = Arc::new(line);
                Ok((Connection { line, service, process }, listing))
            }
            Ok(Err(refusal)) => Err(match (vitals, &refusal) {
                // That its process ended says more than that its output did. After another refusal it ends because its
                // input has.
                (Some(vitals), Refusal::Other(Failure::Connect { .. })) => vitals
                    .exited_within(STATUS)
                    .await
                    .map_or(refusal, |exit| Refusal::Other(exit.into())),
                _ => refusal,
            }),
            Err(_late) => Err(Refusal::Other(Failure::TimedOut {
                limit: self.config.startup_timeout,
                stderr: vitals.map_or_else(String::new, |vitals| vitals.stderr()),
            })),
        }
    }

    fn refusal(&self, error: &ClientInitializeError) -> Refusal {
        let reason = self.mask.apply(&chain(error));
        match error {
            ClientInitializeError::JsonRpcError(_) | ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                Refusal::Version(Failure::Protocol { reason })
            }
            error if error.is_authorization_required() => Refusal::Other(Failure::Unauthorised { reason }),
            ClientInitializeError::TransportError { .. } | ClientInitializeError::ConnectionClosed(_) => {
                Refusal::Other(Failure::Connect { reason })
            }
            _ => Refusal::Other(Failure::Protocol { reason }),
        }
    }

    fn broken(&self, error: &ServiceError) -> Failure {
        let reason = self.mask.apply(&chain(error));
        match error {
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => Failure::Connect { reason },
            _ => Failure::Protocol {
                reason: format!("asked for its tools, it answered with something else: {reason}"),
            },
        }
    }
}

impl Connection {
    /// What the server wants a model to know.
    pub(crate) fn instructions(&self) -> Option<String> {
        let info = self.service.peer_info()?;
        info.instructions.clone().filter(|text| !text.trim().is_empty())
    }

    /// Whether calls can be made. One that may hang is asked for a sign of life, unless calls are under way.
    pub(crate) async fn is_usable(&self) -> bool {
        if self.line.is_closed() {
            return false;
        }
        let is_idle = Arc::strong_count(&self.line) == 1;
        if !is_idle || !self.line.doubted.swap(false, Ordering::Relaxed) {
            return true;
        }
        let ping = self
            .line
            .peer
            .send_request(ClientRequest::PingRequest(PingRequest::default()));
        match timeout(PING, ping).await {
            // One that refuses a ping is there.
            Ok(Ok(_) | Err(ServiceError::McpError(_))) => true,
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Why it cannot be used any more.
    pub(crate) fn fault(&self) -> String {
        let exited = self.line.vitals.as_ref().and_then(|vitals| vitals.exited());
        exited.map_or_else(
            || "it did not answer any more".to_owned(),
            |exit| Failure::from(exit).to_string(),
        )
    }

    /// Ends it politely: the server is told, and its process has time to leave.
    pub(crate) async fn end(mut self) {
        if let Err(error) = self.service.close_with_timeout(LET_GO).await {
            tracing::debug!(%error, "a connection to an MCP server broke off");
        }
        if let Some(process) = self.process.take() {
            process.end().await;
        }
    }
}

impl Line {
    /// Whether it is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed() || self.vitals.as_ref().is_some_and(|vitals| vitals.exited().is_some())
    }

    /// Why the server is gone, if its process has ended or ends soon.
    pub(crate) async fn death(&self) -> Option<Failure> {
        self.vitals.as_ref()?.exited_within(STATUS).await.map(Failure::from)
    }
}

/// An error with its causes, each said once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

//! A server for as long as its session lives: connected, or connected again by the next call.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weft_process::Mask;

use crate::connection::{Connecting, Connection, Line};
use crate::listing::Listing;
use crate::{Failure, ServerConfig, ServerContext, Transport};

/// How often a server is started again without a call that succeeds in between.
const RESTARTS: u32 = 5;
/// How long the second start in a row waits; each further one waits twice as long.
const BACKOFF: Duration = Duration::from_millis(250);
/// Calls that may wait for a connection; more wait to be taken up.
const WAITING: usize = 16;

/// The connection that was made last, for whoever only looks at it.
type Latest = Arc<Mutex<Weak<Line>>>;

type Ask = oneshot::Sender<Result<Arc<Line>, Failure>>;

/// A server. Dropping it kills its process; [`close`](Self::close) is the polite way.
pub(crate) struct Server {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) mask: Mask,
    asks: mpsc::Sender<Ask>,
    closing: CancellationToken,
    keeper: Mutex<Option<JoinHandle<()>>>,
    latest: Latest,
}

/// What a server said when it was started.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) listing: Listing,
    pub(crate) instructions: Option<String>,
}

impl Server {
    pub(crate) async fn start(config: ServerConfig, context: Arc<ServerContext>) -> Result<(Self, Greeting), Failure> {
        let mask = mask(&config, &context);
        let config = Arc::new(config);
        let mut keeper = Keeper {
            config: Arc::clone(&config),
            context,
            mask: mask.clone(),
            connection: None,
            restarts: 0,
            fault: String::new(),
            latest: Latest::default(),
        };
        let listing = keeper.connect().await?;
        let instructions = keeper.connection.as_ref().and_then(Connection::instructions);
        let latest = Arc::clone(&keeper.latest);
        let (asks, inbox) = mpsc::channel(WAITING);
        let closing = CancellationToken::new();
        let keeper = tokio::spawn(keeper.run(inbox, closing.clone()));
        let server = Self {
            config,
            mask,
            asks,
            closing,
            keeper: Mutex::new(Some(keeper)),
            latest,
        };
        Ok((server, Greeting { listing, instructions }))
    }

    /// A connection to call it on; it is started again if it is gone.
    pub(crate) async fn line(&self) -> Result<Arc<Line>, Failure> {
        let (ask, answer) = oneshot::channel();
        self.asks.send(ask).await.map_err(|_closed| Failure::Closing)?;
        answer.await.unwrap_or(Err(Failure::Closing))
    }

    /// Whether it is connected, as far as that is known without asking it.
    pub(crate) fn is_up(&self) -> bool {
        let line = self.latest.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        line.is_some_and(|line| !line.is_closed())
    }

    /// Ends it, and resolves when nothing of its process is left.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper
            && let Err(error) = keeper.await
        {
            tracing::warn!(server = self.config.name, %error, "the keeper of an MCP server broke off");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let keeper = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            keeper.abort();
        }
    }
}

/// The task that owns the connection.
struct Keeper {
    config: Arc<ServerConfig>,
    context: Arc<ServerContext>,
    mask: Mask,
    connection: Option<Connection>,
    /// Starts since the last call that succeeded.
    restarts: u32,
    /// Why the last connection ended.
    fault: String,
    latest: Latest,
}

impl Keeper {
    async fn run(mut self, mut asks: mpsc::Receiver<Ask>, closing: CancellationToken) {
        loop {
            let ask = tokio::select! {
                ask = asks.recv() => ask,
                () = closing.cancelled() => None,
            };
            let Some(ask) = ask else { break };
            let line = tokio::select! {
                line = self.line() => line,
                () = closing.cancelled() => Err(Failure::Closing),
            };
            // A call that was cancelled meanwhile needs none.
            let _unheard = ask.send(line);
        }
        if let Some(connection) = self.connection.take() {
            connection.end().await;
        }
    }

    async fn line(&mut self) -> Result<Arc<Line>, Failure> {
        if let Some(connection) = &self.connection {
            if connection.is_usable().await {
                return Ok(Arc::clone(&connection.line));
            }
            self.put_away();
        }
        if self.restarts >= RESTARTS {
            return Err(Failure::GivenUp {
                times: self.restarts + 1,
                last: self.fault.clone(),
            });
        }
        if self.restarts > 0 {
            tokio::time::sleep(BACKOFF * 2_u32.pow(self.restarts - 1)).await;
        }
        self.restarts += 1;
        tracing::warn!(
            server = self.config.name,
            fault = self.fault,
            "an MCP server is started again"
        );
        if let Err(failure) = self.connect().await {
            self.fault = failure.to_string();
            return Err(failure);
        }
        let connection = self.connection.as_ref().ok_or(Failure::Closing)?;
        Ok(Arc::clone(&connection.line))
    }

    /// Lets go of a connection that is of no use. What is left of its process is killed.
    fn put_away(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        if connection.line.worked.load(Ordering::Relaxed) {
            self.restarts = 0;
        }
        self.fault = connection.fault();
    }

    async fn connect(&mut self) -> Result<Listing, Failure> {
        let connecting = Connecting {
            config: &self.config,
            context: &self.context,
            mask: &self.mask,
        };
        let (connection, listing) = connecting.open().await?;
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&connection.line);
        self.connection = Some(connection);
        Ok(listing)
    }
}

/// All that must not be shown of what the server says.
fn mask(config: &ServerConfig, context: &ServerContext) -> Mask {
    let mut secrets = context.secrets.clone();
    match &config.transport {
        Transport::Stdio { env, .. } => secrets.extend(env.iter().map(|(_, value)| value.clone())),
        Transport::Http { url, headers } => {
            for (_, value) in headers {
                // What follows the scheme may turn up alone.
                secrets.extend(value.split_once(' ').map(|(_, rest)| rest.to_owned()));
                secrets.push(value.clone());
            }
            secrets.extend(url.split_once('?').map(|(_, query)| query.to_owned()));
        }
        Transport::Unusable { .. } => {}
    }
    Mask::new(secrets)
}

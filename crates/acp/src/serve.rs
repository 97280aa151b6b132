//! The life of one connection.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use weft_types::SessionId;

use crate::AcpOptions;
use crate::bridge::Bridge;
use crate::outbox::Outbox;
use crate::sdk::{self, Client};
use crate::ticker::Ticker;
use crate::transport::{Input, spawn_reader};

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitReport {
    /// Why it ended.
    pub reason: ExitReason,
    /// The sessions that were not quiet when the grace was over; their work was given up.
    pub unfinished: Vec<SessionId>,
    /// Whether everything that was to be said has been written.
    pub written: bool,
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The client closed its input; that is how it takes its leave.
    EndOfInput,
    /// The caller asked for it.
    Shutdown,
    /// The client no longer takes output: it closed its end, or has not read for too long.
    OutputClosed,
    /// It could not be served.
    Failed(String),
}

/// Serves one client on a pair of streams until its input ends, its output breaks or `shutdown` fires.
///
/// Then requests that were read are answered (a running prompt with `cancelled`), all sessions are closed
/// side by side, and what waits is written, all within [`AcpOptions::close_grace`]. Nothing but protocol is
/// ever written to `output`.
///
/// Must run inside of a tokio runtime with its timer on. Reading and writing happen on two threads: the
/// writing one ends with the connection unless the client does not read, the reading one when its input
/// ends. Dropping the future ends the sessions without a word to the client.
pub async fn serve(
    options: AcpOptions,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    shutdown: CancellationToken,
) -> ExitReport {
    let started = Outbox::start(output, options.outbox_bytes).and_then(|outbox| {
        let close = outbox.close_on_drop();
        let input = spawn_reader(input, options.line_limit)?;
        Ok((input, outbox, close))
    });
    match started {
        Ok((input, outbox, _close)) => run(options, input, outbox, shutdown).await,
        Err(error) => ExitReport {
            reason: ExitReason::Failed(format!("failed to start a thread for the client's streams: {error}")),
            unfinished: Vec::new(),
            written: true,
        },
    }
}

async fn run(options: AcpOptions, input: Input, outbox: Outbox, shutdown: CancellationToken) -> ExitReport {
    let grace = options.close_grace.get();
    let ticker = Ticker::default();
    let bridge = Arc::new(Bridge::new(options, outbox.clone(), ticker.clone()));
    // End what is in flight if this future is dropped.
    let _end = bridge.ending().clone().drop_guard();
    let _expire = bridge.expired().clone().drop_guard();
    let session = async |client: Client| {
        let reason = tokio::select! {
            () = client.closed_input() => ExitReason::EndOfInput,
            () = shutdown.cancelled() => ExitReason::Shutdown,
            () = outbox.broken() => ExitReason::OutputClosed,
        };
        let end = Ending::within(grace);
        let unfinished = bridge.end(end.sessions).await;
        (reason, unfinished, end)
    };
    let served = tokio::select! {
        served = sdk::connect(&bridge, input, &outbox, session) => served,
        never = ticker.run() => match never {},
    };
    let (reason, unfinished, end) = match served {
        Ok(ended) => ended,
        Err(error) => {
            let end = Ending::within(grace);
            let unfinished = bridge.end(end.sessions).await;
            (
                ExitReason::Failed(format!("the protocol failed: {error}")),
                unfinished,
                end,
            )
        }
    };
    outbox.close();
    let written = timeout_at(end.output, outbox.ended()).await.is_ok() && !outbox.is_broken();
    ExitReport {
        reason,
        unfinished,
        written,
    }
}

/// By when what must have ended: the sessions have three quarters of the grace, so that there is time left
/// to say how they ended.
struct Ending {
    sessions: Instant,
    output: Instant,
}

impl Ending {
    fn within(grace: Duration) -> Self {
        let now = Instant::now();
        Self {
            sessions: now + grace * 3 / 4,
            output: now + grace,
        }
    }
}

//! The worker's side: one script in one process.
//!
//! Four threads: the main one reads stdin, one runs the engine, one writes what gathers for stdout, one ends the process
//! if a slice of script does not stop when told. Whatever goes wrong ends the process; its parent draws the conclusions.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use crate::frames::Decoder;
use crate::protocol::{Setup, ToWorker, WORKER_READ_LIMIT};

mod agent;
mod calls;
mod chance;
mod control;
mod engine;
mod finish;
mod hooks;
mod kind;
mod limits;
mod load;
mod narration;
mod notes;
mod output;
mod pipe;
mod plain;
mod prelude;
mod rejections;
mod render;
mod sandbox;
mod saved;
mod scope;
mod session;

use control::Control;
use sandbox::MemoryGauge;
pub(crate) use saved::MAX_NAME_BYTES;

/// The engine's thread needs a real stack: the script's own limit is counted within it.
const ENGINE_STACK: usize = 8 * 1024 * 1024;

/// Runs one script as the engine's worker process: all of what the hidden `worker` command does.
///
/// It speaks over stdin and stdout, limits its own process, and ends it when stdin does. It must be called before
/// any other thread or runtime of the process exists.
pub fn run_worker() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Says something on stderr in one line, the last of which the parent quotes.
fn complain(what: &dyn std::fmt::Display) {
    let line = what.to_string().replace('\n', " ");
    // Nobody is left to be told if that fails.
    drop(writeln!(io::stderr(), "{line}"));
}

fn serve() -> io::Result<()> {
    let mut inbox = Inbox::new();
    let setup = match inbox.next()? {
        Some(ToWorker::Setup(setup)) => setup,
        Some(_) => return Err(io::Error::other("the first message is no setup")),
        None => return Ok(()),
    };
    limits::apply(&setup)?;
    let gauge = MemoryGauge::open();
    sandbox::enter(&gauge)?;
    let control = Arc::new(Control::new());
    let (sender, receiver) = mpsc::channel();
    control::start_watchdog(&control)?;
    start_engine(setup, Arc::clone(&control), receiver, gauge)?;
    while let Some(message) = inbox.next()? {
        if matches!(message, ToWorker::Cancel) {
            control.cancel();
        }
        // The engine exits the process when it is done; nobody to send to means that this is happening.
        drop(sender.send(message));
    }
    Ok(())
}

/// Starts the thread that runs the script and then ends the process.
///
/// The channel is unbounded, so that stdin is always read and the parent never blocks on it; what it holds is bounded
/// by the calls in flight.
fn start_engine(
    setup: Setup,
    control: Arc<Control>,
    receiver: mpsc::Receiver<ToWorker>,
    gauge: MemoryGauge,
) -> io::Result<()> {
    let thread = thread::Builder::new().name("engine".into()).stack_size(ENGINE_STACK);
    let run = move || {
        let result = catch_unwind(AssertUnwindSafe(|| engine::run(&setup, &control, &receiver, &gauge)));
        let code = match result {
            Ok(Ok(())) => 0,
            Ok(Err(error)) => {
                complain(&error);
                1
            }
            // The panic has been printed.
            Err(_) => 101,
        };
        // Without tearing the engine down: freeing a large heap takes long, and cannot help anybody.
        process::exit(code)
    };
    thread.spawn(run).map(drop)
}

/// The messages of the parent.
struct Inbox {
    decoder: Decoder,
    chunk: Vec<u8>,
}

impl Inbox {
    fn new() -> Self {
        Self {
            decoder: Decoder::new(WORKER_READ_LIMIT),
            chunk: vec![0; 64 * 1024],
        }
    }

    /// The next one; `None` when the parent is gone.
    fn next(&mut self) -> io::Result<Option<ToWorker>> {
        loop {
            if let Some(message) = self.decoder.next().map_err(io::Error::other)? {
                return Ok(Some(message));
            }
            match io::stdin().lock().read(&mut self.chunk) {
                Ok(0) => return Ok(None),
                Ok(n) => self.decoder.push(&self.chunk[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

//! The worker's side: one script in one process.
//!
//! Four threads: the main one reads stdin, one runs the engine, one writes what gathers for stdout, one ends the process
//! if a slice of script does not stop when told. Whatever goes wrong ends the process; its parent draws the conclusions.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, ExitCode};
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread;

use crate::frames::Decoder;
use crate::protocol::{Setup, ToWorker, WORKER_READ_LIMIT};
use crate::sandbox::SandboxReport;

mod agent;
mod calls;
mod chance;
mod control;
mod engine;
#[cfg(feature = "escape")]
mod escape;
mod finish;
mod gauge;
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
use gauge::MemoryGauge;
use pipe::Pipe;
pub(crate) use saved::MAX_NAME_BYTES;

/// The engine's thread needs a real stack: the script's own limit is counted within it.
const ENGINE_STACK: usize = 8 * 1024 * 1024;

/// The threads of a worker, this one included.
const THREADS: usize = 4;

/// What the engine's thread has to do its work.
#[derive(Debug)]
struct Work {
    setup: Setup,
    control: Arc<Control>,
    /// What the parent sends.
    inbox: mpsc::Receiver<ToWorker>,
    gauge: Arc<MemoryGauge>,
    pipe: Pipe,
    /// Brings word that the process is shut in.
    report: mpsc::Receiver<SandboxReport>,
}

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

/// [`run_worker`], whose script has a function `syscall(number, ...arguments)` besides, for the tests of the sandbox.
#[cfg(feature = "escape")]
pub fn run_worker_that_escapes(system_call: fn(i64, [u64; 6]) -> i64) -> ExitCode {
    escape::open(system_call);
    run_worker()
}

/// Says something on stderr in one line, the last of which the parent quotes.
fn complain(what: &dyn std::fmt::Display) {
    let line = what.to_string().replace('\n', " ");
    // Nobody is left to be told if that fails.
    drop(writeln!(io::stderr(), "{line}"));
}

fn serve() -> io::Result<()> {
    sandbox::drop_inherited();
    let mut inbox = Inbox::new();
    let setup = match inbox.next()? {
        Some(ToWorker::Setup(setup)) => setup,
        Some(_) => return Err(io::Error::other("the first message is no setup")),
        None => return Ok(()),
    };
    limits::apply(&setup)?;
    let gauge = Arc::new(MemoryGauge::open());
    let half_way = sandbox::enter(setup.sandbox, &gauge)?;
    let control = Arc::new(Control::new());
    let ready = Arc::new(Barrier::new(THREADS));
    let (sender, receiver) = mpsc::channel();
    let (entered, report) = mpsc::channel();
    control::start_watchdog(&control, &ready)?;
    let work = Work {
        setup,
        control: Arc::clone(&control),
        inbox: receiver,
        gauge: Arc::clone(&gauge),
        pipe: Pipe::start(&ready)?,
        report,
    };
    start_engine(work, &ready)?;
    // A thread that begins makes calls which are forbidden from here on.
    ready.wait();
    // The engine's thread ends the process if it cannot take it.
    drop(entered.send(half_way.complete(&gauge)?));
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
fn start_engine(work: Work, ready: &Arc<Barrier>) -> io::Result<()> {
    let thread = thread::Builder::new().name("engine".into()).stack_size(ENGINE_STACK);
    let ready = Arc::clone(ready);
    let run = move || {
        ready.wait();
        let result = catch_unwind(AssertUnwindSafe(|| engine::run(work)));
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

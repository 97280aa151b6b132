//! A worker at work: its messages, and its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::exit::Exit;
use super::launch::Launched;
use crate::EngineConfig;
use crate::frames::{Decoder, FrameError, encode};
use crate::protocol::{FromWorker, ToWorker};

/// How much is read at a time. What a worker says beyond that waits in the pipe, which makes the worker wait.
const CHUNK_BYTES: usize = 64 * 1024;
/// How much is kept of what a worker says on stderr.
const SAID_BYTES: usize = 4096;
/// How long a worker is waited for that has closed its output, before it is killed, and then again.
const MOMENT: Duration = Duration::from_millis(250);

/// What comes from a worker.
#[derive(Debug)]
pub(super) enum Incoming {
    Message(FromWorker),
    /// Its output ended, or is of no more use for this reason. Nothing follows.
    Over(Option<String>),
}

/// The connection to a worker. Dropping it kills the worker.
#[derive(Debug)]
pub(super) struct Connection {
    child: Child,
    max_frame_bytes: usize,
    outgoing: Option<mpsc::UnboundedSender<Vec<u8>>>,
    stdout: ChildStdout,
    decoder: Decoder,
    chunk: Vec<u8>,
    said: Arc<Mutex<Vec<u8>>>,
    stderr: JoinHandle<()>,
    /// The task that writes. It is aborted when this is dropped.
    _tasks: JoinSet<()>,
}

impl Connection {
    /// Writes in a task of its own, so that neither side ever waits for the other with both pipes full.
    pub(super) fn new(worker: Launched, config: &EngineConfig) -> Self {
        // Bounded by the calls in flight: to each there is one reply.
        let (outgoing, queue) = mpsc::unbounded_channel();
        let said = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(write_frames(worker.stdin, queue));
        Self {
            stderr: tokio::spawn(keep_tail(worker.stderr, Arc::clone(&said))),
            child: worker.child,
            max_frame_bytes: config.max_frame_bytes,
            outgoing: Some(outgoing),
            stdout: worker.stdout,
            decoder: worker.decoder,
            chunk: vec![0; CHUNK_BYTES],
            said,
            _tasks: tasks,
        }
    }

    /// Sends a message, unless the worker is gone, which shows elsewhere.
    ///
    /// # Errors
    ///
    /// It does not fit into a frame; nothing was sent.
    pub(super) fn send(&self, message: &ToWorker) -> Result<(), FrameError> {
        let frame = encode(message, self.max_frame_bytes)?;
        if let Some(outgoing) = &self.outgoing {
            drop(outgoing.send(frame));
        }
        Ok(())
    }

    /// The next message. Dropping the future loses nothing.
    ///
    /// It reads in the caller's own task: a worker that tells much would wake another task for every message.
    pub(super) async fn next(&mut self) -> Incoming {
        loop {
            match self.decoder.next() {
                Ok(Some(message)) => return Incoming::Message(message),
                Err(error) => return Incoming::Over(Some(error.to_string())),
                Ok(None) => {}
            }
            match self.stdout.read(&mut self.chunk).await {
                Ok(0) | Err(_) => return Incoming::Over(None),
                Ok(n) => self.decoder.push(&self.chunk[..n]),
            }
        }
    }

    /// Kills the worker and whatever else is in its process group.
    pub(super) fn kill(&mut self) {
        let pid = self
            .child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        // Until it is waited for, its id is its own, even if it has exited.
        if let Some(Err(error)) = pid.map(|pid| kill_process_group(pid, Signal::KILL)) {
            tracing::debug!(%error, "a worker process could not be killed");
        }
    }

    /// Waits for the worker to exit by itself, and kills it if that takes longer than its due.
    pub(super) async fn exit(&mut self, patience: Duration) {
        if self.exit_by_itself(patience).await.is_none() {
            self.kill();
            drop(timeout(MOMENT, self.child.wait()).await);
        }
    }

    async fn exit_by_itself(&mut self, patience: Duration) -> Option<Exit> {
        // The end of its input tells a worker to exit.
        self.outgoing = None;
        let status = timeout(patience, self.child.wait()).await;
        status.ok()?.ok().map(Exit::of)
    }

    /// Why the worker is gone, which ended before it was done.
    pub(super) async fn cause_of_death(&mut self, config: &EngineConfig) -> String {
        let exit = self.exit_by_itself(MOMENT).await;
        if exit.is_none() {
            self.kill();
        }
        // What it said is all there once its stderr has ended; a descendant might keep that open.
        drop(timeout(MOMENT, &mut self.stderr).await);
        match exit {
            Some(exit) => exit.explain(&lock(&self.said), config),
            None => "the worker process closed its output and went on, so it was killed".to_owned(),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stderr.abort();
        self.kill();
    }
}

async fn write_frames(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = queue.recv().await {
        if stdin.write_all(&frame).await.is_err() {
            // The worker is gone, which its output shows.
            return;
        }
    }
}

async fn keep_tail(mut stderr: impl AsyncRead + Unpin, said: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 1024];
    while let Ok(n @ 1..) = stderr.read(&mut chunk).await {
        let mut said = lock(&said);
        said.extend_from_slice(&chunk[..n]);
        let excess = said.len().saturating_sub(SAID_BYTES);
        said.drain(..excess);
    }
}

fn lock(said: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    // Bytes are in order whatever happened to a writer.
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

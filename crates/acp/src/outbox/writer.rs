//! The thread that writes.
//!
//! What gathers while one batch is written makes the next one. After a small batch the thread gives the
//! producers a moment before it looks again, so that a flood costs one wake-up per batch and not one per
//! message; responses and requests cut that moment short.

use std::io::{self, Write};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Shared, State, WriterState};

/// The most that one write carries, unless a single line is longer.
pub(crate) const BATCH_BYTES: usize = 64 << 10;

/// How long a batch may take to fill after a small one.
const GATHER: Duration = Duration::from_micros(100);

/// Starts the thread. It ends when the outbox is closed and empty, or at the first failing write.
pub(super) fn spawn(shared: Arc<Shared>, output: impl Write + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("weft-acp-writer".into()).spawn(move || {
        let ended = shared.ended.clone().drop_guard();
        if let Err(error) = write_all(&shared, output) {
            tracing::info!(%error, "writing to the client failed; the connection is over");
            shared.give_up();
        }
        drop(ended);
    })?;
    Ok(())
}

fn write_all(shared: &Shared, mut output: impl Write) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH_BYTES);
    loop {
        let gather = !batch.is_empty() && batch.len() < BATCH_BYTES / 2;
        batch.clear();
        let mut state = wait(shared, gather);
        state.queue.take(&mut batch);
        state.urgent = false;
        drop(state);
        if batch.is_empty() {
            return Ok(());
        }
        shared.written.notify_waiters();
        output.write_all(&batch)?;
        output.flush()?;
    }
}

/// Waits for something to write; the queue is empty only if the outbox is closed.
fn wait(shared: &Shared, gather: bool) -> MutexGuard<'_, State> {
    let mut state = shared.lock();
    if gather && state.open && !state.urgent && state.queue.bytes() < BATCH_BYTES {
        state.writer = WriterState::Gathering;
        let asleep = |state: &mut State| state.open && state.writer == WriterState::Gathering;
        state = match shared.wake.wait_timeout_while(state, GATHER, asleep) {
            Ok((state, _)) => state,
            Err(poisoned) => poisoned.into_inner().0,
        };
    }
    if state.queue.is_empty() && state.open {
        state.writer = WriterState::Idle;
        let asleep = |state: &mut State| state.open && state.writer == WriterState::Idle;
        state = shared
            .wake
            .wait_while(state, asleep)
            .unwrap_or_else(PoisonError::into_inner);
    }
    state.writer = WriterState::Busy;
    state
}

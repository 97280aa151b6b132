//! Stdout, written in batches.
//!
//! A script may tell thousands of things a second, and a write for each would cost more than the telling. So
//! narration is left for a thread that writes whatever has gathered while it was busy with the last batch:
//! one thing alone leaves at once, many leave together. Everything else is written by whoever says it, behind
//! what waits.

use std::io::{self, Write};
use std::process;
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What may wait. Beyond it whoever has something to tell writes himself, and so waits for the parent.
const WAITING_BYTES: usize = 64 * 1024;
/// The writer only passes bytes on.
const STACK: usize = 128 * 1024;

/// The way to the parent; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Vec<u8>>,
    gathered: Condvar,
    /// Held from the taking of what waits to its last byte, which keeps the order.
    writing: Mutex<()>,
}

impl Pipe {
    /// Starts the writer, which ends with the process and tells when it is ready.
    pub(super) fn start(ready: &Arc<Barrier>) -> io::Result<Self> {
        let pipe = Self {
            shared: Arc::new(Shared {
                waiting: Mutex::new(Vec::new()),
                gathered: Condvar::new(),
                writing: Mutex::new(()),
            }),
        };
        let writer = pipe.clone();
        let thread = thread::Builder::new().name("writer".into()).stack_size(STACK);
        let ready = Arc::clone(ready);
        thread.spawn(move || {
            ready.wait();
            writer.write_for_ever();
        })?;
        Ok(pipe)
    }

    /// Leaves some bytes to the writer.
    pub(super) fn tell(&self, bytes: &[u8]) {
        let full = {
            let mut waiting = lock(&self.shared.waiting);
            let alone = waiting.is_empty();
            waiting.extend_from_slice(bytes);
            if alone {
                self.shared.gathered.notify_one();
            }
            waiting.len() > WAITING_BYTES
        };
        if full {
            self.write(&[]);
        }
    }

    /// Writes some bytes behind all that waits, before it returns.
    pub(super) fn write(&self, bytes: &[u8]) {
        let writing = lock(&self.shared.writing);
        let mut batch = std::mem::take(&mut *lock(&self.shared.waiting));
        batch.extend_from_slice(bytes);
        let mut stdout = io::stdout().lock();
        if stdout.write_all(&batch).and_then(|()| stdout.flush()).is_err() {
            // The parent is gone, and with it the reason to go on.
            process::exit(1);
        }
        drop(writing);
    }

    fn write_for_ever(&self) {
        loop {
            let waiting = lock(&self.shared.waiting);
            let gathered = self.shared.gathered.wait_while(waiting, |waiting| waiting.is_empty());
            drop(gathered.unwrap_or_else(PoisonError::into_inner));
            self.write(&[]);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Bytes are whole whatever happened to whoever held them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

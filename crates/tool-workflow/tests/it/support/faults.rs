//! A log that fails when it is told to.

use std::fmt;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use weft_session::{EventLog, EventReader, LogError, MemoryLog};
use weft_types::Event;

/// What becomes of the next appends.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// How many appends still succeed; absent for all.
    left: Option<usize>,
    unprintable: bool,
    panics: bool,
}

impl Faults {
    /// Fails after so many more appends.
    pub(crate) fn after(appends: usize) -> Self {
        let faults = Self::default();
        faults.0.lock().expect("not poisoned").left = Some(appends);
        faults
    }

    /// The failure's text cannot be had: its own code panics.
    pub(crate) fn unprintable(self) -> Self {
        self.0.lock().expect("not poisoned").unprintable = true;
        self
    }

    /// The failure is a panic.
    pub(crate) fn panicking(self) -> Self {
        self.0.lock().expect("not poisoned").panics = true;
        self
    }

    /// All later appends succeed.
    pub(crate) fn mend(&self) {
        self.0.lock().expect("not poisoned").left = None;
    }
}

/// A log that keeps what it takes in memory.
pub(crate) struct FaultyLog {
    faults: Faults,
    taken: MemoryLog,
}

impl FaultyLog {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            faults,
            taken: MemoryLog::default(),
        }
    }
}

impl EventLog for FaultyLog {
    fn append(&mut self, event: &Arc<Event>) -> Result<(), LogError> {
        let mut state = self.faults.0.lock().expect("not poisoned");
        match &mut state.left {
            None => return self.taken.append(event),
            Some(0) => {}
            Some(left) => {
                *left -= 1;
                return self.taken.append(event);
            }
        }
        let (unprintable, panics) = (state.unprintable, state.panics);
        drop(state);
        assert!(!panics, "the log panics on purpose");
        if unprintable {
            return Err(LogError::new("append", Unprintable));
        }
        Err(LogError::new("append", "no space left"))
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn reader(&self) -> Arc<dyn EventReader> {
        self.taken.reader()
    }
}

#[derive(Debug)]
struct Unprintable;

impl fmt::Display for Unprintable {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("it cannot be printed on purpose")
    }
}

impl std::error::Error for Unprintable {}

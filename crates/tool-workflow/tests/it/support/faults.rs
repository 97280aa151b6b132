//! A sink that fails when it is told to.

use std::fmt;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use weft_session::{EventLog, LogError};
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

pub(crate) struct FaultySink(pub(crate) Faults);

impl EventLog for FaultySink {
    fn append(&mut self, _event: &Event) -> Result<(), LogError> {
        let mut state = self.0.0.lock().expect("not poisoned");
        match &mut state.left {
            None => return Ok(()),
            Some(0) => {}
            Some(left) => {
                *left -= 1;
                return Ok(());
            }
        }
        let (unprintable, panics) = (state.unprintable, state.panics);
        drop(state);
        assert!(!panics, "the sink panics on purpose");
        if unprintable {
            return Err(LogError::new("append", Unprintable));
        }
        Err(LogError::new("append", "no space left"))
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>> {
        Box::pin(std::future::ready(Ok(())))
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

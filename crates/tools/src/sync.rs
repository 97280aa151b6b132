//! The lock, the condition variable and the thread identity of the progress channel.
//!
//! The feature `shuttle` swaps them for those of a model checker, which then decides every interleaving.
//! They mean nothing outside of a model, so that unit tests keep the real ones.

#[cfg(any(test, not(feature = "shuttle")))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current},
};

#[cfg(all(feature = "shuttle", not(test)))]
pub(crate) use shuttle::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current},
};

//! The lock, the condition variable and the thread identity of the progress channel.
//!
//! The feature `shuttle` swaps them for those of a model checker, which then decides every interleaving.

#[cfg(not(feature = "shuttle"))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current},
};

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current},
};

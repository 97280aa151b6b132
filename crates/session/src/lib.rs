//! The append-only session log.
//!
//! [`Session`] is the log: it numbers events, refuses those that break an [`Invariant`], hands them to
//! its [`EventLog`] and publishes them, in order, to its observers. [`SessionUpdate`] is what they
//! see: durable events, and between them transient [`Delta`]s of an answer that is still streaming.
//! [`Sessions`] is the seam behind which sessions are kept, and [`FileStore`] keeps them in files.
//!
//! It knows nothing of agents, tools or protocols.

mod clock;
mod closing;
mod invariant;
mod lines;
mod log;
mod restore;
mod rules;
mod session;
mod sessions;
mod store;
mod tail;

pub use clock::{Clock, SystemClock};
pub use closing::closing_events;
pub use invariant::{Invariant, Violation};
pub use lines::{LinesError, read_lines};
pub use log::{EventLog, EventReader, LogError, MemoryLog};
pub use restore::{LoadError, Restore};
pub use session::{AppendError, Delta, DeltaKind, Session, SessionUpdate};
pub use sessions::{InvariantFactory, MemorySessions, Sessions, mint_session_id};
pub use store::{
    Damage, FileLayer, FileStore, Follower, Holder, Journal, ListQuery, Note, Opening, ReadOnly, RealFiles, RunClaim,
    SessionList, SessionRow, StoreError, StoreOptions, StoredJournal, StoredSession, Verification,
};

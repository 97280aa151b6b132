//! Checking a log.

use weft_types::{SessionHeader, SessionId};

use super::{Damage, FileStore, StoreError};

/// What a log is found to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// Its header.
    pub header: SessionHeader,
    /// How many sound events it holds.
    pub events: u64,
    /// How large it is.
    pub bytes: u64,
    /// The first place at which it is damaged, if it is.
    pub damage: Option<Damage>,
    /// The turn that it ends in, if that is open: the next to open the session closes it.
    pub open_turn: Option<u32>,
    /// How many bytes of a half-written event it ends in: the next to open the session cuts them off.
    pub torn_tail: u64,
    /// How many half-written lines are in its middle of which nothing is missing: the next to open the session drops them.
    pub debris: u64,
    /// Whether a process has it open for writing, so that an open turn and a torn tail are no news.
    pub running: bool,
}

impl FileStore {
    /// Reads a whole log and checks every line of it. Nothing is changed.
    ///
    /// # Errors
    /// Those of [`read`](Self::read): what is no log at all is no damage.
    pub fn verify(&self, id: &SessionId) -> Result<Verification, StoreError> {
        let paths = self.layout().session(id)?;
        Err(StoreError::io("verify", &paths.folder)(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }
}

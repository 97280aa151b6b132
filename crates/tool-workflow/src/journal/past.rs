//! What earlier attempts came to.

use std::collections::HashMap;

use weft_session::{StoreError, StoredJournal};
use weft_types::{MemberOutcome, RunStop, SessionId};

use super::key::Key;
use super::records::{Call, Record};

/// The calls of earlier attempts, as the last of them to make each left it.
#[derive(Debug, Default)]
pub(crate) struct Past {
    calls: HashMap<(Key, u32), PastCall>,
    /// How many records could not be read.
    broken: u64,
}

/// What became of a call. Without an outcome nobody wrote down how it ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PastCall {
    pub(crate) session: Option<SessionId>,
    pub(crate) outcome: Option<MemberOutcome>,
}

impl Past {
    /// Takes in the records of the attempt that followed those taken in so far. Gives how that ended, if it did.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) fn take(&mut self, journal: &mut StoredJournal) -> Result<Option<RunStop>, StoreError> {
        let mut open = HashMap::new();
        let mut stop = None;
        while let Some(record) = journal.next_record()? {
            match record {
                Record::Call(Call { seq, key, nth, .. }) => {
                    open.insert(seq, (key.clone(), nth));
                    self.calls.insert((key, nth), PastCall::default());
                }
                Record::Member { seq, session } => self.change(open.get(&seq), |call| call.session = Some(session)),
                Record::End { seq, outcome } => self.change(open.get(&seq), |call| call.outcome = Some(outcome)),
                Record::Answered { call, session } => {
                    let outcome = Some(MemberOutcome::Completed);
                    let session = Some(session);
                    self.calls.insert((call.key, call.nth), PastCall { session, outcome });
                }
                Record::RunEnd { stop: how } => stop = Some(how),
                Record::Unknown => {}
            }
        }
        self.broken += journal.broken();
        Ok(stop)
    }

    /// What became of the `nth` call with this key.
    pub(crate) fn call(&self, key: &Key, nth: u32) -> Option<&PastCall> {
        self.calls.get(&(key.clone(), nth))
    }

    /// How many records could not be read.
    pub(crate) fn broken(&self) -> u64 {
        self.broken
    }

    /// A record whose call's own was lost belongs to nothing.
    fn change(&mut self, which: Option<&(Key, u32)>, change: impl FnOnce(&mut PastCall)) {
        if let Some(call) = which.and_then(|which| self.calls.get_mut(which)) {
            change(call);
        }
    }
}

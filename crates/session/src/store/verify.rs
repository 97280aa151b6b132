//! Checking a log.

use weft_types::{EventBody, SessionHeader, SessionId};

use super::scan::{Ending, LogScan};
use super::{Damage, FileStore, StoreError};

/// What a log is found to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// Its header.
    pub header: SessionHeader,
    /// How many sound events it holds.
    pub events: u64,
    /// How many turns began.
    pub turns: u64,
    /// How large it is.
    pub bytes: u64,
    /// The first place at which it is damaged, if it is; also a whole last line that is not what was written, although
    /// the next to open the session gets over that.
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

impl Verification {
    /// The number of the last sound event.
    pub fn last_seq(&self) -> Option<u64> {
        self.events.checked_sub(1)
    }
}

impl FileStore {
    /// Reads a whole log and checks every line of it. Nothing is changed.
    ///
    /// # Errors
    /// Those of [`read`](Self::read): what is no log at all is no damage.
    pub fn verify(&self, id: &SessionId) -> Result<Verification, StoreError> {
        let mut scan = LogScan::open(self, id)?;
        let mut turns = 0;
        while let Some(event) = scan.next()? {
            turns += u64::from(matches!(event.body, EventBody::TurnStart { .. }));
        }
        // Looked at last: a writer that began meanwhile explains what the log ends in.
        let running = self.is_running(id);
        if !running && let Some(event) = scan.accept_unterminated() {
            turns += u64::from(matches!(event.body, EventBody::TurnStart { .. }));
        }
        let (torn_tail, damage) = match scan.ending() {
            Ending::Torn(torn, fault) => (torn.bytes, fault.clone().map(mended_by_opening)),
            Ending::Damaged(damage) => (0, Some(damage.clone())),
            Ending::Whole | Ending::Unterminated(_) => (0, None),
        };
        Ok(Verification {
            header: scan.header().clone(),
            events: scan.marks().count(),
            turns,
            // Of the file that was read, which another may have deleted meanwhile.
            bytes: scan.len()?,
            damage,
            open_turn: scan.restore().open_turn(),
            torn_tail,
            debris: scan.debris(),
            running,
        })
    }
}

fn mended_by_opening(fault: Damage) -> Damage {
    let reason = fault.reason + "; it is the last line, which the next opening cuts off, keeping the log as it was";
    Damage { reason, ..fault }
}

//! The journal of a run: what lets a later call take it up again.
//!
//! It is no part of the session's log. Its first line is what the run was started with; then each call that the script
//! made has a line when it is accepted, one when its member exists and one when that has ended. What a member answered is
//! not in it: that is in the member's own session. [`Past`] is what the journals of earlier attempts tell, [`Ledger`]
//! decides for each call of a new one whether it was answered before, and writes the new journal.

mod key;
mod ledger;
mod past;
mod records;

pub(crate) use ledger::{Accepted, Answer, Ledger};
pub(crate) use past::Past;
pub(crate) use records::{JournalHeader, VERSION};

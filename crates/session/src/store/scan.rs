//! Reading a log from its start, judging every line once: its checksum, its form, its number, the invariants.
//!
//! Everything that reads whole logs does it with a [`LogScan`].

use std::path::Path;
use std::sync::Arc;

use weft_types::{Event, SessionHeader, SessionId};

use super::head::{self, Head};
use super::judge::{Verdict, judge};
use super::lines::{Line, Lines, Place};
use super::marks::{Mark, Marks};
use super::migrate::Migration;
use super::{Damage, FileStore, StoreError};
use crate::Restore;

/// A log that is being read.
pub(crate) struct LogScan {
    lines: Lines,
    /// The version of the log as it is on disk.
    version: u32,
    migration: Migration,
    restore: Restore,
    marks: Marks,
    debris: u64,
    ending: Ending,
    /// Lines of which only what follows them tells what they are.
    suspect: Option<Suspect>,
    /// Whether more was read than was taken.
    read_ahead: bool,
    /// A line that looked torn and was read anew, since a writer may have been caught half-way through it.
    read_again: Option<Place>,
}

/// What a log ends in, as far as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    /// A whole line.
    Whole,
    /// A sound line that only lacks its line feed: the header, or this event, which was not given out yet.
    Unterminated(Option<Arc<Event>>),
    /// Blank lines, part of a line, or a line that is not as it was written; then with what is wrong with that, if a line
    /// feed ends it, so that it was complete once.
    Torn(Torn, Option<Damage>),
    /// It goes on, but not with what should be there.
    Damaged(Damage),
}

/// What a log ends in that is no whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Torn {
    /// Where it begins.
    pub(crate) offset: u64,
    /// How much of the log it is.
    pub(crate) bytes: u64,
    /// Whether a line of it ends in a line feed all the same, as nothing does that was never written to its end.
    pub(crate) ended: bool,
    /// Whether all of it is white space.
    pub(crate) blank: bool,
}

/// Torn lines in a row.
struct Suspect {
    first: Place,
    reason: String,
    lines: u64,
    /// How many of them are not blank.
    written: u64,
    /// The first of those, if a line feed ends it.
    fault: Option<Damage>,
}

impl LogScan {
    /// Begins to read a session's log.
    ///
    /// # Errors
    /// There is no log with a header, the header is not that of this session, or the disk fails.
    pub(crate) fn open(store: &FileStore, id: &SessionId) -> Result<Self, StoreError> {
        let path = store.layout().session(id)?.log();
        Self::open_at(store, id, &path)
    }

    /// Begins to read the log of a session that is at `path`.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub(crate) fn open_at(store: &FileStore, id: &SessionId, path: &Path) -> Result<Self, StoreError> {
        let mut lines = head::open(store, id, path)?;
        let Head { header, whole } = head::read(&mut lines, id)?;
        let (version, migration) = (header.version, Migration::from(header.version));
        let invariants = (store.options().invariants)();
        Ok(Self {
            version,
            migration,
            restore: Restore::new(migration.header(header), invariants),
            marks: Marks::new(lines.place()),
            debris: 0,
            ending: if whole {
                Ending::Whole
            } else {
                Ending::Unterminated(None)
            },
            suspect: None,
            read_ahead: true,
            read_again: None,
            lines,
        })
    }

    /// The header, as it would be written today.
    pub(crate) fn header(&self) -> &SessionHeader {
        self.restore.header()
    }

    /// The version of the log as it is on disk.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Where the events that were read are.
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The fold of the events that were read.
    pub(crate) fn restore(&self) -> &Restore {
        &self.restore
    }

    /// How many torn lines there are of which nothing is missing.
    pub(crate) fn debris(&self) -> u64 {
        self.debris
    }

    /// What the log ends in, once [`next`](Self::next) gave none.
    pub(crate) fn ending(&self) -> &Ending {
        &self.ending
    }

    /// The damage that it ends in.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        match &self.ending {
            Ending::Damaged(damage) => Some(damage),
            _ => None,
        }
    }

    /// How far the file was read, in bytes.
    pub(crate) fn read_to(&self) -> u64 {
        self.lines.place().offset
    }

    /// How long the file is, whatever name it has by now.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(crate) fn len(&self) -> Result<u64, StoreError> {
        self.lines.len()
    }

    /// Whether the file still has its name, and what was read is still in it.
    ///
    /// # Errors
    /// There is no file of that name, or it cannot be looked at.
    pub(crate) fn is_current(&self) -> Result<bool, StoreError> {
        self.lines.is_current(self.marks.end().offset)
    }

    /// Whether the file still has its name and was read to its end, or to where it is damaged.
    ///
    /// # Errors
    /// Those of [`is_current`](Self::is_current).
    pub(crate) fn is_at_end(&self) -> Result<bool, StoreError> {
        Ok(self.is_current()? && (self.damage().is_some() || self.lines.len()? == self.read_to()))
    }

    /// The fold of the events, and where they are.
    pub(crate) fn into_parts(self) -> (Restore, Marks) {
        (self.restore, self.marks)
    }

    /// The next event. None at the end; when the file has grown since, the next call goes on, unless it is damaged.
    ///
    /// # Errors
    /// An event of an unknown type, a line that is too long, or the disk fails. The next call meets it again.
    pub(crate) fn next(&mut self) -> Result<Option<Arc<Event>>, StoreError> {
        if self.damage().is_some() {
            return Ok(None);
        }
        if matches!(self.ending, Ending::Unterminated(None)) && !self.line_ended()? {
            return Ok(None);
        }
        if self.read_ahead {
            self.lines.go_to(self.marks.end())?;
        }
        self.read_ahead = true;
        self.suspect = None;
        self.ending = Ending::Whole;
        let next = self.scan()?;
        self.read_ahead = next.is_none();
        Ok(next)
    }

    /// Takes the last event, which lacks its line feed: right for a log that nobody writes.
    pub(crate) fn accept_unterminated(&mut self) -> Option<Arc<Event>> {
        let Ending::Unterminated(event) = &mut self.ending else {
            return None;
        };
        let event = event.take()?;
        self.take(&event, self.marks.end());
        Some(event)
    }

    /// Whether the last line's line feed, which was missing when the line was taken, is there by now.
    fn line_ended(&mut self) -> Result<bool, StoreError> {
        let end = self.marks.end();
        self.lines.go_to(end)?;
        match self.lines.next()? {
            None => Ok(false),
            Some(Line { text: b"", .. }) => {
                self.marks.end_line();
                Ok(true)
            }
            Some(_) => {
                self.ending = self.damaged(end, "a line feed is missing before it".to_owned());
                Ok(false)
            }
        }
    }

    fn scan(&mut self) -> Result<Option<Arc<Event>>, StoreError> {
        loop {
            let Some(line) = self.lines.next()? else {
                self.ending = self.end_of_file();
                return Ok(None);
            };
            let (at, whole, blank) = (line.at, line.whole, line.text.trim_ascii().is_empty());
            match judge(line.text, &self.restore)? {
                Verdict::Torn(_) if self.suspect.is_none() && self.read_again != Some(at) => {
                    self.read_again = Some(at);
                    self.lines.go_to(at)?;
                }
                Verdict::Torn(reason) => {
                    self.suspect_line(at, reason, (whole, blank));
                    if !whole {
                        self.ending = self.end_of_file();
                        return Ok(None);
                    }
                }
                Verdict::Foreign(reason) => {
                    self.ending = self.damaged(at, reason);
                    return Ok(None);
                }
                Verdict::Event(event) => return Ok(self.event(event, at, whole)),
            }
        }
    }

    fn event(&mut self, event: Event, at: Place, whole: bool) -> Option<Arc<Event>> {
        let mut migration = self.migration;
        let event = Arc::new(migration.event(event));
        if let Err(violation) = self.restore.check(&event) {
            self.ending = self.damaged(at, violation.to_string());
            return None;
        }
        if !whole {
            self.ending = Ending::Unterminated(Some(event));
            return None;
        }
        self.take(&event, at);
        self.migration = migration;
        Some(event)
    }

    /// Takes an event that was checked.
    fn take(&mut self, event: &Arc<Event>, at: Place) {
        self.restore.commit(event);
        let migration = self.migration;
        self.marks.push(Mark { at, migration }, self.lines.place());
        self.debris += self.suspect.take().map_or(0, |suspect| suspect.lines);
    }

    fn suspect_line(&mut self, at: Place, reason: String, (whole, blank): (bool, bool)) {
        let fault = (whole && !blank).then(|| self.damage_at(at, reason.clone()));
        let suspect = self.suspect.get_or_insert(Suspect {
            first: at,
            reason,
            lines: 0,
            written: 0,
            fault: None,
        });
        suspect.lines += 1;
        suspect.written += u64::from(!blank);
        suspect.fault = suspect.fault.take().or(fault);
    }

    /// One event may be torn, and nothing is missing of what is blank.
    fn end_of_file(&mut self) -> Ending {
        match self.suspect.take() {
            None => Ending::Whole,
            Some(Suspect {
                first, written, fault, ..
            }) if written <= 1 => {
                let torn = Torn {
                    offset: first.offset,
                    bytes: self.read_to() - first.offset,
                    ended: fault.is_some(),
                    blank: written == 0,
                };
                Ending::Torn(torn, fault)
            }
            Some(Suspect { first, reason, .. }) => Ending::Damaged(self.damage_at(first, reason)),
        }
    }

    /// Damage at the line there, or at those before it that turn out not to be torn.
    fn damaged(&mut self, at: Place, reason: String) -> Ending {
        let (at, reason) = match self.suspect.take() {
            Some(suspect) => (suspect.first, suspect.reason),
            None => (at, reason),
        };
        Ending::Damaged(self.damage_at(at, reason))
    }

    fn damage_at(&self, Place { offset, line }: Place, reason: String) -> Damage {
        Damage {
            seq: self.marks.count(),
            offset,
            line,
            reason,
        }
    }
}

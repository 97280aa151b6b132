//! Where the events of a log are: a sparse table, so that any page is one seek and a few skipped lines away.

use weft_types::SessionHeader;

use super::lines::Place;
use super::migrate::Migration;

/// How many events apart the marks are.
const EVERY: u64 = 64;

/// How far a log is known to be sound, and where its events are.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    /// The marks of the events 0, 64, 128 and so on.
    marks: Vec<Mark>,
    /// How many events there are.
    count: u64,
    /// Where the next event would begin.
    end: Place,
}

/// From where an event can be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) at: Place,
    /// What the events from there on are read with.
    pub(crate) migration: Migration,
}

impl Marks {
    /// No event yet; the first would begin at `end`.
    pub(crate) fn new(end: Place) -> Self {
        Self {
            marks: Vec::new(),
            count: 0,
            end,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn end(&self) -> Place {
        self.end
    }

    /// Counts one more event, read from `mark`, which the next follows at `end`.
    pub(crate) fn push(&mut self, mark: Mark, end: Place) {
        if self.count.is_multiple_of(EVERY) {
            self.marks.push(mark);
        }
        self.count += 1;
        self.end = end;
    }

    /// Counts one more event, of `bytes`, at the end of a log of today's version.
    pub(crate) fn push_bytes(&mut self, bytes: usize) {
        let at = self.end;
        let end = Place {
            offset: at.offset + bytes as u64,
            line: at.line + 1,
        };
        self.push(
            Mark {
                at,
                migration: no_migration(),
            },
            end,
        );
    }

    /// The last line got its line feed.
    pub(crate) fn end_line(&mut self) {
        self.end.offset += 1;
    }

    /// The last mark that is not behind event `seq`.
    pub(crate) fn before(&self, seq: u64) -> Mark {
        let nearest = usize::try_from(seq / EVERY).unwrap_or(usize::MAX);
        let found = self.marks.get(nearest).or_else(|| self.marks.last());
        found.copied().unwrap_or(Mark {
            at: self.end,
            migration: no_migration(),
        })
    }
}

fn no_migration() -> Migration {
    Migration::from(SessionHeader::VERSION)
}

//! What can be wrong with a log, and what is done about it.

use std::fmt;
use std::path::PathBuf;

/// The first place at which a log is not what was written. Everything before it is sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The number that the event there should have.
    pub seq: u64,
    /// Where the line begins, in bytes from the start of the log.
    pub offset: u64,
    /// The line, from 1; line 1 is the header.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seq,
            offset,
            line,
            reason,
        } = self;
        write!(f, "damaged at event {seq}, line {line}, byte {offset}: {reason}")
    }
}

/// Why a session that was opened takes no events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOnly {
    /// Its log is damaged. It holds the events before the damage.
    Damaged(Damage),
    /// The store cannot write there, for the reason given.
    NoWriting(String),
}

impl fmt::Display for ReadOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(damage) => write!(f, "its log is {damage}"),
            Self::NoWriting(reason) => write!(f, "its log cannot be written: {reason}"),
        }
    }
}

/// What the user of a session that was opened should be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The log ended in the middle of an event, which a crash leaves behind; that was cut off.
    TornTail {
        /// Where it began.
        offset: u64,
        /// How much it was.
        bytes: u64,
        /// The log as it was, unless the event was plainly never written to its end.
        kept_as: Option<PathBuf>,
    },
    /// Half-written lines of which nothing is missing were dropped.
    Debris {
        /// How many.
        lines: u64,
        /// The log as it was.
        kept_as: PathBuf,
    },
    /// The log was of an older version and was rewritten.
    Migrated {
        /// That version.
        from: u32,
        /// The log as it was.
        kept_as: PathBuf,
    },
    /// The session takes no events.
    ReadOnly(ReadOnly),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornTail { offset, bytes, kept_as } => {
                write!(
                    f,
                    "The session's log ended in a half-written event ({bytes} bytes at byte {offset}); it was cut off."
                )?;
                kept_as
                    .iter()
                    .try_for_each(|path| write!(f, " The log as it was is {}.", path.display()))
            }
            Self::Debris { lines, kept_as } => write!(
                f,
                "The session's log held {lines} half-written lines in its middle, of which nothing is missing; they were \
                 dropped. The log as it was is {}.",
                kept_as.display()
            ),
            Self::Migrated { from, kept_as } => write!(
                f,
                "The session's log was of version {from} and was rewritten. The log as it was is {}.",
                kept_as.display()
            ),
            Self::ReadOnly(reason) => {
                let advice = match reason {
                    ReadOnly::Damaged(_) => "`weft sessions export` saves what is before that, to be imported again",
                    ReadOnly::NoWriting(_) => "Mend that, then load it again",
                };
                write!(f, "The session is read-only: {reason}. {advice}.")
            }
        }
    }
}

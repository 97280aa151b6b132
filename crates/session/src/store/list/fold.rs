//! What a list tells of one log, folded line by line so that only new bytes are ever read.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use weft_types::{Origin, SessionHeader, SessionId, UnixMillis};

use crate::store::line::Checksum;

/// What a list tells of a log, as far as it was read: up to the last record that follows the one before it.
///
/// Whatever else stands in the log, now or later, the fold of a prefix can be gone on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fold {
    pub(super) created_at: UnixMillis,
    pub(super) cwd: String,
    pub(super) origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    /// The later of creation and the last prompt of a person.
    pub(super) updated_at: UnixMillis,
    /// Whether no turn has started yet.
    pub(super) blank: bool,
    version: u32,
    /// Whether the open turn has its prompt; of logs before version 2 only.
    asked: bool,
    next_seq: u64,
    header: Span,
    last: Span,
}

/// Where a record stands, and the checksum of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    start: u64,
    end: u64,
    crc: u32,
}

impl Span {
    fn of(start: u64, record: &[u8]) -> Self {
        Self {
            start,
            end: start + record.len() as u64,
            crc: crc32fast::hash(record),
        }
    }

    fn stands_in(self, log: &mut (impl Read + Seek)) -> io::Result<bool> {
        // Whoever wrote the index: what is not in the log is not asked of the disk.
        if self.start > self.end || self.end > log.seek(SeekFrom::End(0))? {
            return Ok(false);
        }
        log.seek(SeekFrom::Start(self.start))?;
        let mut record = Vec::new();
        log.take(self.end - self.start).read_to_end(&mut record)?;
        Ok(Self::of(self.start, &record) == self)
    }
}

/// What the fold looks at of an event.
#[derive(Deserialize)]
struct Glance<'a> {
    seq: u64,
    time: UnixMillis,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct Title {
    title: String,
}

/// What became of reading a log from its first byte.
#[derive(Debug)]
pub(super) enum Folded {
    /// There is a sound header, and the fold holds all that follows from it.
    Sound(Fold),
    /// There are records, but what stands before them is no header.
    NoHeader,
    /// Not even a header was written: no session.
    Nothing,
}

impl Fold {
    /// Folds a log from its start, up to a line that is longer than the bound.
    ///
    /// # Errors
    /// Those of `log`.
    pub(super) fn of(log: &mut (impl Read + Seek), max_line_bytes: usize) -> io::Result<Folded> {
        log.rewind()?;
        let mut lines = BufReader::new(log);
        let mut line = Vec::new();
        read_line(&mut lines, &mut line, max_line_bytes)?;
        let Some(mut fold) = Self::start(&line) else {
            let is_alone = lines.fill_buf()?.is_empty();
            return Ok(if is_alone { Folded::Nothing } else { Folded::NoHeader });
        };
        fold.read(&mut lines, max_line_bytes)?;
        Ok(Folded::Sound(fold))
    }

    /// Goes on with what was appended to `log` since. Gives `None` if what was folded does not stand there any more.
    ///
    /// # Errors
    /// Those of `log`.
    pub(super) fn resume(mut self, log: &mut (impl Read + Seek), max_line_bytes: usize) -> io::Result<Option<Self>> {
        if !(self.header.stands_in(log)? && self.last.stands_in(log)?) {
            return Ok(None);
        }
        log.seek(SeekFrom::Start(self.last.end))?;
        self.read(&mut BufReader::new(log), max_line_bytes)?;
        Ok(Some(self))
    }

    /// Of a log of which nothing can be told but when it was last written to.
    pub(super) fn unknown(time: UnixMillis) -> Self {
        let nowhere = Span {
            start: 0,
            end: 0,
            crc: 0,
        };
        Self {
            created_at: time,
            cwd: String::new(),
            origin: Origin::User,
            parent: None,
            label: None,
            title: None,
            updated_at: time,
            blank: false,
            version: SessionHeader::VERSION,
            asked: false,
            next_seq: 0,
            header: nowhere,
            last: nowhere,
        }
    }

    /// Up to where it was read.
    pub(super) fn end(&self) -> u64 {
        self.last.end
    }

    fn start(line: &[u8]) -> Option<Self> {
        let header: SessionHeader = whole(line)?;
        let span = Span::of(0, line);
        Some(Self {
            created_at: header.created_at,
            cwd: header.cwd,
            origin: header.origin,
            parent: header.parent,
            label: header.label,
            title: None,
            updated_at: header.created_at,
            // Of a version to come nothing is known, so nothing of it is hidden.
            blank: header.version <= SessionHeader::VERSION,
            version: header.version,
            asked: false,
            next_seq: 0,
            header: span,
            last: span,
        })
    }

    /// Takes every record that continues the sequence. A line that does not may be the torn end of a dead process, with
    /// the records of the next one after it; if not, none of what follows continues the sequence either.
    fn read(&mut self, lines: &mut impl BufRead, max_line_bytes: usize) -> io::Result<()> {
        let mut line = Vec::new();
        let mut start = self.last.end;
        while self.version <= SessionHeader::VERSION && read_line(lines, &mut line, max_line_bytes)? {
            if self.take(&line) {
                self.last = Span::of(start, &line);
            }
            start += line.len() as u64;
        }
        Ok(())
    }

    fn take(&mut self, line: &[u8]) -> bool {
        let Some(event) = whole::<Glance<'_>>(line).filter(|event| event.seq == self.next_seq) else {
            return false;
        };
        self.next_seq += 1;
        match &*event.kind {
            "turn/start" => {
                self.blank = false;
                self.asked = false;
            }
            "user/message" => self.prompt(event.time),
            "session/title" => {
                if let Ok(Title { title }) = serde_json::from_str(event.data.get()) {
                    self.title = Some(title);
                }
            }
            _ => {}
        }
        true
    }

    fn prompt(&mut self, time: UnixMillis) {
        let is_context = self.version < 2 && self.asked;
        self.asked = true;
        if self.origin == Origin::User && !is_context {
            self.updated_at = self.updated_at.max(time);
        }
    }
}

/// Reads a line into `line`; false at the end, and where a line is longer than the bound, for no reader goes on there.
fn read_line(lines: &mut impl BufRead, line: &mut Vec<u8>, max_bytes: usize) -> io::Result<bool> {
    line.clear();
    // With its line feed, or one byte too much.
    lines.take(max_bytes as u64 + 1).read_until(b'\n', line)?;
    Ok(!line.is_empty() && (line.len() <= max_bytes || line.ends_with(b"\n")))
}

/// What a line holds, if all of it was written and none of it has changed since.
fn whole<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    let line = line.strip_suffix(b"\n")?;
    if Checksum::of(line) == Checksum::Wrong {
        return None;
    }
    serde_json::from_slice(line).ok()
}

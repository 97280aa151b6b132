//! What a list tells of one log, folded line by line so that only new bytes are ever read.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use weft_types::{Origin, SessionHeader, SessionId, UnixMillis};

use super::line;

/// What a list tells of a log, as far as it was read: up to the last record that follows the one before it.
///
/// Whatever else stands in the log, now or later, the fold of a prefix can be gone on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fold {
    pub(crate) created_at: UnixMillis,
    pub(crate) cwd: String,
    pub(crate) origin: Origin,
    pub(crate) parent: Option<SessionId>,
    pub(crate) label: Option<String>,
    pub(crate) title: Option<String>,
    /// The later of creation and the last prompt of a person.
    pub(crate) updated_at: UnixMillis,
    /// Whether no turn has started yet.
    pub(crate) blank: bool,
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
pub(crate) enum Folded {
    /// There is a sound header, and the fold holds all that follows from it.
    Sound(Fold),
    /// There are records, but what stands before them is no header.
    NoHeader,
    /// Not even a header was written: no session.
    Nothing,
}

impl Fold {
    /// Folds a log from its start.
    ///
    /// # Errors
    /// Those of `log`.
    pub(crate) fn of(log: &mut (impl Read + Seek)) -> io::Result<Folded> {
        log.rewind()?;
        let mut lines = BufReader::new(log);
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line)?;
        let Some(mut fold) = Self::start(&line) else {
            let is_alone = lines.fill_buf()?.is_empty();
            return Ok(if is_alone { Folded::Nothing } else { Folded::NoHeader });
        };
        fold.read(&mut lines)?;
        Ok(Folded::Sound(fold))
    }

    /// Goes on with what was appended to `log` since. Gives `None` if what was folded does not stand there any more.
    ///
    /// # Errors
    /// Those of `log`.
    pub(crate) fn resume(mut self, log: &mut (impl Read + Seek)) -> io::Result<Option<Self>> {
        if !(self.header.stands_in(log)? && self.last.stands_in(log)?) {
            return Ok(None);
        }
        log.seek(SeekFrom::Start(self.last.end))?;
        self.read(&mut BufReader::new(log))?;
        Ok(Some(self))
    }

    fn start(line: &[u8]) -> Option<Self> {
        let header: SessionHeader = serde_json::from_slice(line::body(line).ok()?).ok()?;
        let span = Span::of(0, line);
        line.ends_with(b"\n").then(|| Self {
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
    fn read(&mut self, lines: &mut impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        let mut start = self.last.end;
        while self.version <= SessionHeader::VERSION && lines.read_until(b'\n', &mut line)? > 0 {
            if line.ends_with(b"\n") && self.take(&line) {
                self.last = Span::of(start, &line);
            }
            start += line.len() as u64;
            line.clear();
        }
        Ok(())
    }

    fn take(&mut self, line: &[u8]) -> bool {
        let glance = line::body(line).ok().and_then(|body| serde_json::from_slice::<Glance<'_>>(body).ok());
        let Some(event) = glance.filter(|event| event.seq == self.next_seq) else {
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

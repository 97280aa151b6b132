//! Reading some events from the middle of a log.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use weft_types::{Event, SessionId};

use super::line::{Checksum, leading_seq};
use super::lines::Lines;
use super::marks::Mark;
use super::{FileStore, StoreError};

/// Some events of a log, all of which are sound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Where to begin to read; not behind the first.
    pub(crate) mark: Mark,
    /// The number of the first.
    pub(crate) from: u64,
    /// The number behind the last.
    pub(crate) to: u64,
}

/// Which of a window's events stay when they are too large together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    First,
    Last,
}

/// Reads a window: as many of its events as fit a page, in order, at least one if there is one.
///
/// # Errors
/// The log is not what it was when its marks were made, or the disk fails.
pub(crate) fn read(
    store: &FileStore,
    (session, path): (&SessionId, &Path),
    window: Window,
    keep: Keep,
) -> Result<Vec<Arc<Event>>, StoreError> {
    if window.from >= window.to {
        return Ok(Vec::new());
    }
    let mut lines = Lines::open(store, session, path)?;
    lines.go_to(window.mark.at)?;
    let mut page = Page {
        max: store.options().page_bytes as u64,
        bytes: 0,
        events: VecDeque::new(),
    };
    let mut reader = WindowReader { lines, window };
    while let Some((event, bytes)) = reader.next()? {
        if !page.push(event, bytes, keep) {
            break;
        }
    }
    Ok(page.events.into_iter().map(|(event, _)| event).collect())
}

struct WindowReader {
    lines: Lines,
    window: Window,
}

impl WindowReader {
    fn next(&mut self) -> Result<Option<(Arc<Event>, u64)>, StoreError> {
        let Window { from, to, .. } = self.window;
        if from == to {
            return Ok(None);
        }
        let migration = &mut self.window.mark.migration;
        while let Some(line) = self.lines.next()? {
            if migration.is_none() && leading_seq(line.text).is_some_and(|seq| seq < from) {
                continue;
            }
            // A torn line of which nothing is missing was passed over when the log was read, and is again.
            let sound = Checksum::of(line.text) != Checksum::Wrong;
            let Some(event) = Event::from_json(line.text).ok().filter(|_| sound) else {
                continue;
            };
            let (event, bytes) = (migration.event(event), line.bytes());
            if event.seq == from {
                self.window.from += 1;
                return Ok(Some((Arc::new(event), bytes)));
            }
            if event.seq > from {
                break;
            }
        }
        let gone = format!("event {from} is no longer where it was");
        let gone = std::io::Error::new(std::io::ErrorKind::InvalidData, gone);
        Err(StoreError::io("read", self.lines.path())(gone))
    }
}

struct Page {
    max: u64,
    bytes: u64,
    events: VecDeque<(Arc<Event>, u64)>,
}

impl Page {
    /// Takes the next event; false if the page is full and nothing more is wanted.
    fn push(&mut self, event: Arc<Event>, bytes: u64, keep: Keep) -> bool {
        if keep == Keep::First && !self.events.is_empty() && self.bytes + bytes > self.max {
            return false;
        }
        self.bytes += bytes;
        self.events.push_back((event, bytes));
        while self.bytes > self.max && self.events.len() > 1 {
            self.bytes -= self.events.pop_front().map_or(0, |(_, bytes)| bytes);
        }
        true
    }
}

/// A page that begins at event `from`, and what of `closing` fits behind it: that goes on from the `count` events of the
/// log.
pub(crate) fn and_closing(
    mut page: Vec<Arc<Event>>,
    (from, limit): (u64, usize),
    count: u64,
    closing: &[Arc<Event>],
) -> Vec<Arc<Event>> {
    let next = from.saturating_add(page.len() as u64);
    if let Some(skip) = next.checked_sub(count).and_then(|skip| usize::try_from(skip).ok()) {
        let room = limit.saturating_sub(page.len());
        page.extend(closing.iter().skip(skip).take(room).cloned());
    }
    page
}

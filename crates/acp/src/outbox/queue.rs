//! What waits to be written, in order.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weft_types::CallId;

use super::writer::BATCH_BYTES;
use crate::wire;

/// The call that an update in progress belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CallKey {
    /// Its session. Two sessions may hold calls of one id.
    session: Arc<str>,
    /// The call.
    call: CallId,
}

/// The message that a piece of text belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextRun {
    /// Its session.
    pub(crate) session: Arc<str>,
    /// Its id.
    pub(crate) message: Arc<str>,
    /// Whether it is the model's reasoning and not its answer.
    pub(crate) reasoning: bool,
}

/// Lines, and pieces that may still change while they wait.
#[derive(Debug)]
pub(super) struct Queue {
    segments: VecDeque<Segment>,
    /// How many segments have left: what makes positions out of indices.
    left: u64,
    /// The position of the newest progress segment of each call that has one.
    newest: HashMap<CallKey, u64>,
    bytes: usize,
    bound: usize,
    /// An empty buffer with its memory, from a segment that has left.
    spare: Vec<u8>,
}

#[derive(Debug)]
enum Segment {
    /// Whole lines, final as they are.
    Lines(Vec<u8>),
    /// One update in progress.
    Progress { call: CallKey, line: Vec<u8> },
    /// Text of one message that has not been made a line yet.
    Text { run: TextRun, text: String },
}

impl Segment {
    fn len(&self) -> usize {
        match self {
            Self::Lines(bytes) | Self::Progress { line: bytes, .. } => bytes.len(),
            Self::Text { text, .. } => text.len(),
        }
    }
}

impl Queue {
    /// An empty queue that merges above `bound` bytes.
    pub(super) fn new(bound: usize) -> Self {
        Self {
            segments: VecDeque::new(),
            left: 0,
            newest: HashMap::new(),
            bytes: 0,
            bound,
            spare: Vec::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whole lines, final as they are.
    pub(super) fn push_lines(&mut self, lines: &[u8]) {
        self.bytes += lines.len();
        if let Some(Segment::Lines(last)) = self.segments.back_mut()
            && last.len() + lines.len() <= BATCH_BYTES
        {
            last.extend_from_slice(lines);
            return;
        }
        let mut segment = std::mem::take(&mut self.spare);
        segment.extend_from_slice(lines);
        self.segments.push_back(Segment::Lines(segment));
    }

    /// An update in progress. Below the bound it is a line like any other, which later ones leave alone; above it
    /// takes the place of the newest of its call that was pushed above the bound too, so that each call adds one
    /// line to the bound at the most.
    pub(super) fn push_progress(&mut self, session: &Arc<str>, call: &CallId, line: &[u8]) {
        let key = || CallKey {
            session: Arc::clone(session),
            call: call.clone(),
        };
        if self.bytes + line.len() <= self.bound {
            // One from above the bound may still wait. It is not the newest any more: what came later in its
            // place would overtake this one.
            if !self.newest.is_empty() {
                self.newest.remove(&key());
            }
            return self.push_lines(line);
        }
        self.bytes += line.len();
        let call = key();
        if let Some(position) = self.newest.get(&call)
            && let Ok(index) = usize::try_from(position - self.left)
            && let Some(Segment::Progress { line: older, .. }) = self.segments.get_mut(index)
        {
            self.bytes -= older.len();
            older.clear();
            older.extend_from_slice(line);
            return;
        }
        let position = self.left + self.segments.len() as u64;
        self.newest.insert(call.clone(), position);
        let line = line.to_vec();
        self.segments.push_back(Segment::Progress { call, line });
    }

    pub(super) fn push_text(&mut self, run: &TextRun, text: &str, line: &[u8]) {
        if self.bytes + line.len() <= self.bound {
            return self.push_lines(line);
        }
        self.bytes += text.len();
        if let Some(Segment::Text {
            run: last,
            text: waiting,
        }) = self.segments.back_mut()
            && last == run
        {
            waiting.push_str(text);
            return;
        }
        self.segments.push_back(Segment::Text {
            run: run.clone(),
            text: text.to_owned(),
        });
    }

    /// Moves what fits into one batch, and at least one segment, into the empty `batch`.
    pub(super) fn take(&mut self, batch: &mut Vec<u8>) {
        while let Some(front) = self.segments.front() {
            if !batch.is_empty() && batch.len() + front.len() > BATCH_BYTES {
                return;
            }
            self.bytes -= front.len();
            let position = self.left;
            self.left += 1;
            match self.segments.pop_front() {
                Some(Segment::Lines(mut lines)) => {
                    if batch.is_empty() {
                        std::mem::swap(batch, &mut lines);
                    } else {
                        batch.extend_from_slice(&lines);
                    }
                    self.keep(lines);
                }
                Some(Segment::Progress { call, line }) => {
                    batch.extend_from_slice(&line);
                    if self.newest.get(&call) == Some(&position) {
                        self.newest.remove(&call);
                    }
                }
                Some(Segment::Text { run, text }) => wire::write_text(batch, &run, &text),
                None => return,
            }
        }
    }

    fn keep(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > self.spare.capacity() && buffer.capacity() <= 2 * BATCH_BYTES {
            buffer.clear();
            self.spare = buffer;
        }
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        self.left += self.segments.len() as u64;
        self.segments.clear();
        self.newest.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests;

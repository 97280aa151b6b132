//! Server-sent events from bytes, however they are cut.
//!
//! [`SseDecoder`] follows the event-stream grammar: lines end in CR, LF or CRLF, a byte-order mark may
//! stand first, lines that begin with a colon are comments, the space after a field's colon is optional,
//! and several `data` lines make one event. It differs in one point: an event that the end of the input
//! cuts off before its blank line is still given, since endpoints forget that line after the last event.

use memchr::memchr2;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its type; empty unless the stream names one.
    pub(crate) kind: String,
    /// Its data, lines joined by LF; bytes that are not UTF-8 are replaced.
    pub(crate) data: String,
}

/// An event or line is longer than allowed.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("an event of the stream is longer than max_event_bytes ({0})")]
pub(crate) struct EventTooLong(usize);

/// Turns bytes into events. Holds at most one event and one line.
#[derive(Debug)]
pub(crate) struct SseDecoder {
    max_event_bytes: usize,
    /// The unfinished line.
    line: Vec<u8>,
    /// Whether the last byte was a CR, so that an LF now belongs to it.
    after_cr: bool,
    /// Whether no line has ended yet, so that a byte-order mark may come.
    at_start: bool,
    /// The data lines of the unfinished event.
    data: Option<String>,
    kind: String,
}

impl SseDecoder {
    pub(crate) fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            data: None,
            kind: String::new(),
        }
    }

    /// Takes the next bytes and appends the events that they complete.
    ///
    /// After an error the decoder is of no more use.
    pub(crate) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), EventTooLong> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\r', b'\n', bytes) {
            events.extend(self.end_line(&bytes[..end])?);
            let ends_in_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if ends_in_cr {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.keep(bytes)
    }

    /// The event that the end of the input completes, if any.
    pub(crate) fn finish(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        self.take_line(&line).or_else(|| self.dispatch())
    }

    /// Keeps a part of a line.
    fn keep(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        self.check(bytes)?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether there is room for more.
    fn check(&self, bytes: &[u8]) -> Result<(), EventTooLong> {
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held + bytes.len() > self.max_event_bytes {
            return Err(EventTooLong(self.max_event_bytes));
        }
        Ok(())
    }

    /// Takes the last part of a line. Most lines come in one part, which is read where it is.
    fn end_line(&mut self, bytes: &[u8]) -> Result<Option<SseEvent>, EventTooLong> {
        if self.line.is_empty() {
            self.check(bytes)?;
            return Ok(self.take_line(bytes));
        }
        self.keep(bytes)?;
        let line = std::mem::take(&mut self.line);
        Ok(self.take_line(&line))
    }

    /// Reads a line; a blank one gives the event.
    fn take_line(&mut self, line: &[u8]) -> Option<SseEvent> {
        let mut text = String::from_utf8_lossy(line);
        if std::mem::take(&mut self.at_start)
            && let Some(rest) = text.strip_prefix('\u{feff}')
        {
            text = rest.to_owned().into();
        }
        if text.is_empty() {
            return self.dispatch();
        }
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", none) => *none = Some(value.to_owned()),
            ("event", _) => value.clone_into(&mut self.kind),
            // Comments have an empty field name; `id` and `retry` are for reconnecting, which is not done.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let kind = std::mem::take(&mut self.kind);
        self.data.take().map(|data| SseEvent { kind, data })
    }
}

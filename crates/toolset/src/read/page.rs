//! A window of lines out of a stream of bytes, of which no more than the window is kept.

use std::io::{self, BufRead};

use tokio_util::sync::CancellationToken;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// The number of the first line, from 1.
    pub(super) first: u64,
    /// The most lines.
    pub(super) lines: usize,
    /// The most bytes of all lines together; the first line is given whatever its length.
    pub(super) bytes: usize,
    /// The most characters of a line.
    pub(super) line_chars: usize,
    /// Whether to read on after the window to count the lines.
    pub(super) counts_all: bool,
}

/// The lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) lines: Vec<String>,
    /// How many lines there are, if the end was seen.
    pub(super) total: Option<u64>,
    /// How many of the lines were cut.
    pub(super) cut_lines: usize,
    /// Whether one of the lines ended in CRLF.
    pub(super) has_crlf: bool,
    /// Whether one of the lines is not what the file holds.
    pub(super) is_lossy: bool,
    /// Whether the last of the lines is the file's last and not ended.
    pub(super) lacks_final_newline: bool,
}

impl Page {
    /// What there is besides these lines, if anything.
    pub(super) fn rest_told(&self, want: &Want) -> Option<String> {
        let last = want.first + self.lines.len() as u64 - u64::from(!self.lines.is_empty());
        let next = last + 1;
        match self.total {
            Some(total) if want.first == 1 && last >= total => None,
            Some(total) if last >= total => Some(format!("lines {} to {last} of {total}, the end", want.first)),
            Some(total) => Some(format!(
                "lines {} to {last} of {total}; go on with offset {next}",
                want.first
            )),
            None => Some(format!(
                "lines {} to {last}; there are more, uncounted for the size of the file; go on with offset {next}",
                want.first
            )),
        }
    }
}

/// A line that is being put together.
#[derive(Default)]
struct Line {
    kept: Vec<u8>,
    /// Its length, with what is not kept, without the line feed.
    length: u64,
    /// Its last byte.
    last: Option<u8>,
}

/// Reads the lines that are wanted. Stops early when the call is cancelled.
pub(super) fn scan(mut input: impl BufRead, want: &Want, stop: &CancellationToken) -> io::Result<Page> {
    let mut page = Page::default();
    let (mut line, mut number, mut bytes) = (Line::default(), 1, 0);
    let mut is_full = false;
    loop {
        if stop.is_cancelled() {
            return Err(io::Error::other("the call was cancelled"));
        }
        if is_full && !want.counts_all {
            return Ok(page);
        }
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let is_wanted = number >= want.first && !is_full;
        // One character more than is given, so that a cut is seen.
        line.add(part, if is_wanted { (want.line_chars + 1) * 4 } else { 0 });
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            let line = std::mem::take(&mut line);
            if is_wanted {
                is_full = !page.take(line, true, want, &mut bytes);
            }
            number += 1;
        }
    }
    let is_open = line.length > 0;
    if is_open && number >= want.first && !is_full {
        page.lacks_final_newline = page.take(line, false, want, &mut bytes);
    }
    page.total = Some(number - 1 + u64::from(is_open));
    Ok(page)
}

impl Line {
    fn add(&mut self, part: &[u8], most: usize) {
        let room = most.saturating_sub(self.kept.len()).min(part.len());
        self.kept.extend_from_slice(&part[..room]);
        self.length += part.len() as u64;
        self.last = part.last().copied().or(self.last);
    }
}

impl Page {
    /// Takes a line unless it is one too many, and says whether it did.
    fn take(&mut self, mut line: Line, is_ended: bool, want: &Want, bytes: &mut usize) -> bool {
        let is_whole = line.kept.len() as u64 == line.length;
        let has_crlf = is_ended && line.last == Some(b'\r');
        if has_crlf && is_whole {
            line.kept.pop();
        }
        let is_lossy = match std::str::from_utf8(&line.kept) {
            Ok(_) => false,
            // The last character of what was kept may be cut in two.
            Err(error) => is_whole || error.error_len().is_some(),
        };
        let mut text = String::from_utf8_lossy(&line.kept).into_owned();
        let cut = text.char_indices().nth(want.line_chars).map(|(at, _)| at);
        if let Some(at) = cut {
            text.truncate(at);
            text.push('…');
        }
        if self.lines.len() >= want.lines || (!self.lines.is_empty() && *bytes + text.len() > want.bytes) {
            return false;
        }
        *bytes += text.len() + 1;
        self.cut_lines += usize::from(cut.is_some());
        self.has_crlf |= has_crlf;
        self.is_lossy |= is_lossy;
        self.lines.push(text);
        true
    }
}

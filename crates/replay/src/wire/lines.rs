//! Lines of a byte stream, read so that an abandoned wait loses nothing.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Why there is no next line.
#[derive(Debug)]
pub(super) enum LineError {
    Read(io::Error),
    TooLong,
    /// The stream ended within a line; the text is what there was of it.
    Unterminated(Vec<u8>),
}

/// Splits a stream at newlines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// How much of the buffer is known to hold no newline.
    searched: usize,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            searched: 0,
            limit,
        }
    }

    /// The next line without its newline, or `None` at the end of the stream.
    ///
    /// Cancellation-safe: bytes read before the future is dropped stay in the buffer.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.limit {
                return Err(LineError::TooLong);
            }
            if self.source.read_buf(&mut self.buffer).await.map_err(LineError::Read)? == 0 {
                self.searched = 0;
                return match std::mem::take(&mut self.buffer) {
                    rest if rest.is_empty() => Ok(None),
                    rest => Err(LineError::Unterminated(rest)),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn after_a_part_of_a_line_comes_the_end() {
        let mut lines = Lines::new(&b"one\ntw"[..], 100);
        assert_eq!(lines.next().await.unwrap(), Some(b"one".to_vec()));
        assert!(matches!(lines.next().await, Err(LineError::Unterminated(part)) if part == b"tw"));
        assert_eq!(lines.next().await.unwrap(), None);
    }
}

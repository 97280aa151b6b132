//! Frames: four bytes of length, little endian, then that many bytes of JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

const HEADER: usize = 4;

/// What is wrong with a frame.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// It is larger than allowed.
    #[error("a message of {found} bytes is larger than the limit of {limit} (max_frame_bytes)")]
    TooLarge { found: usize, limit: usize },
    /// It does not hold the message expected.
    #[error("a message is malformed: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// One message as a frame, header included.
pub(crate) fn encode<T: Serialize>(message: &T, limit: usize) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; HEADER];
    serde_json::to_writer(&mut frame, message)?;
    let found = frame.len() - HEADER;
    let length = u32::try_from(found).ok().filter(|_| found <= limit);
    let length = length.ok_or(FrameError::TooLarge { found, limit })?;
    frame[..HEADER].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Puts frames together out of whatever pieces arrive.
///
/// Its buffer grows with the bytes that did arrive, never with a length that was only announced.
#[derive(Debug)]
pub(crate) struct Decoder {
    limit: usize,
    buffer: Vec<u8>,
    /// How much of the buffer was handed out already.
    taken: usize,
}

impl Decoder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            taken: 0,
        }
    }

    /// Takes in bytes that arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one. After an error the stream is of no more use.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let rest = &self.buffer[self.taken..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*header) as usize;
        if length > self.limit {
            return Err(FrameError::TooLarge {
                found: length,
                limit: self.limit,
            });
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(body)?;
        self.taken += HEADER + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests;

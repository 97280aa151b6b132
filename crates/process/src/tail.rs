//! What a program writes to stderr: to the log, and its end to whoever is told of a failure.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::Mask;

/// How much of it is kept, in bytes.
const KEPT: usize = 4 << 10;
/// How much of its end is told, in characters.
const TOLD: usize = 600;
/// How much is read at a time, in bytes.
const CHUNK: usize = 4 << 10;

/// The end of what was written so far.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: Mutex<Vec<u8>>,
    mask: Mask,
}

impl Tail {
    pub(crate) fn new(mask: Mask) -> Self {
        Self {
            bytes: Mutex::default(),
            mask,
        }
    }

    /// Reads until nobody holds the pipe any more.
    pub(crate) async fn read(&self, mut pipe: impl AsyncRead + Unpin, name: &str) {
        let mut chunk = vec![0; CHUNK];
        loop {
            match pipe.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(length) => self.take(&chunk[..length], name),
            }
        }
    }

    /// What was written last, on one line and without secrets.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes()).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let line: String = self
            .mask
            .apply(&lines.join("; "))
            .chars()
            .filter(|c| !c.is_control())
            .collect();
        let surplus = line.chars().count().saturating_sub(TOLD);
        let told: String = line.chars().skip(surplus).collect();
        if surplus > 0 { format!("…{told}") } else { told }
    }

    fn take(&self, written: &[u8], name: &str) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            let text = self.mask.apply(&String::from_utf8_lossy(written));
            tracing::debug!(program = name, stderr = text.trim_end(), "a program wrote to stderr");
        }
        let mut bytes = self.bytes();
        bytes.extend_from_slice(written);
        let surplus = bytes.len().saturating_sub(KEPT);
        bytes.drain(..surplus);
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        // The bytes are sound after every single operation.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(written: &[u8], secret: &str) -> String {
        let tail = Tail::new(Mask::new([secret.to_owned()]));
        tail.read(written, "test").await;
        tail.text()
    }

    #[tokio::test]
    async fn the_end_is_told_on_one_line_without_secrets() {
        let told = told(b"first\n\n  key hunter22 \x1b[31mbad\xff\n", "hunter22").await;
        assert_eq!(told, "first; key *** [31mbad\u{fffd}");
    }

    #[tokio::test]
    async fn only_the_end_of_much_is_told() {
        let mut written = vec![b'x'; 100_000];
        written.extend_from_slice(b" the end");
        let told = told(&written, "").await;
        assert_eq!(told.chars().count(), TOLD + 1);
        assert!(told.starts_with('…') && told.ends_with("the end"), "{told}");
    }
}

//! Output that is too long for the model, kept whole in a file that `read` can page.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::scratch::Scratch;

/// Where the whole of one command's output goes once it is too long: a file in its agent's temporary folder.
#[derive(Debug)]
pub(super) struct Spill {
    scratch: Arc<Scratch>,
    /// The most bytes that are written.
    limit: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing was too long so far.
    Idle,
    Open {
        file: File,
        path: PathBuf,
        written: u64,
    },
    /// As much as is allowed has been written.
    Full(PathBuf),
    /// There is none, or it is not whole.
    Failed,
}

impl Spill {
    /// Keeps at most `limit` bytes; with 0 it keeps nothing.
    pub(super) fn new(scratch: Arc<Scratch>, limit: u64) -> Self {
        let state = if limit == 0 { State::Failed } else { State::Idle };
        Self { scratch, limit, state }
    }

    /// Whether anything was written, or tried to be.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// Writes the next piece. A disk that fails fails nobody but the file.
    pub(super) fn push(&mut self, text: &str) {
        if let Err(error) = self.try_push(text) {
            tracing::warn!(%error, "a command's output could not be kept whole");
            self.state = State::Failed;
        }
    }

    fn try_push(&mut self, text: &str) -> io::Result<()> {
        if let State::Idle = self.state {
            let (file, path) = self.create()?;
            self.state = State::Open { file, path, written: 0 };
        }
        let State::Open { file, path, written } = &mut self.state else {
            return Ok(());
        };
        let room = usize::try_from(self.limit - *written).unwrap_or(usize::MAX);
        let fitting = &text[..text.floor_char_boundary(room)];
        file.write_all(fitting.as_bytes())?;
        *written += fitting.len() as u64;
        if fitting.len() < text.len() {
            self.state = State::Full(std::mem::take(path));
        }
        Ok(())
    }

    fn create(&self) -> io::Result<(File, PathBuf)> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("output-{}.txt", NEXT.fetch_add(1, Ordering::Relaxed));
        let path = self.scratch.path()?.join(name);
        // Commands write in this folder, too: what they put there is not followed.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok((file, path))
    }

    /// What is to be said of the file, if there is one.
    pub(super) fn told(&self) -> Option<String> {
        match &self.state {
            State::Idle | State::Failed => None,
            State::Open { path, .. } => Some(format!("the whole output is in {}", path.display())),
            State::Full(path) => Some(format!(
                "the first {} bytes of the output are in {} (bash.spill_bytes)",
                self.limit,
                path.display()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file_of(spill: &Spill) -> PathBuf {
        match &spill.state {
            State::Open { path, .. } | State::Full(path) => path.clone(),
            other => panic!("there is no file: {other:?}"),
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_cut_at_a_character() {
        let mut spill = Spill::new(Arc::default(), 8);
        assert!(!spill.has_begun() && spill.told().is_none());
        spill.push("1234");
        spill.push("56é\u{1f9ea}");
        spill.push("more");
        let path = file_of(&spill);
        assert_eq!(std::fs::read_to_string(&path).expect("it is text"), "123456é");
        let mode = std::fs::metadata(&path).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let told = spill.told().expect("there is a file");
        assert!(told.starts_with("the first 8 bytes of the output are in /"), "{told}");
        drop(spill);
        assert!(!path.exists());
    }

    #[test]
    fn with_a_limit_of_nothing_no_file_is_made() {
        let mut spill = Spill::new(Arc::default(), 0);
        spill.push("x");
        assert_eq!(spill.told(), None);
        assert_eq!(spill.scratch.made(), None);
    }
}

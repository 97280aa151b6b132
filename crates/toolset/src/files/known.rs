//! What an agent knows of files: what they held when it last read or wrote them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_tools::{Memory, ToolExecution};

/// How many files are remembered; beyond it the one seen longest ago is forgotten, and must be read again.
const MAX_FILES: usize = 10_000;

/// The files that one agent has seen, by their paths without links.
#[derive(Debug, Default)]
pub(crate) struct Known {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    files: HashMap<PathBuf, (u64, u64)>,
    clock: u64,
}

/// How a file compares to what an agent knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// It was never seen.
    None,
    /// It holds what it held.
    Current,
    /// It holds something else.
    Stale,
}

impl Known {
    /// What the caller knows. A caller without a memory knows nothing.
    pub(crate) fn of(execution: &ToolExecution) -> Arc<Self> {
        execution
            .extension::<Memory>()
            .map_or_else(Arc::default, |memory| memory.of())
    }

    /// Remembers what a file holds.
    pub(crate) fn remember(&self, path: &Path, bytes: &[u8]) {
        let mut seen = self.seen();
        seen.clock += 1;
        let entry = (digest(bytes), seen.clock);
        seen.files.insert(path.to_owned(), entry);
        if seen.files.len() > MAX_FILES {
            let oldest = seen.files.iter().min_by_key(|(_, (_, time))| *time);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                seen.files.remove(&oldest);
            }
        }
    }

    /// Compares what a file holds with what is remembered. When it was touched does not matter.
    pub(crate) fn compare(&self, path: &Path, bytes: &[u8]) -> Knowledge {
        match self.seen().files.get(path) {
            None => Knowledge::None,
            Some((known, _)) if *known == digest(bytes) => Knowledge::Current,
            Some(_) => Knowledge::Stale,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // The map is sound after every single operation.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_unknown_current_or_stale() {
        let known = Known::default();
        let path = Path::new("/a");
        assert_eq!(known.compare(path, b"1"), Knowledge::None);
        known.remember(path, b"1");
        assert_eq!(known.compare(path, b"1"), Knowledge::Current);
        assert_eq!(known.compare(path, b"2"), Knowledge::Stale);
    }

    #[test]
    fn the_file_seen_longest_ago_is_forgotten_first() {
        let known = Known::default();
        for number in 0..=MAX_FILES {
            known.remember(&PathBuf::from(format!("/{number}")), b"");
            if number == 1 {
                known.remember(Path::new("/0"), b"");
            }
        }
        assert_eq!(known.compare(Path::new("/1"), b""), Knowledge::None);
        assert_eq!(known.compare(Path::new("/0"), b""), Knowledge::Current);
    }
}

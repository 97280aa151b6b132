//! What the threads of a search found, of which the first in the order of the paths is kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A line that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    /// It matches; else it stands around one that does.
    pub(super) is_match: bool,
}

/// What was found in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// How many lines match.
    pub(super) count: u64,
    /// The first of the lines; none if only the file is of interest.
    pub(super) lines: Vec<Line>,
    /// Whether lines around the matches were asked for.
    pub(super) has_context: bool,
}

impl Entry {
    /// How many results it is.
    fn weight(&self) -> usize {
        self.lines.len().max(1)
    }
}

/// What was found in all files.
#[derive(Debug)]
pub(super) struct Collected {
    most: usize,
    kept: BTreeMap<PathBuf, Entry>,
    weight: usize,
    pub(super) lines: u64,
    pub(super) files: u64,
}

impl Collected {
    /// Nothing yet, and at most so many results ever.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            kept: BTreeMap::new(),
            weight: 0,
            lines: 0,
            files: 0,
        }
    }

    /// Whether what is in a file can only be counted: enough is kept of files that come before it.
    pub(super) fn is_past(&self, path: &Path) -> bool {
        let last = self.kept.last_key_value().filter(|_| self.weight >= self.most);
        last.is_some_and(|(last, _)| last.as_path() < path)
    }

    /// Takes what was found in a file; what comes last in order gives way.
    pub(super) fn take(&mut self, path: &Path, entry: Entry) {
        self.lines += entry.count;
        self.files += 1;
        if self.is_past(path) {
            return;
        }
        self.weight += entry.weight();
        self.kept.insert(path.to_owned(), entry);
        while let Some(mut last) = self.kept.last_entry() {
            let over = self.weight.saturating_sub(self.most);
            if over == 0 {
                break;
            }
            let weight = last.get().weight();
            if over >= weight {
                last.remove();
                self.weight -= weight;
            } else {
                last.get_mut().lines.truncate(weight - over);
                self.weight -= over;
            }
        }
    }

    /// What is shown, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.kept.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// How many of the lines shown match.
    pub(super) fn shown_matches(&self) -> u64 {
        let matches = |entry: &Entry| entry.lines.iter().filter(|line| line.is_match).count() as u64;
        self.kept.values().map(matches).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(lines: u64) -> Entry {
        let line = |number| Line {
            number,
            text: String::new(),
            is_match: true,
        };
        Entry {
            count: lines,
            lines: (1..=lines).map(line).collect(),
            has_context: false,
        }
    }

    #[test]
    fn once_enough_is_kept_what_comes_after_it_is_only_counted() {
        let mut collected = Collected::new(3);
        collected.take(Path::new("/b"), entry(2));
        assert!(!collected.is_past(Path::new("/z")));
        collected.take(Path::new("/d"), entry(2));
        assert!(collected.is_past(Path::new("/e")) && !collected.is_past(Path::new("/c")));
        collected.take(Path::new("/e"), entry(4));
        collected.take(Path::new("/a"), entry(3));
        assert!(collected.is_past(Path::new("/b")));
        assert_eq!(
            (collected.lines, collected.files, collected.shown_matches()),
            (11, 4, 3)
        );
    }

    #[test]
    fn the_first_in_order_are_kept_whatever_the_order_they_come_in() {
        let files = [("/a", 2), ("/b", 3), ("/c", 4), ("/d", 1)];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let mut collected = Collected::new(6);
            for at in order {
                collected.take(Path::new(files[at].0), entry(files[at].1));
            }
            let kept: Vec<_> = collected
                .entries()
                .map(|(path, entry)| (path, entry.lines.len()))
                .collect();
            assert_eq!(kept, [(Path::new("/a"), 2), (Path::new("/b"), 3), (Path::new("/c"), 1)]);
            assert_eq!(
                (collected.lines, collected.files, collected.shown_matches()),
                (10, 4, 6)
            );
        }
    }
}

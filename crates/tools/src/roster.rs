//! An ordered list whose entries come and go while others walk it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Entries in order of arrival, each with a number of its own that is never used again.
pub(crate) struct Roster<T: ?Sized> {
    list: Mutex<List<T>>,
}

struct List<T: ?Sized> {
    next: u64,
    entries: BTreeMap<u64, Arc<T>>,
}

impl<T: ?Sized> Default for Roster<T> {
    fn default() -> Self {
        Self {
            list: Mutex::new(List {
                next: 0,
                entries: BTreeMap::new(),
            }),
        }
    }
}

impl<T: ?Sized> Roster<T> {
    /// Adds an entry at the end and returns its number.
    pub(crate) fn push(&self, entry: Arc<T>) -> u64 {
        self.lock().push(entry)
    }

    /// Adds an entry unless one that is there clashes with it.
    pub(crate) fn push_unless(&self, entry: Arc<T>, clashes: impl Fn(&T) -> bool) -> Option<u64> {
        let mut list = self.lock();
        if list.entries.values().any(|other| clashes(other)) {
            return None;
        }
        Some(list.push(entry))
    }

    /// Removes an entry; one that is gone stays gone.
    pub(crate) fn remove(&self, number: u64) {
        // Dropped after the lock: an entry may own whatever its maker captured.
        let _removed = { self.lock().entries.remove(&number) };
    }

    /// The entries as they are now.
    pub(crate) fn snapshot(&self) -> Vec<Arc<T>> {
        self.lock().entries.values().cloned().collect()
    }

    /// The first entry that fits.
    pub(crate) fn find(&self, fits: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.lock().entries.values().find(|entry| fits(entry)).cloned()
    }

    /// The first entry after `number`, or the first of all: walks that see what was added meanwhile.
    pub(crate) fn after(&self, number: Option<u64>) -> Option<(u64, Arc<T>)> {
        let from = number.map_or(Bound::Unbounded, Bound::Excluded);
        let list = self.lock();
        let (number, entry) = list.entries.range((from, Bound::Unbounded)).next()?;
        Some((*number, Arc::clone(entry)))
    }

    fn lock(&self) -> MutexGuard<'_, List<T>> {
        // The map is sound after every single operation.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> List<T> {
    fn push(&mut self, entry: Arc<T>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.entries.insert(number, entry);
        number
    }
}

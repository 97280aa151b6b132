//! Values by key, in an order that grows at both ends.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::End;

/// Values by key. One that was placed has a place in the order, and keeps it.
#[derive(Debug)]
pub(super) struct Keyed<K, V> {
    index: HashMap<K, usize>,
    values: Vec<V>,
    order: VecDeque<usize>,
}

impl<K, V> Default for Keyed<K, V> {
    fn default() -> Self {
        Self {
            index: HashMap::new(),
            values: Vec::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Clone + Eq + Hash, V: Default> Keyed<K, V> {
    /// The value of a key; an empty one, without a place, if there was none.
    pub(super) fn of(&mut self, key: &K) -> &mut V {
        let slot = self.slot(key);
        &mut self.values[slot]
    }

    /// Gives the value of a key, which has no place yet, the first or the last one.
    pub(super) fn place(&mut self, key: &K, end: End) {
        let slot = self.slot(key);
        match end {
            End::First => self.order.push_front(slot),
            End::Last => self.order.push_back(slot),
        }
    }

    /// The values that have a place, in order.
    pub(super) fn placed(&self) -> impl Iterator<Item = &V> {
        self.order.iter().map(|slot| &self.values[*slot])
    }

    fn slot(&mut self, key: &K) -> usize {
        if let Some(slot) = self.index.get(key) {
            return *slot;
        }
        let slot = self.values.len();
        self.values.push(V::default());
        self.index.insert(key.clone(), slot);
        slot
    }
}

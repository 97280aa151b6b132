//! A set of member numbers that stays small because such numbers come nearly in order.

use std::collections::BTreeMap;

/// Numbers kept as ranges: the number of members does not matter, only that of the gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seqs {
    /// First number of a range to its last one. Ranges neither touch nor overlap.
    ranges: BTreeMap<u64, u64>,
}

impl Seqs {
    pub(crate) fn contains(&self, seq: u64) -> bool {
        self.ranges
            .range(..=seq)
            .next_back()
            .is_some_and(|(_, last)| *last >= seq)
    }

    /// Adds a number; false if it was there.
    pub(crate) fn insert(&mut self, seq: u64) -> bool {
        if self.contains(seq) {
            return false;
        }
        let before = self
            .ranges
            .range(..seq)
            .next_back()
            .map(|(first, last)| (*first, *last));
        let first = match before {
            Some((first, last)) if last.checked_add(1) == Some(seq) => first,
            _ => seq,
        };
        let last = seq
            .checked_add(1)
            .and_then(|next| self.ranges.remove(&next))
            .unwrap_or(seq);
        self.ranges.insert(first, last);
        true
    }
}

#[cfg(test)]
mod tests;

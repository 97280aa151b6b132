use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn numbers_in_order_stay_one_range_and_gaps_close() {
    let mut seqs = Seqs::default();
    assert!((1..=10_000).all(|seq| seqs.insert(seq)));
    assert_eq!(seqs.ranges.len(), 1);
    assert!(seqs.insert(10_002) && seqs.insert(u64::MAX) && seqs.insert(0));
    assert_eq!(seqs.ranges.len(), 3);
    assert!(seqs.insert(10_001));
    assert_eq!(seqs.ranges.len(), 2);
    assert!(!seqs.insert(u64::MAX) && !seqs.insert(5_000) && !seqs.contains(10_003));
}

proptest! {
    #[test]
    fn it_holds_exactly_what_was_inserted(numbers in prop::collection::vec(0_u64..40, 0..80)) {
        let (mut seqs, mut oracle) = (Seqs::default(), BTreeSet::new());
        for seq in numbers {
            prop_assert_eq!(seqs.insert(seq), oracle.insert(seq));
        }
        for seq in 0..41 {
            prop_assert_eq!(seqs.contains(seq), oracle.contains(&seq));
        }
    }
}

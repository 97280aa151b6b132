//! Random numbers that are the same for the same seed, in every version of this program.

/// A sequence of numbers by SplitMix64. A run that is resumed draws the same ones again, so the algorithm stays.
#[derive(Debug)]
pub(super) struct Chance {
    state: u64,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number, from 0 to below 1.
    pub(super) fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        // As many bits as a float holds exactly.
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_seed_never_change() {
        // The algorithm's published test: the first outputs for this seed are 6457827717110365317 and
        // 3203168211198807973.
        let mut chance = Chance::new(1_234_567);
        let expected = [6_457_827_717_110_365_317u64, 3_203_168_211_198_807_973];
        for output in expected {
            assert_eq!(chance.next(), (output >> 11) as f64 / (1u64 << 53) as f64);
        }
    }

    #[test]
    fn numbers_spread_from_0_to_below_1() {
        let mut chance = Chance::new(0);
        let mut tenths = [0u32; 10];
        for _ in 0..10_000 {
            let number = chance.next();
            assert!((0.0..1.0).contains(&number));
            tenths[(number * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (850..1_150).contains(count)), "{tenths:?}");
    }
}

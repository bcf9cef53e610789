//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the same numbers for a seed on
//! every machine and in every version.

use std::collections::BTreeSet;

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A uniform number of `0..end`, with an error of at most 2^-64; `end` is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// At least 0 and below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `count` different numbers of `0..end`, sorted (Floyd's algorithm); `count` is at most `end`.
    pub fn distinct(&mut self, count: usize, end: usize) -> Vec<usize> {
        let mut chosen = BTreeSet::new();
        for last in end - count..end {
            let one = self.below(last + 1);
            chosen.insert(if chosen.contains(&one) { last } else { one });
        }
        chosen.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference() {
        // The values are those of Vigna's splitmix64.c with the seed 1234567.
        let mut random = Random::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn distinct_ones_are_in_range_and_all_can_be_had() {
        let mut random = Random::new(1);
        for (count, end) in [(0, 5), (1, 1), (3, 5), (5, 5), (10, 1_000)] {
            let chosen = random.distinct(count, end);
            assert_eq!(chosen.len(), count);
            assert!(chosen.is_sorted_by(|one, next| one < next) && chosen.iter().all(|one| *one < end), "{chosen:?}");
        }
    }

    #[test]
    fn every_one_is_as_likely() {
        let mut random = Random::new(2);
        let mut counts = [0; 10];
        (0..100_000).for_each(|_| counts[random.below(10)] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.unit())));
    }
}

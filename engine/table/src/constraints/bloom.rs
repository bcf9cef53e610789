//! A split-block Bloom filter over hashes: each lookup touches one cache line.
//!
//! Source of the layout: Parquet's BloomFilter.md, with blocks of 64-bit words.

/// Bits per key, for a false-positive rate of about one in a hundred.
const BITS_PER_KEY: usize = 10;

const WORDS: usize = 8;

/// Odd numbers that spread a hash differently in each word.
const SALTS: [u64; WORDS] = [
    0x47b6_137b_4497_4d91,
    0x8824_ad5b_a2b7_289d,
    0x7054_95c7_2df1_424b,
    0x9efc_4947_5c6b_fb31,
    0x5fb3_ae1f_9d3c_0c35,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0xd6e8_feb8_6659_fd93,
];

#[derive(Debug)]
pub struct Bloom {
    blocks: Vec<[u64; WORDS]>,
}

impl Bloom {
    pub fn for_keys(count: usize) -> Bloom {
        Bloom { blocks: vec![[0; WORDS]; Self::size_bytes(count) / (WORDS * 8)] }
    }

    pub fn size_bytes(count: usize) -> usize {
        (count * BITS_PER_KEY).div_ceil(WORDS * 64).max(1) * WORDS * 8
    }

    pub fn insert(&mut self, hash: u64) {
        let block = self.block(hash);
        for (word, salt) in self.blocks[block].iter_mut().zip(SALTS) {
            *word |= bit(hash, salt);
        }
    }

    /// False only for a hash that was not inserted.
    pub fn may_contain(&self, hash: u64) -> bool {
        let words = &self.blocks[self.block(hash)];
        words.iter().zip(SALTS).all(|(word, salt)| word & bit(hash, salt) != 0)
    }

    fn block(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.blocks.len() as u128) >> 64) as usize
    }
}

fn bit(hash: u64, salt: u64) -> u64 {
    // The high bits chose the block, so these are mixed with the low ones.
    1 << (hash.wrapping_mul(salt) >> 58)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(value: u64) -> u64 {
        let mixed = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    #[test]
    fn what_was_inserted_is_found_and_little_else_is() {
        let mut bloom = Bloom::for_keys(100_000);
        (1..=100_000).for_each(|value| bloom.insert(hash(value)));
        assert!((1..=100_000).all(|value| bloom.may_contain(hash(value))));
        let wrong = (200_000..300_000).filter(|value| bloom.may_contain(hash(*value))).count();
        assert!(wrong < 3_000, "{wrong} of 100,000 pass");
    }

    #[test]
    fn a_filter_for_no_keys_finds_nothing() {
        let bloom = Bloom::for_keys(0);
        assert!((0..1_000).all(|value| !bloom.may_contain(hash(value))));
    }
}

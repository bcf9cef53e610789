//! The checksum of everything that is stored.

use twox_hash::XxHash3_64;

/// XXH3-64 with seed 0 (the algorithm's own specification: xxHash 0.8).
pub(crate) fn xxh3(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// The same checksum for data that comes in pieces.
#[derive(Default)]
pub(crate) struct Xxh3(XxHash3_64);

impl Xxh3 {
    pub fn write(&mut self, bytes: &[u8]) {
        std::hash::Hasher::write(&mut self.0, bytes);
    }

    pub fn finish(&self) -> u64 {
        std::hash::Hasher::finish(&self.0)
    }
}

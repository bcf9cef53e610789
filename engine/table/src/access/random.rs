//! Random numbers from the operating system.

use pmem_store::StoreError;

fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    let filled = getrandom::getrandom(&mut bytes);
    filled.map(|()| bytes).map_err(|error| StoreError::Refused(format!("the system gives no random numbers: {error}")))
}

/// A random epoch: two passwords never share one, even after a backup was restored.
pub fn random_epoch() -> Result<u64, StoreError> {
    random().map(u64::from_be_bytes)
}

pub fn random_key() -> Result<[u8; 32], StoreError> {
    random()
}

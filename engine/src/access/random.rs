//! Numbers that nobody can guess, from the system.

use argon2::password_hash::try_generate_salt;
use pmem_store::StoreError;

fn random() -> Result<[u8; 16], StoreError> {
    try_generate_salt().map_err(|error| StoreError::Refused(format!("the system gives no random numbers: {error}")))
}

/// For an epoch: two passwords never have the same one, also where a backup has set the store back.
pub fn random_epoch() -> Result<u64, StoreError> {
    let bytes = random()?;
    Ok(bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

pub fn random_key() -> Result<[u8; 32], StoreError> {
    let mut key = [0; 32];
    for half in key.chunks_mut(16) {
        half.copy_from_slice(&random()?);
    }
    Ok(key)
}

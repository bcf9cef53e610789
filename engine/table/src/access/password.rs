//! Passwords: hashing and verification.

use std::sync::OnceLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

use common::error::EngineError;
use sql::Secret;

/// Longer passwords are refused before any hashing.
const BYTES_MAX: usize = 1_024;

/// The hash of a new password: argon2id, as a PHC string. Takes tens of milliseconds.
pub fn hashed(password: &Secret) -> Result<String, EngineError> {
    let refused = |message: String| EngineError::Sql { message, position: None, hint: None };
    match password.0.len() {
        0 => Err(refused("a password must not be empty".into())),
        length if length > BYTES_MAX => Err(refused(format!("a password has at most {BYTES_MAX} bytes"))),
        _ => hash(password.0.as_bytes()),
    }
}

fn hash(password: &[u8]) -> Result<String, EngineError> {
    let hash: Result<PasswordHash, _> = Argon2::default().hash_password(password);
    hash.map(|hash| hash.to_string()).map_err(|error| EngineError::internal(format!("a password could not be hashed: {error}")))
}

/// Whether the password matches the hash. Without a hash no password matches, and the check takes equally long.
pub fn fits(password: &str, stored_hash: Option<&str>) -> bool {
    /// A hash that nobody can log in with.
    static NOBODY: OnceLock<Option<String>> = OnceLock::new();
    // Computed even if it is not needed, so that timing does not show which users exist.
    let nobody = NOBODY.get_or_init(|| hash(b"nobody").ok());
    let Some(hash) = stored_hash.or(nobody.as_deref()).and_then(|hash| PasswordHash::new(hash).ok()) else { return false };
    let is_too_long = password.len() > BYTES_MAX;
    let tried = if is_too_long { b"" } else { password.as_bytes() };
    let is_right = Argon2::default().verify_password(tried, &hash).is_ok();
    is_right && stored_hash.is_some() && !is_too_long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_fits_its_own_hash_alone() {
        let stored_hash = hashed(&Secret("right".into())).unwrap();
        assert!(stored_hash.starts_with("$argon2id$"), "{stored_hash}");
        assert!(fits("right", Some(&stored_hash)));
        for wrong in ["wrong", "", "right ", &"r".repeat(BYTES_MAX + 1)] {
            assert!(!fits(wrong, Some(&stored_hash)), "{wrong}");
        }
        assert!(!fits("nobody", None));
        assert!(hashed(&Secret("right".into())).unwrap() != stored_hash);
    }

    #[test]
    fn empty_and_endless_passwords_are_refused() {
        assert!(hashed(&Secret(String::new())).is_err());
        assert!(hashed(&Secret("x".repeat(BYTES_MAX + 1))).is_err());
    }
}

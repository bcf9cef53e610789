//! Passwords that were correct a moment ago. Clients that send theirs with every call would otherwise need a hash of tens of
//! milliseconds each time. The cache holds only signatures, made with a key that is never stored.
//!
//! **Invariant:** a signature stands for the current password of the user. Changing the password or dropping the user changes the
//! epoch, and an old signature no longer matches.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use engine::Identity;
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::Sha256;
use uuid::Uuid;

/// Counted from the time of the hash. Use does not extend it.
const GOOD_FOR: Duration = Duration::from_secs(60);
const USERS_MAX: usize = 1_000;

/// One entry per user, because a user has one password.
pub struct PasswordCache {
    key: [u8; 32],
    users: Mutex<HashMap<String, CacheEntry>>,
}

struct CacheEntry {
    signature: [u8; 32],
    epoch: u64,
    until: Instant,
}

/// What the cache knows about a password without hashing it.
#[derive(Debug, PartialEq, Eq)]
pub enum CachedPassword {
    Right,
    Wrong,
    Unknown,
}

impl PasswordCache {
    pub fn new() -> PasswordCache {
        let mut key = [0; 32];
        key[..16].copy_from_slice(Uuid::new_v4().as_bytes());
        key[16..].copy_from_slice(Uuid::new_v4().as_bytes());
        PasswordCache { key, users: Mutex::default() }
    }

    /// Remembers a password that was just verified for this user.
    pub fn keep(&self, identity: &Identity, password: &str) {
        self.keep_at(identity.name(), identity.epoch(), password, Instant::now());
    }

    /// `now` is the current state of the user.
    pub fn guess(&self, now: &Identity, password: &str) -> CachedPassword {
        self.guess_at(now.name(), now.epoch(), password, Instant::now())
    }

    fn keep_at(&self, user: &str, epoch: u64, password: &str, now: Instant) {
        let signature = self.signature(user, password).finalize().into_bytes().into();
        let mut users = self.users.lock();
        make_room(&mut users, now);
        users.insert(user.to_string(), CacheEntry { signature, epoch, until: now + GOOD_FOR });
    }

    fn guess_at(&self, user: &str, epoch: u64, password: &str, now: Instant) -> CachedPassword {
        let mut users = self.users.lock();
        let Some(entry) = users.get(user) else { return CachedPassword::Unknown };
        if entry.epoch != epoch || entry.until <= now {
            users.remove(user);
            return CachedPassword::Unknown;
        }
        let signature = entry.signature;
        drop(users);
        // A comparison in constant time.
        match self.signature(user, password).verify_slice(&signature) {
            Ok(()) => CachedPassword::Right,
            Err(_) => CachedPassword::Wrong,
        }
    }

    /// The length separates the name from the password.
    fn signature(&self, user: &str, password: &str) -> Hmac<Sha256> {
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { unreachable!("a key of any length will do for HMAC") };
        mac.chain_update((user.len() as u64).to_be_bytes()).chain_update(user).chain_update(password)
    }
}

fn make_room(users: &mut HashMap<String, CacheEntry>, now: Instant) {
    if users.len() < USERS_MAX {
        return;
    }
    users.retain(|_, entry| entry.until > now);
    if users.len() >= USERS_MAX {
        let oldest = users.iter().min_by_key(|(_, entry)| entry.until).map(|(user, _)| user.clone());
        oldest.and_then(|user| users.remove(&user));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_password_is_right_and_another_one_is_wrong() {
        let (remembered, now) = (PasswordCache::new(), Instant::now());
        assert_eq!(remembered.guess_at("ada", 1, "secret", now), CachedPassword::Unknown);
        remembered.keep_at("ada", 1, "secret", now);
        assert_eq!(remembered.guess_at("ada", 1, "secret", now), CachedPassword::Right);
        for wrong in ["", "secre", "secrets", "Secret"] {
            assert_eq!(remembered.guess_at("ada", 1, wrong, now), CachedPassword::Wrong, "{wrong}");
        }
        assert_eq!(remembered.guess_at("bob", 1, "secret", now), CachedPassword::Unknown);
    }

    #[test]
    fn with_another_password_or_after_a_minute_nothing_is_known() {
        let (remembered, now) = (PasswordCache::new(), Instant::now());
        remembered.keep_at("ada", 1, "secret", now);
        assert_eq!(remembered.guess_at("ada", 2, "secret", now), CachedPassword::Unknown);
        assert_eq!(remembered.guess_at("ada", 1, "secret", now), CachedPassword::Unknown);
        remembered.keep_at("ada", 2, "secret", now);
        let almost = now + GOOD_FOR - Duration::from_millis(1);
        assert_eq!(remembered.guess_at("ada", 2, "secret", almost), CachedPassword::Right);
        assert_eq!(remembered.guess_at("ada", 2, "secret", now + GOOD_FOR), CachedPassword::Unknown);
    }

    #[test]
    fn a_name_and_a_password_are_not_taken_for_another_two() {
        let remembered = PasswordCache::new();
        let bytes = |user, password| remembered.signature(user, password).finalize().into_bytes();
        assert_ne!(bytes("ad", "asecret"), bytes("ada", "secret"));
        let other = PasswordCache::new();
        assert_ne!(bytes("ada", "secret"), other.signature("ada", "secret").finalize().into_bytes());
    }

    #[test]
    fn the_cache_is_bounded_and_evicts_the_oldest_entries() {
        let (remembered, now) = (PasswordCache::new(), Instant::now());
        for user in 0..USERS_MAX as u64 + 100 {
            remembered.keep_at(&user.to_string(), 1, "secret", now + Duration::from_micros(user));
        }
        assert_eq!(remembered.users.lock().len(), USERS_MAX);
        assert_eq!(remembered.guess_at("0", 1, "secret", now), CachedPassword::Unknown);
        assert_eq!(remembered.guess_at("1099", 1, "secret", now), CachedPassword::Right);
    }
}

//! Passwords that were right a moment ago: clients that send theirs with every call would have each of them hashed for tens of
//! milliseconds. Kept are only signatures, with a key that dies with the process.
//!
//! **Invariant:** a signature stands for the password that the user has now. With another password, and without the user, there is
//! another epoch or none, and what was kept is worth nothing.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use engine::Identity;
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::Sha256;
use uuid::Uuid;

/// From the time it was hashed: using it makes it no longer.
const GOOD_FOR: Duration = Duration::from_secs(60);
const USERS_MAX: usize = 1_000;

/// One for each user: more than one password is never right.
pub struct PasswordCache {
    key: [u8; 32],
    users: Mutex<HashMap<String, CacheEntry>>,
}

struct CacheEntry {
    signature: [u8; 32],
    epoch: u64,
    until: Instant,
}

/// What a password is, as far as is known without hashing it.
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

    /// A password that was just found to be right for this user.
    pub fn keep(&self, identity: &Identity, password: &str) {
        self.keep_at(identity.name(), identity.epoch(), password, Instant::now());
    }

    /// `now` is the user as of now.
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
        let Some(known) = users.get(user) else { return CachedPassword::Unknown };
        if known.epoch != epoch || known.until <= now {
            users.remove(user);
            return CachedPassword::Unknown;
        }
        let signature = known.signature;
        drop(users);
        // Takes as long wherever they differ.
        match self.signature(user, password).verify_slice(&signature) {
            Ok(()) => CachedPassword::Right,
            Err(_) => CachedPassword::Wrong,
        }
    }

    /// The length says where the name ends and the password begins.
    fn signature(&self, user: &str, password: &str) -> Hmac<Sha256> {
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { unreachable!("a key of any length will do for HMAC") };
        mac.chain_update((user.len() as u64).to_be_bytes()).chain_update(user).chain_update(password)
    }
}

fn make_room(users: &mut HashMap<String, CacheEntry>, now: Instant) {
    if users.len() < USERS_MAX {
        return;
    }
    users.retain(|_, known| known.until > now);
    if users.len() >= USERS_MAX {
        let oldest = users.iter().min_by_key(|(_, known)| known.until).map(|(user, _)| user.clone());
        oldest.and_then(|user| users.remove(&user));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_was_right_is_right_and_another_one_is_not() {
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
    fn only_so_many_are_kept_and_the_oldest_go() {
        let (remembered, now) = (PasswordCache::new(), Instant::now());
        for user in 0..USERS_MAX as u64 + 100 {
            remembered.keep_at(&user.to_string(), 1, "secret", now + Duration::from_micros(user));
        }
        assert_eq!(remembered.users.lock().len(), USERS_MAX);
        assert_eq!(remembered.guess_at("0", 1, "secret", now), CachedPassword::Unknown);
        assert_eq!(remembered.guess_at("1099", 1, "secret", now), CachedPassword::Right);
    }
}

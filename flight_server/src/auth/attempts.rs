//! Throttling of wrong passwords. After a few in a row the next attempt has to wait, each time for longer. An attempt that
//! waits is not even verified, so that guessing costs the attacker and not the server.
//!
//! **Invariant:** the table is bounded, whatever names and addresses clients send.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Wrong passwords for one user, from any address, before the next has to wait.
const FREE_PER_USER: u32 = 5;
/// Wrong passwords from one address, for any user. It is larger, because many people may share an address.
const FREE_PER_PEER: u32 = 20;
const WAIT_FIRST: Duration = Duration::from_secs(1);
/// The longest wait. It also bounds how long an attacker who guesses can keep the user from logging in. Tokens still work.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// After this long without a wrong password, the failures are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);
const ENTRIES_MAX: usize = 10_000;

#[derive(Default)]
pub struct Attempts {
    hasher: RandomState,
    failures: Mutex<HashMap<u64, Failures>>,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
    /// No attempt is accepted before this time.
    until: Instant,
}

/// The user whose password is tried, and the address of the client.
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    pub user: &'a str,
    pub peer: Option<IpAddr>,
}

impl Attempts {
    /// How long to wait before the next attempt is verified; `None` if there is no wait.
    pub fn wait(&self, attempt: Attempt<'_>) -> Option<Duration> {
        self.wait_at(attempt, Instant::now())
    }

    pub fn failed(&self, attempt: Attempt<'_>) {
        self.failed_at(attempt, Instant::now());
    }

    /// A correct password clears the failures of the user, but not those of the address, which may have guessed at others.
    pub fn succeeded(&self, attempt: Attempt<'_>) {
        self.failures.lock().remove(&self.key(("user", attempt.user)));
    }

    fn wait_at(&self, attempt: Attempt<'_>, now: Instant) -> Option<Duration> {
        let failures = self.failures.lock();
        let waits = self.keys(attempt).map(|(key, _)| failures.get(&key).map(|entry| entry.until.saturating_duration_since(now)));
        waits.into_iter().flatten().max().filter(|wait| !wait.is_zero())
    }

    fn failed_at(&self, attempt: Attempt<'_>, now: Instant) {
        let mut failures = self.failures.lock();
        for (key, free) in self.keys(attempt) {
            make_room(&mut failures, now);
            let entry = failures.entry(key).or_insert(Failures { count: 0, last: now, until: now });
            let is_old = now.saturating_duration_since(entry.last) > FORGOTTEN_AFTER;
            let count = if is_old { 1 } else { entry.count.saturating_add(1) };
            let wait =
                count.checked_sub(free).map_or(Duration::ZERO, |beyond| WAIT_FIRST.saturating_mul(1 << beyond.min(10)).min(WAIT_MAX));
            *entry = Failures { count, last: now, until: now + wait };
        }
    }

    /// The keys of an attempt, each with the number of failures that are free.
    fn keys(&self, attempt: Attempt<'_>) -> [(u64, u32); 2] {
        [(self.key(("user", attempt.user)), FREE_PER_USER), (self.key(("peer", attempt.peer)), FREE_PER_PEER)]
    }

    fn key(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }
}

fn make_room(failures: &mut HashMap<u64, Failures>, now: Instant) {
    if failures.len() < ENTRIES_MAX {
        return;
    }
    failures.retain(|_, entry| now.saturating_duration_since(entry.last) <= FORGOTTEN_AFTER);
    if failures.len() >= ENTRIES_MAX {
        let oldest = failures.iter().min_by_key(|(_, entry)| entry.last).map(|(key, _)| *key);
        oldest.and_then(|key| failures.remove(&key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(user: &str, peer: u8) -> Attempt<'_> {
        Attempt { user, peer: Some(IpAddr::from([10, 0, 0, peer])) }
    }

    #[test]
    fn the_fifth_wrong_password_makes_the_user_wait_ever_longer() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for peer in 0..4 {
            attempts.failed_at(attempt("ada", peer), now);
            assert_eq!(attempts.wait_at(attempt("ada", 99), now), None);
        }
        let waits: Vec<u64> = (0..7)
            .map(|peer| {
                attempts.failed_at(attempt("ada", peer), now);
                attempts.wait_at(attempt("ada", 99), now).unwrap().as_secs()
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(attempts.wait_at(attempt("bob", 99), now), None);
        assert_eq!(attempts.wait_at(attempt("ada", 99), now + WAIT_MAX), None);
    }

    #[test]
    fn an_address_waits_whomever_it_guesses_at() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for user in 0..FREE_PER_PEER {
            attempts.failed_at(attempt(&user.to_string(), 1), now);
        }
        assert!(attempts.wait_at(attempt("ada", 1), now).is_some());
        assert_eq!(attempts.wait_at(attempt("ada", 2), now), None);
    }

    #[test]
    fn the_right_password_and_time_are_forgiving() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for _ in 0..FREE_PER_USER {
            attempts.failed_at(attempt("ada", 1), now);
        }
        attempts.succeeded(attempt("ada", 1));
        assert_eq!(attempts.wait_at(attempt("ada", 1), now), None);
        for _ in 0..4 {
            attempts.failed_at(attempt("bob", 2), now);
        }
        let later = now + FORGOTTEN_AFTER + Duration::from_secs(1);
        attempts.failed_at(attempt("bob", 2), later);
        assert_eq!(attempts.wait_at(attempt("bob", 2), later), None);
    }

    #[test]
    fn the_table_does_not_grow_without_end() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for user in 0..ENTRIES_MAX as u64 + 500 {
            attempts.failed_at(attempt(&user.to_string(), 1), now + Duration::from_micros(user));
        }
        assert!(attempts.failures.lock().len() <= ENTRIES_MAX);
    }
}

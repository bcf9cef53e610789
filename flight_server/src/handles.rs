//! Objects that clients hold by an opaque handle: bounded in number, in total and per user, and dropped when
//! they were not used for long.
//!
//! **Invariant:** only its owner can use a handle; for others it does not exist.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tonic::Status;
use uuid::Uuid;

use crate::auth::Principal;

/// 32 random hexadecimal digits: safe in a header, and not guessable.
pub type Handle = Bytes;

pub fn new_handle() -> Handle {
    Bytes::from(Uuid::new_v4().simple().to_string())
}

pub struct Handles<T> {
    /// The objects, as a plural noun for errors.
    what: &'static str,
    max: usize,
    /// The limit for one user.
    max_of_user: usize,
    idle: Duration,
    entries: Mutex<Entries<T>>,
}

struct Entries<T> {
    by_handle: HashMap<Handle, Entry<T>>,
    counts: HashMap<Principal, usize>,
}

struct Entry<T> {
    value: Arc<T>,
    principal: Principal,
    used: Instant,
}

impl<T> Handles<T> {
    pub fn new(what: &'static str, max: usize, max_of_user: usize, idle: Duration) -> Handles<T> {
        let entries = Mutex::new(Entries { by_handle: HashMap::new(), counts: HashMap::new() });
        Handles { what, max, max_of_user, idle, entries }
    }

    pub fn insert(&self, principal: &Principal, value: T) -> Result<Handle, Status> {
        self.insert_arc(principal, Arc::new(value))
    }

    pub fn insert_arc(&self, principal: &Principal, value: Arc<T>) -> Result<Handle, Status> {
        let handle = new_handle();
        self.put(principal, handle.clone(), value)?;
        Ok(handle)
    }

    /// If there is no room, the least recently used object that is not in use is evicted: of the same owner
    /// if its share is full, or else of the owner that has most; and of that owner's sessions, of the one that has most. This is for
    /// objects that many clients create and abandon, so that none of them evicts what others still need.
    pub fn insert_over_oldest(
        &self,
        principal: &Principal,
        value: Arc<T>,
        session_of: impl Fn(&T) -> Option<&Handle>,
    ) -> Result<Handle, Status> {
        let handle = new_handle();
        self.make_room(principal);
        let mut entries = self.entries.lock();
        let holder = match self.is_share_used(&entries, principal) {
            true => Some(principal.clone()),
            false if entries.by_handle.len() >= self.max => entries.greatest_holder(),
            false => None,
        };
        let oldest = holder.and_then(|holder| entries.oldest_idle(&holder, &value, session_of)).and_then(|oldest| entries.remove(&oldest));
        // Under the same lock, so that no other insert takes the room.
        let room = self.check_room_in(&entries, principal);
        if room.is_ok() {
            entries.put(principal, handle.clone(), value);
        }
        drop(entries);
        drop(oldest);
        room.map(|()| handle)
    }

    /// Inserts under a handle that was issued before.
    pub fn put(&self, principal: &Principal, handle: Handle, value: Arc<T>) -> Result<(), Status> {
        self.make_room(principal);
        // Released before the value is dropped, if it is refused.
        let mut entries = self.entries.lock();
        self.check_room_in(&entries, principal)?;
        entries.put(principal, handle, value);
        Ok(())
    }

    fn make_room(&self, principal: &Principal) {
        if self.check_room(principal).is_err() {
            self.sweep();
        }
    }

    /// An error if there is no room for one more of this owner.
    pub fn check_room(&self, principal: &Principal) -> Result<(), Status> {
        self.check_room_in(&self.entries.lock(), principal)
    }

    /// Getting counts as a use.
    pub fn get(&self, principal: &Principal, handle: &[u8]) -> Result<Arc<T>, Status> {
        let mut entries = self.entries.lock();
        let entry = entries.by_handle.get_mut(handle).filter(|entry| entry.principal == *principal && entry.is_good(self.idle));
        let entry = entry.ok_or_else(|| self.unknown())?;
        entry.used = Instant::now();
        Ok(Arc::clone(&entry.value))
    }

    /// Whether the handle exists. This does not count as a use.
    pub fn holds(&self, principal: &Principal, handle: &[u8]) -> bool {
        let entries = self.entries.lock();
        entries.by_handle.get(handle).is_some_and(|entry| entry.principal == *principal && entry.is_good(self.idle))
    }

    /// Removes the value and returns it.
    pub fn take(&self, principal: &Principal, handle: &[u8]) -> Result<Arc<T>, Status> {
        let entry = self.entries.lock().remove_of(principal, handle).filter(|entry| entry.is_good(self.idle));
        entry.map(|entry| entry.value).ok_or_else(|| self.unknown())
    }

    /// Values are dropped outside of the lock, because that may take a while.
    pub fn remove(&self, principal: &Principal, handle: &[u8]) -> bool {
        let removed = self.entries.lock().remove_of(principal, handle);
        removed.is_some()
    }

    pub fn retain(&self, mut keep: impl FnMut(&Principal, &T) -> bool) {
        drop(self.remove_if(|principal, value| !keep(principal, value)));
    }

    /// Removes entries and returns them, so that they are dropped outside of the lock.
    pub fn remove_if(&self, mut is_gone: impl FnMut(&Principal, &T) -> bool) -> Vec<Arc<T>> {
        let entries = self.extract(|entry| is_gone(&entry.principal, &entry.value));
        entries.into_iter().map(|entry| entry.value).collect()
    }

    /// Removes entries that are idle for too long and not in use now.
    pub fn sweep(&self) {
        let idle = self.idle;
        drop(self.extract(|entry| !entry.is_good(idle)));
    }

    pub fn len(&self) -> usize {
        self.entries.lock().by_handle.len()
    }

    /// Whether any value satisfies the predicate.
    pub fn any(&self, predicate: impl Fn(&T) -> bool) -> bool {
        self.entries.lock().by_handle.values().any(|entry| predicate(&entry.value))
    }

    /// The values that satisfy the predicate. This does not count as a use.
    pub fn all_of(&self, predicate: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let entries = self.entries.lock();
        entries.by_handle.values().filter(|entry| predicate(&entry.value)).map(|entry| Arc::clone(&entry.value)).collect()
    }

    fn extract(&self, mut take: impl FnMut(&Entry<T>) -> bool) -> Vec<Entry<T>> {
        let mut entries = self.entries.lock();
        let handles: Vec<Handle> = entries.by_handle.iter().filter(|(_, entry)| take(entry)).map(|(handle, _)| handle.clone()).collect();
        handles.iter().filter_map(|handle| entries.remove(handle)).collect()
    }

    fn check_room_in(&self, entries: &Entries<T>, principal: &Principal) -> Result<(), Status> {
        let what = self.what;
        let full = |who: String, max: usize| {
            Status::resource_exhausted(format!("{who} {max} {what} at once already; close some, or wait until they expire"))
        };
        if entries.by_handle.len() >= self.max {
            return Err(full("there are".to_string(), self.max));
        }
        match principal.user() {
            Some(user) if self.is_share_used(entries, principal) => Err(full(format!("user \"{user}\" has"), self.max_of_user)),
            _ => Ok(()),
        }
    }

    /// Without users there is a single owner, which has no share.
    fn is_share_used(&self, entries: &Entries<T>, principal: &Principal) -> bool {
        principal.user().is_some() && entries.counts.get(principal).is_some_and(|count| *count >= self.max_of_user)
    }

    fn unknown(&self) -> Status {
        let (what, idle_s) = (self.what, self.idle.as_secs());
        Status::not_found(format!(
            "none of the {what} has this handle: it was used up or closed, or not used for {idle_s} s; ask for a new one"
        ))
    }
}

impl<T> Entries<T> {
    fn put(&mut self, principal: &Principal, handle: Handle, value: Arc<T>) {
        // The handle is new; if it were not, it would not be counted twice.
        self.remove(&handle);
        *self.counts.entry(principal.clone()).or_default() += 1;
        self.by_handle.insert(handle, Entry { value, principal: principal.clone(), used: Instant::now() });
    }

    fn remove(&mut self, handle: &[u8]) -> Option<Entry<T>> {
        let entry = self.by_handle.remove(handle)?;
        if let Some(count) = self.counts.get_mut(&entry.principal) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&entry.principal);
            }
        }
        Some(entry)
    }

    fn remove_of(&mut self, principal: &Principal, handle: &[u8]) -> Option<Entry<T>> {
        self.by_handle.get(handle).filter(|entry| entry.principal == *principal)?;
        self.remove(handle)
    }

    fn greatest_holder(&self) -> Option<Principal> {
        self.counts.iter().max_by_key(|(_, count)| **count).map(|(principal, _)| principal.clone())
    }

    /// The oldest of the session that has most, counting `coming` as one more of its session.
    fn oldest_idle(&self, principal: &Principal, coming: &T, session_of: impl Fn(&T) -> Option<&Handle>) -> Option<Handle> {
        let coming = session_of(coming);
        let mut oldest: HashMap<Option<&Handle>, (usize, Instant, &Handle)> = HashMap::new();
        for (handle, entry) in self.by_handle.iter().filter(|(_, entry)| entry.principal == *principal && !entry.is_in_use()) {
            let session = session_of(&entry.value);
            let (count, used, first) = oldest.entry(session).or_insert((usize::from(session == coming), entry.used, handle));
            *count += 1;
            if entry.used < *used {
                (*used, *first) = (entry.used, handle);
            }
        }
        oldest.into_values().max_by_key(|(count, used, _)| (*count, Reverse(*used))).map(|(_, _, handle)| handle.clone())
    }
}

impl<T> Entry<T> {
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.value) > 1
    }

    fn is_good(&self, idle: Duration) -> bool {
        self.used.elapsed() < idle || self.is_in_use()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn anybody() -> Principal {
        Principal::default()
    }

    #[test]
    fn a_handle_is_unknown_after_take() {
        let handles = Handles::new("results", 10, 10, LONG);
        let handle = handles.insert(&anybody(), 7).unwrap();
        assert_eq!(*handles.take(&anybody(), &handle).unwrap(), 7);
        assert_eq!(handles.take(&anybody(), &handle).unwrap_err().code(), tonic::Code::NotFound);
        assert_eq!(handles.get(&anybody(), b"garbage").unwrap_err().code(), tonic::Code::NotFound);
    }

    #[test]
    fn the_handle_of_another_owner_does_not_exist() {
        let (ada, bob) = (Principal::named("ada"), Principal::named("bob"));
        let handles = Handles::new("results", 10, 10, LONG);
        let handle = handles.insert(&ada, 7).unwrap();
        let missing = handles.get(&bob, b"missing").unwrap_err();
        for other in [&bob, &anybody()] {
            assert_eq!(handles.get(other, &handle).unwrap_err().message(), missing.message());
            assert_eq!(handles.take(other, &handle).unwrap_err().message(), missing.message());
            assert!(!handles.remove(other, &handle));
        }
        assert_eq!(*handles.take(&ada, &handle).unwrap(), 7);
    }

    #[test]
    fn more_than_the_limit_are_refused_until_one_is_closed() {
        let handles = Handles::new("sessions", 2, 2, LONG);
        let first = handles.insert(&anybody(), 1).unwrap();
        handles.insert(&anybody(), 2).unwrap();
        assert_eq!(handles.insert(&anybody(), 3).unwrap_err().code(), tonic::Code::ResourceExhausted);
        assert!(handles.remove(&anybody(), &first));
        handles.insert(&anybody(), 3).unwrap();
    }

    #[test]
    fn a_user_with_a_full_share_does_not_block_others() {
        let (ada, bob) = (Principal::named("ada"), Principal::named("bob"));
        let handles = Handles::new("sessions", 4, 2, LONG);
        let first = handles.insert(&ada, 1).unwrap();
        handles.insert(&ada, 2).unwrap();
        assert_eq!(handles.insert(&ada, 3).unwrap_err().code(), tonic::Code::ResourceExhausted);
        handles.insert(&bob, 4).unwrap();
        // The user's own oldest entry is evicted, and nothing of others.
        handles.insert_over_oldest(&ada, Arc::new(5), |_| None).unwrap();
        assert!(handles.get(&ada, &first).is_err());
        assert_eq!(handles.len(), 3);
    }

    #[test]
    fn when_all_is_full_the_owner_with_most_is_evicted_from() {
        let handles = Handles::new("results", 3, 2, LONG);
        let first = handles.insert(&Principal::named("ada"), 1).unwrap();
        handles.insert(&Principal::named("ada"), 2).unwrap();
        let other = handles.insert(&Principal::named("bob"), 3).unwrap();
        handles.insert_over_oldest(&Principal::named("eve"), Arc::new(4), |_| None).unwrap();
        assert!(handles.get(&Principal::named("ada"), &first).is_err());
        assert_eq!(*handles.get(&Principal::named("bob"), &other).unwrap(), 3);
    }

    #[test]
    fn the_session_that_has_most_is_evicted_from_and_no_other() {
        let handles: Handles<(&str, Handle)> = Handles::new("results", 4, 4, LONG);
        let ask = |session: &'static str| {
            let value = Arc::new((session, Handle::from_static(session.as_bytes())));
            handles.insert_over_oldest(&anybody(), value, |(_, session)| Some(session)).unwrap()
        };
        let count_of = |session| handles.all_of(|(name, _)| *name == session).len();
        let quiet = ask("quiet");
        for _ in 0..100 {
            ask("greedy");
        }
        assert_eq!((count_of("quiet"), count_of("greedy")), (1, 3));
        ask("quiet");
        assert_eq!((count_of("quiet"), count_of("greedy")), (2, 2));
        // Both have equally many, and this one inserts one more.
        ask("quiet");
        assert_eq!((count_of("quiet"), count_of("greedy")), (2, 2));
        assert!(handles.get(&anybody(), &quiet).is_err());
    }

    #[test]
    fn expired_entries_are_removed_before_an_insert_is_refused() {
        let (ada, bob, eve) = (Principal::named("ada"), Principal::named("bob"), Principal::named("eve"));
        let handles = Handles::new("results", 3, 2, Duration::ZERO);
        let in_use = [Arc::new(1), Arc::new(2)];
        for value in &in_use {
            handles.insert_arc(&ada, Arc::clone(value)).unwrap();
        }
        handles.insert(&bob, 3).unwrap();
        handles.insert_over_oldest(&eve, Arc::new(4), |_| None).unwrap();
        assert_eq!(handles.len(), 3);
    }

    #[test]
    fn a_refused_value_is_dropped_outside_of_the_lock() {
        struct Refused;
        static HANDLES: Mutex<Option<Arc<Handles<Refused>>>> = Mutex::new(None);
        impl Drop for Refused {
            fn drop(&mut self) {
                let handles = HANDLES.lock().take().unwrap();
                assert!(handles.entries.try_lock().is_some());
            }
        }
        let handles = Arc::new(Handles::new("results", 0, 0, LONG));
        for over_oldest in [false, true] {
            *HANDLES.lock() = Some(Arc::clone(&handles));
            let value = Arc::new(Refused);
            let put =
                if over_oldest { handles.insert_over_oldest(&anybody(), value, |_| None) } else { handles.insert_arc(&anybody(), value) };
            assert!(put.is_err() && HANDLES.lock().is_none());
        }
    }

    #[test]
    fn concurrent_inserts_with_eviction_are_never_refused() {
        for handles in [Handles::new("results", 4, 4, LONG), Handles::new("results", 100, 4, LONG)] {
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for value in 0..2_000 {
                            handles.insert_over_oldest(&Principal::named("ada"), Arc::new(value), |_| None).unwrap();
                        }
                    });
                }
            });
            assert_eq!(handles.len(), 4);
        }
    }

    #[test]
    fn idle_entries_expire_unless_they_are_in_use() {
        let handles = Handles::new("sessions", 2, 2, Duration::ZERO);
        let handle = handles.insert(&anybody(), 1).unwrap();
        assert!(handles.get(&anybody(), &handle).is_err());
        let value = Arc::new(2);
        let handle = handles.insert_arc(&anybody(), Arc::clone(&value)).unwrap();
        handles.sweep();
        assert_eq!(handles.len(), 1);
        assert_eq!(*handles.get(&anybody(), &handle).unwrap(), 2);
        drop(value);
        handles.sweep();
        assert_eq!(handles.len(), 0);
    }
}

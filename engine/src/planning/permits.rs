//! Permits to plan: users take turns, and only the process itself may hold all permits.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::queries::Principal;

/// One for a slow statement, and one for the others.
const PERMITS_MIN: usize = 2;

#[derive(Debug)]
pub struct PlanningPermits {
    count: usize,
    all: Arc<Semaphore>,
    /// The permits of each user who holds some or waits.
    users: Mutex<HashMap<Principal, Weak<Semaphore>>>,
}

/// Released when it is dropped.
#[derive(Debug)]
pub struct PlanningPermit {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_user: Option<OwnedSemaphorePermit>,
}

impl PlanningPermits {
    pub fn new(threads: usize) -> Arc<PlanningPermits> {
        let count = threads.max(PERMITS_MIN);
        Arc::new(PlanningPermits { count, all: Arc::new(Semaphore::new(count)), users: Mutex::default() })
    }

    /// Waits for the user's own permit first, so that a user never has more waiters in the common queue than permits.
    pub async fn take(&self, principal: &Principal) -> PlanningPermit {
        let own = self.of_user(principal);
        // The semaphores are never closed, so this always gets a permit.
        let of_user = own.acquire_owned().await.ok();
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok();
        PlanningPermit { _of_all: of_all, _of_user: of_user }
    }

    fn of_user(&self, principal: &Principal) -> Arc<Semaphore> {
        let mut users = self.users.lock();
        if let Some(own) = users.get(principal).and_then(Weak::upgrade) {
            return own;
        }
        users.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(if principal.is_process() { self.count } else { self.count - 1 }));
        users.insert(principal.clone(), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn permit(places: &PlanningPermits, principal: &Principal) -> Option<PlanningPermit> {
        places.take(principal).now_or_never()
    }

    #[test]
    fn one_user_leaves_a_place_to_the_others() {
        let (places, ann, bob) = (PlanningPermits::new(2), Principal::user("ann"), Principal::user("bob"));
        let first = permit(&places, &ann);
        assert!(first.is_some());
        assert!(permit(&places, &ann).is_none());
        let second = permit(&places, &bob);
        assert!(second.is_some());
        drop(first);
        assert!(permit(&places, &ann).is_some());
        drop(second);
        assert_eq!(places.all.available_permits(), 2);
    }

    #[test]
    fn the_process_itself_may_have_all_and_no_more_than_there_are() {
        let (places, process) = (PlanningPermits::new(1), Principal::process("ann"));
        let all = [permit(&places, &process), permit(&places, &process)];
        assert!(all.iter().all(Option::is_some));
        assert!(permit(&places, &process).is_none());
        assert!(permit(&places, &Principal::user("ann")).is_none());
    }

    #[test]
    fn users_who_have_none_are_forgotten() {
        let places = PlanningPermits::new(4);
        for number in 0..100 {
            drop(permit(&places, &Principal::user(&number.to_string())));
        }
        assert!(places.users.lock().len() <= 1);
    }
}

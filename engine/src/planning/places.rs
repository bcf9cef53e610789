//! Places to plan in: users in turn, and nobody has them all but the process itself.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::queries::Whose;

/// One for a statement that takes its time, and one beside it.
const PLACES_MIN: usize = 2;

#[derive(Debug)]
pub struct Places {
    count: usize,
    all: Arc<Semaphore>,
    /// What each user may have, of those who have some or wait.
    users: Mutex<HashMap<Whose, Weak<Semaphore>>>,
}

/// Given back when it is dropped.
#[derive(Debug)]
pub struct Place {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_user: Option<OwnedSemaphorePermit>,
}

impl Places {
    pub fn new(threads: usize) -> Arc<Places> {
        let count = threads.max(PLACES_MIN);
        Arc::new(Places { count, all: Arc::new(Semaphore::new(count)), users: Mutex::default() })
    }

    /// Waits for a place of the user first, so that a user has no more in the queue for all than may be taken.
    pub async fn take(&self, whose: &Whose) -> Place {
        let own = self.of_user(whose);
        // They are never closed, so that there is always a permit in the end.
        let of_user = own.acquire_owned().await.ok();
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok();
        Place { _of_all: of_all, _of_user: of_user }
    }

    fn of_user(&self, whose: &Whose) -> Arc<Semaphore> {
        let mut users = self.users.lock();
        if let Some(own) = users.get(whose).and_then(Weak::upgrade) {
            return own;
        }
        users.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(if whose.is_process() { self.count } else { self.count - 1 }));
        users.insert(whose.clone(), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn taken(places: &Places, whose: &Whose) -> Option<Place> {
        places.take(whose).now_or_never()
    }

    #[test]
    fn one_user_leaves_a_place_to_the_others() {
        let (places, ann, bob) = (Places::new(2), Whose::user("ann"), Whose::user("bob"));
        let first = taken(&places, &ann);
        assert!(first.is_some());
        assert!(taken(&places, &ann).is_none());
        let second = taken(&places, &bob);
        assert!(second.is_some());
        drop(first);
        assert!(taken(&places, &ann).is_some());
        drop(second);
        assert_eq!(places.all.available_permits(), 2);
    }

    #[test]
    fn the_process_itself_may_have_all_and_no_more_than_there_are() {
        let (places, process) = (Places::new(1), Whose::process("ann"));
        let all = [taken(&places, &process), taken(&places, &process)];
        assert!(all.iter().all(Option::is_some));
        assert!(taken(&places, &process).is_none());
        assert!(taken(&places, &Whose::user("ann")).is_none());
    }

    #[test]
    fn users_who_have_none_are_forgotten() {
        let places = Places::new(4);
        for number in 0..100 {
            drop(taken(&places, &Whose::user(&number.to_string())));
        }
        assert!(places.users.lock().len() <= 1);
    }
}

//! Admission control: a statement needs a permit to run. Users take turns, and the statements of one user run in order. One user
//! leaves a permit to the others, unless there is only one; only the process itself may hold all of them.
//!
//! A statement holds its permit from its first rows to its end, with one exception: a result that its client does not read does no work,
//! so after a while its permit goes to a waiting statement, and it asks for another when it is read on. Otherwise a client with an open
//! result that runs another statement would wait for itself.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::principal::Principal;
use super::query::Query;

/// A result that is not read for this long releases its permit to a waiting statement.
const UNREAD_MAX: Duration = Duration::from_secs(1);
/// How often unread results are looked for while statements wait.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The limits of admission.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmissionLimits {
    /// `None`: unlimited.
    pub queries_max: Option<usize>,
    /// How long a statement may wait for admission; `None`: unlimited.
    pub queue_timeout_ms: Option<u64>,
}

#[derive(Debug)]
pub struct AdmissionQueue {
    limits: AdmissionLimits,
    state: Mutex<QueueState>,
}

/// **Invariant:** while a permit is free, the only users who wait are those who hold as many as one user may have.
#[derive(Debug, Default)]
struct QueueState {
    admitted: HashMap<u64, Arc<Query>>,
    /// Users with waiting statements; the first user is next. No list is empty.
    users: VecDeque<(Principal, VecDeque<Arc<Query>>)>,
}

impl AdmissionQueue {
    pub fn new(limits: AdmissionLimits) -> AdmissionQueue {
        AdmissionQueue { limits, state: Mutex::default() }
    }

    pub fn poll_admission(&self, query: &Arc<Query>, context: &mut Context<'_>) -> Poll<()> {
        query.begin();
        let Some(max) = self.limits.queries_max else { return Poll::Ready(()) };
        if query.is_exempt() {
            return Poll::Ready(());
        }
        let mut state = self.state.lock();
        if state.admitted.contains_key(&query.id) {
            return Poll::Ready(());
        }
        if query.commit_guard.stopped().is_some() || query.queue_entry.has_left.load(Ordering::Relaxed) {
            // Nobody would release a permit that it got now.
            return Poll::Pending;
        }
        let waits = query.queue_entry.waiting_since.lock().is_some();
        if !waits && state.has_room(&query.principal, max) {
            state.admit(query);
            return Poll::Ready(());
        }
        *query.queue_entry.waker.lock() = Some(context.waker().clone());
        if !waits {
            state.wait(query);
        }
        Poll::Pending
    }

    /// The statement has ended or was stopped. Also for a statement that needs no permit: it may have got one before that was known.
    pub fn leave(&self, query: &Arc<Query>) {
        if self.limits.queries_max.is_none() {
            return;
        }
        let wakers = {
            let mut state = self.state.lock();
            query.queue_entry.has_left.store(true, Ordering::Relaxed);
            state.forget(query);
            self.give(&mut state)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The statement produces no more rows, but its answer was not read yet.
    pub fn release_permit(&self, query: &Arc<Query>) {
        if self.limits.queries_max.is_none() {
            return;
        }
        let wakers = {
            let mut state = self.state.lock();
            state.admitted.remove(&query.id);
            self.give(&mut state)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The statements that have waited for too long, and the limit.
    pub fn overdue(&self, now: Instant) -> Vec<(Arc<Query>, u64)> {
        let Some(limit_ms) = self.limits.queue_timeout_ms else { return Vec::new() };
        let state = self.state.lock();
        let waiting = state.users.iter().flat_map(|(_, waiting)| waiting);
        let since = |query: &Arc<Query>| *query.queue_entry.waiting_since.lock();
        let is_overdue =
            |query: &&Arc<Query>| since(query).is_some_and(|since| now.saturating_duration_since(since).as_millis() as u64 >= limit_ms);
        waiting.filter(is_overdue).map(|query| (Arc::clone(query), limit_ms)).collect()
    }

    /// Releases the permits of unread results if statements wait; returns when to look again.
    pub fn release_unread_permits(&self, now: Instant) -> Option<Instant> {
        let (wakers, again) = {
            let mut state = self.state.lock();
            if state.users.is_empty() {
                return None;
            }
            let unread: Vec<u64> = state.admitted.values().filter(|query| query.is_unread(UNREAD_MAX, now)).map(|query| query.id).collect();
            for id in unread {
                state.admitted.remove(&id);
            }
            let wakers = self.give(&mut state);
            (wakers, (!state.users.is_empty()).then_some(now + LOOK_EVERY))
        };
        wakers.into_iter().for_each(Waker::wake);
        again
    }

    /// Whether the statement holds a permit. An exempt statement holds none.
    pub fn has_permit(&self, query: &Query) -> bool {
        match self.limits.queries_max {
            Some(_) if !query.is_exempt() => self.state.lock().admitted.contains_key(&query.id),
            _ => false,
        }
    }

    /// The ids of the waiting statements, in the order of their turns.
    pub fn order(&self) -> Vec<u64> {
        let state = self.state.lock();
        let rounds = state.users.iter().map(|(_, waiting)| waiting.len()).max().unwrap_or(0);
        (0..rounds).flat_map(|round| state.users.iter().filter_map(move |(_, waiting)| waiting.get(round)).map(|query| query.id)).collect()
    }

    /// Gives free permits to the next statements; the caller wakes them outside of the lock.
    fn give(&self, state: &mut QueueState) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let Some(max) = self.limits.queries_max else { return wakers };
        while let Some(query) = state.next(max) {
            state.admit(&query);
            wakers.extend(query.queue_entry.waker.lock().take());
        }
        wakers
    }
}

impl QueueState {
    fn admit(&mut self, query: &Arc<Query>) {
        if let Some(since) = query.queue_entry.waiting_since.lock().take() {
            query.queue_entry.waited_ms.fetch_add(since.elapsed().as_millis() as u64, Ordering::Relaxed);
            // Nobody reads it until it is polled.
            *query.queue_entry.unread_since.lock() = Some(Instant::now());
        }
        query.queue_entry.was_admitted.store(true, Ordering::Relaxed);
        self.admitted.insert(query.id, Arc::clone(query));
    }

    fn wait(&mut self, query: &Arc<Query>) {
        *query.queue_entry.waiting_since.lock() = Some(Instant::now());
        // A statement that was already running comes before those that have not begun, because it holds memory.
        let goes_on = query.queue_entry.was_admitted.load(Ordering::Relaxed);
        match self.users.iter_mut().find(|(user, _)| *user == query.principal) {
            Some((_, waiting)) if goes_on => waiting.push_front(Arc::clone(query)),
            Some((_, waiting)) => waiting.push_back(Arc::clone(query)),
            None => self.users.push_back((query.principal.clone(), VecDeque::from([Arc::clone(query)]))),
        }
    }

    /// Whether there is a free permit that this user may have.
    fn has_room(&self, user: &Principal, max: usize) -> bool {
        let share = if user.is_process() { max } else { max.saturating_sub(1).max(1) };
        self.admitted.len() < max && self.admitted.values().filter(|query| query.principal == *user).count() < share
    }

    /// Takes the next statement out of the queue, if there is a permit for it; its user then goes to the end of the queue.
    fn next(&mut self, max: usize) -> Option<Arc<Query>> {
        let index = self.users.iter().position(|(user, _)| self.has_room(user, max))?;
        let (user, mut waiting) = self.users.remove(index)?;
        let query = waiting.pop_front();
        if !waiting.is_empty() {
            self.users.push_back((user, waiting));
        }
        query
    }

    fn forget(&mut self, query: &Arc<Query>) {
        self.admitted.remove(&query.id);
        if query.queue_entry.waiting_since.lock().take().is_none() {
            return;
        }
        for (_, waiting) in &mut self.users {
            waiting.retain(|waits| waits.id != query.id);
        }
        self.users.retain(|(_, waiting)| !waiting.is_empty());
    }
}

#[cfg(test)]
mod tests;

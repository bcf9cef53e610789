//! Places to run in, and who waits for one: users in turn, and the statements of one user in the order in which they came. One user
//! leaves a place to the others, unless there is one place alone; only the process itself may have all.
//!
//! A place belongs to a statement from its first rows to its end, with one exception: a result that nobody asks for more rows works on
//! nothing, so that after a while its place goes to one that waits, and it asks for another when it is read on. Whoever holds a result
//! open while running another statement would otherwise wait for itself.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::query::Query;
use super::whose::Whose;

/// A result that was not read for so long gives its place to one that waits.
const UNREAD_MAX: Duration = Duration::from_secs(1);
/// How often somebody looks for such while statements wait.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How many statements run at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// None: as many as come.
    pub queries_max: Option<usize>,
    /// How long one waits for its turn; None: as long as it takes.
    pub queue_timeout_ms: Option<u64>,
}

#[derive(Debug)]
pub struct Queue {
    limits: Limits,
    state: Mutex<State>,
}

/// **Invariant:** while a place is free only users wait who have all that one user may have.
#[derive(Debug, Default)]
struct State {
    placed: HashMap<u64, Arc<Query>>,
    /// Users that have statements waiting; the first one's turn is next. None of them is empty.
    users: VecDeque<(Whose, VecDeque<Arc<Query>>)>,
}

impl Queue {
    pub fn new(limits: Limits) -> Queue {
        Queue { limits, state: Mutex::default() }
    }

    pub fn poll_place(&self, query: &Arc<Query>, context: &mut Context<'_>) -> Poll<()> {
        query.begin();
        let Some(max) = self.limits.queries_max else { return Poll::Ready(()) };
        if query.is_exempt() {
            return Poll::Ready(());
        }
        let mut state = self.state.lock();
        if state.placed.contains_key(&query.id) {
            return Poll::Ready(());
        }
        if query.gate.stopped().is_some() || query.turn.has_left.load(Ordering::Relaxed) {
            // What it would get here nobody would give back.
            return Poll::Pending;
        }
        let waits = query.turn.waiting_since.lock().is_some();
        if !waits && state.has_room(&query.whose, max) {
            state.place(query);
            return Poll::Ready(());
        }
        *query.turn.waker.lock() = Some(context.waker().clone());
        if !waits {
            state.wait(query);
        }
        Poll::Pending
    }

    /// The statement has ended, or is not to go on. Also of one that takes no place: it may have had one before that was known.
    pub fn leave(&self, query: &Arc<Query>) {
        if self.limits.queries_max.is_none() {
            return;
        }
        let wakers = {
            let mut state = self.state.lock();
            query.turn.has_left.store(true, Ordering::Relaxed);
            state.forget(query);
            self.give(&mut state)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The statement has no more rows to make, and only its answer was not read yet.
    pub fn give_back_place(&self, query: &Arc<Query>) {
        if self.limits.queries_max.is_none() {
            return;
        }
        let wakers = {
            let mut state = self.state.lock();
            state.placed.remove(&query.id);
            self.give(&mut state)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Those that have waited for too long, and how long they may.
    pub fn overdue(&self, now: Instant) -> Vec<(Arc<Query>, u64)> {
        let Some(limit_ms) = self.limits.queue_timeout_ms else { return Vec::new() };
        let state = self.state.lock();
        let waiting = state.users.iter().flat_map(|(_, waiting)| waiting);
        let since = |query: &Arc<Query>| *query.turn.waiting_since.lock();
        let is_overdue =
            |query: &&Arc<Query>| since(query).is_some_and(|since| now.saturating_duration_since(since).as_millis() as u64 >= limit_ms);
        waiting.filter(is_overdue).map(|query| (Arc::clone(query), limit_ms)).collect()
    }

    /// Takes places from results that nobody reads, if somebody waits; when to look again.
    pub fn give_unread_places(&self, now: Instant) -> Option<Instant> {
        let (wakers, again) = {
            let mut state = self.state.lock();
            if state.users.is_empty() {
                return None;
            }
            let unread: Vec<u64> = state.placed.values().filter(|query| query.is_unread(UNREAD_MAX, now)).map(|query| query.id).collect();
            for id in unread {
                state.placed.remove(&id);
            }
            let wakers = self.give(&mut state);
            (wakers, (!state.users.is_empty()).then_some(now + LOOK_EVERY))
        };
        wakers.into_iter().for_each(Waker::wake);
        again
    }

    /// Whether it could go on at once in its place. Who needs none holds none.
    pub fn holds_place(&self, query: &Query) -> bool {
        match self.limits.queries_max {
            Some(_) if !query.is_exempt() => self.state.lock().placed.contains_key(&query.id),
            _ => false,
        }
    }

    /// The numbers of those that wait, in the order in which their turns would come.
    pub fn order(&self) -> Vec<u64> {
        let state = self.state.lock();
        let rounds = state.users.iter().map(|(_, waiting)| waiting.len()).max().unwrap_or(0);
        (0..rounds).flat_map(|round| state.users.iter().filter_map(move |(_, waiting)| waiting.get(round)).map(|query| query.id)).collect()
    }

    /// Gives free places to those whose turn it is; they are woken outside of the lock.
    fn give(&self, state: &mut State) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let Some(max) = self.limits.queries_max else { return wakers };
        while let Some(query) = state.next(max) {
            state.place(&query);
            wakers.extend(query.turn.waker.lock().take());
        }
        wakers
    }
}

impl State {
    fn place(&mut self, query: &Arc<Query>) {
        if let Some(since) = query.turn.waiting_since.lock().take() {
            query.turn.waited_ms.fetch_add(since.elapsed().as_millis() as u64, Ordering::Relaxed);
            // Until it is polled nobody reads it.
            *query.turn.unread_since.lock() = Some(Instant::now());
        }
        query.turn.had_place.store(true, Ordering::Relaxed);
        self.placed.insert(query.id, Arc::clone(query));
    }

    fn wait(&mut self, query: &Arc<Query>) {
        *query.turn.waiting_since.lock() = Some(Instant::now());
        // One that was running already goes on before those that have not begun: it holds memory.
        let goes_on = query.turn.had_place.load(Ordering::Relaxed);
        match self.users.iter_mut().find(|(user, _)| *user == query.whose) {
            Some((_, waiting)) if goes_on => waiting.push_front(Arc::clone(query)),
            Some((_, waiting)) => waiting.push_back(Arc::clone(query)),
            None => self.users.push_back((query.whose.clone(), VecDeque::from([Arc::clone(query)]))),
        }
    }

    /// Whether there is a place that this user may have.
    fn has_room(&self, user: &Whose, max: usize) -> bool {
        let share = if user.is_process() { max } else { max.saturating_sub(1).max(1) };
        self.placed.len() < max && self.placed.values().filter(|query| query.whose == *user).count() < share
    }

    /// The one whose turn it is, if there is a place for it; its user's next turn is after all others'.
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
        self.placed.remove(&query.id);
        if query.turn.waiting_since.lock().take().is_none() {
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

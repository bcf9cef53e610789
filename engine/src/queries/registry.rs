//! The statements that run, by their number.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::gate::{Stop, Stopped};
use super::kind::StatementKind;
use super::query::{Query, State};
use super::queue::{LOOK_EVERY, Limits, Queue};
use super::record::StatementRecord;
use super::text::hides_something;
use super::totals::{Outcome, StatementEnd};
use super::watch::Alarm;
use super::whose::Whose;
use common::error::EngineError;

type Observer = Box<dyn Fn(&StatementEnd<'_>) + Send + Sync>;

/// What all sessions of an engine run.
pub struct Queries {
    last_id: AtomicU64,
    last_session: AtomicU64,
    running: Mutex<BTreeMap<u64, Arc<Query>>>,
    pub(super) queue: Queue,
    limits: Limits,
    alarm: Arc<Alarm>,
    observer: OnceLock<Observer>,
}

/// How many statements there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatementCounts {
    /// They wait for their turn.
    pub queued: u64,
    /// They work, or keep a place to go on in.
    pub running: u64,
    /// They have a result that nobody reads, and no place.
    pub unread: u64,
}

/// What is shown of a statement.
pub struct Shown {
    pub query: Arc<Query>,
    pub state: State,
    /// From 1; None where it does not wait.
    pub queue_position: Option<u64>,
}

impl Queries {
    pub fn new(limits: Limits) -> Arc<Queries> {
        let alarm = Arc::<Alarm>::default();
        Arc::new(Queries {
            last_id: AtomicU64::new(0),
            last_session: AtomicU64::new(0),
            running: Mutex::default(),
            queue: Queue::new(limits),
            limits,
            alarm,
            observer: OnceLock::new(),
        })
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Is told of every statement that ends; the first one stays.
    pub fn observe(&self, observer: Observer) {
        let _ = self.observer.set(observer);
    }

    pub fn next_session(&self) -> u64 {
        self.last_session.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A statement begins.
    pub fn enter(
        self: &Arc<Queries>,
        session: u64,
        whose: &Whose,
        sql: &str,
        timeout: Option<Duration>,
        record: Option<Box<dyn StatementRecord>>,
    ) -> Entry {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let query = Arc::new(Query::new(id, session, whose.clone(), sql, timeout));
        self.running.lock().insert(id, Arc::clone(&query));
        if let Some(deadline) = query.deadline() {
            self.alarm.set(self, deadline);
        }
        Entry { queries: Arc::clone(self), query, is_over: false, record }
    }

    /// A statement that is looked at before it is run: on no list.
    pub fn unlisted(&self, session: u64, whose: &Whose, sql: &str) -> Arc<Query> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::new(Query::new(id, session, whose.clone(), sql, None))
    }

    /// One that was refused when it was looked at has ended as one that was run.
    pub fn refused(self: &Arc<Queries>, query: Arc<Query>, record: Option<Box<dyn StatementRecord>>, error: &EngineError) {
        Entry { queries: Arc::clone(self), query, is_over: false, record }.failed(error);
    }

    pub fn shown(&self) -> Vec<Shown> {
        let running: Vec<Arc<Query>> = self.running.lock().values().cloned().collect();
        let waiting = self.queue.order();
        let position = |id| waiting.iter().position(|waits| *waits == id).map(|at| at as u64 + 1);
        let shown = |query: Arc<Query>| Shown { state: query.state(), queue_position: position(query.id), query };
        running.into_iter().map(shown).collect()
    }

    /// How many there are of each kind.
    pub fn counts(&self) -> StatementCounts {
        let all: Vec<Arc<Query>> = self.running.lock().values().cloned().collect();
        let mut counts = StatementCounts::default();
        for query in all {
            match query.state() {
                State::Queued => counts.queued += 1,
                State::Unread if !self.queue.holds_place(&query) => counts.unread += 1,
                _ => counts.running += 1,
            }
        }
        counts
    }

    pub fn find(&self, id: u64) -> Option<Arc<Query>> {
        self.running.lock().get(&id).cloned()
    }

    /// The one that a session began last, of those that have not ended.
    pub fn last_of(&self, session: u64) -> Option<Arc<Query>> {
        self.running.lock().values().rev().find(|query| query.session == session).cloned()
    }

    /// Ready once the statement has a place to run in.
    pub fn poll_place(self: &Arc<Queries>, query: &Arc<Query>, context: &mut Context<'_>) -> Poll<()> {
        let polled = self.queue.poll_place(query, context);
        if polled.is_pending() {
            self.alarm.set(self, Instant::now() + LOOK_EVERY);
        }
        polled
    }

    /// Of a result that has no more rows.
    pub fn give_back_place(&self, query: &Arc<Query>) {
        self.queue.give_back_place(query);
    }

    /// Ends those whose time is over; when there is something to do next.
    pub(super) fn look(self: &Arc<Queries>, now: Instant) -> Option<Instant> {
        let running: Vec<Arc<Query>> = self.running.lock().values().cloned().collect();
        let mut next: Option<Instant> = None;
        let mut at = |time: Instant| next = Some(next.map_or(time, |next| next.min(time)));
        for query in &running {
            if let Some(deadline) = query.deadline() {
                if deadline > now {
                    at(deadline);
                } else {
                    let limit_ms = query.timeout.map_or(0, |timeout| timeout.as_millis() as u64);
                    self.stop(query, Stop::TimedOut { limit_ms });
                }
            }
        }
        for (query, limit_ms) in self.queue.overdue(now) {
            self.stop(&query, Stop::NotInTurn { limit_ms });
        }
        if let Some(again) = self.queue.give_unread_places(now) {
            at(again);
        }
        next
    }

    /// Ends a statement, whose place is free at once.
    pub(super) fn stop(&self, query: &Arc<Query>, why: Stop) -> Stopped {
        let stopped = query.gate.stop(why);
        if stopped == Stopped::Now {
            let had_result = query.free();
            self.queue.leave(query);
            if had_result {
                // Nothing is left of it but a reader who will be told.
                self.running.lock().remove(&query.id);
            }
        }
        stopped
    }

    fn leave(&self, query: &Arc<Query>, outcome: Outcome) {
        self.running.lock().remove(&query.id);
        query.free();
        self.queue.leave(query);
        let elapsed_ms = query.started.elapsed().as_secs_f64() * 1e3;
        query.span.in_scope(|| tracing::debug!(outcome = outcome.name(), elapsed_ms, "ended: {}", query.text));
        let Some(observer) = self.observer.get() else { return };
        let (_, peak_memory_bytes) = query.memory_bytes();
        observer(&StatementEnd {
            query_id: query.id,
            session_id: query.session,
            user: query.whose.name(),
            text: &query.text,
            kind: query.kind(),
            outcome,
            elapsed_ms,
            queued_ms: query.turn.waited_ms.load(Ordering::Relaxed),
            rows_returned: query.rows_returned(),
            bytes_touched: query.bytes_touched(),
            bytes_returned: query.bytes_returned(),
            peak_memory_bytes,
        });
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        self.alarm.end();
    }
}

impl fmt::Debug for Queries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queries").field("running", &self.running).finish_non_exhaustive()
    }
}

/// A statement on the list, until this is dropped or told how it ended.
#[derive(Debug)]
pub struct Entry {
    queries: Arc<Queries>,
    query: Arc<Query>,
    is_over: bool,
    /// Of a user's session.
    record: Option<Box<dyn StatementRecord>>,
}

impl Entry {
    pub fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// The end of what gives no output.
    pub fn close<T>(mut self, kind: StatementKind, rows: u64, done: Result<T, EngineError>) -> Result<T, EngineError> {
        self.query.set_kind(kind);
        match &done {
            Ok(_) => {
                self.query.returned(rows, 0);
                self.changed(rows);
                self.end(Outcome::Done);
            }
            Err(error) => self.failed(error),
        }
        done
    }

    /// How many rows a write has changed.
    pub fn changed(&mut self, rows: u64) {
        if let Some(record) = &mut self.record {
            record.changed(rows);
        }
    }

    /// What is wrong, before it ends so.
    pub fn note(&mut self, error: &EngineError) {
        if let Some(record) = &mut self.record {
            record.failed(error);
        }
    }

    pub fn failed(mut self, error: &EngineError) {
        self.note(error);
        self.query.span.in_scope(|| tracing::info!("failed: {}", self.told(error)));
        self.end(Outcome::of(error));
    }

    /// An error of a statement with a password may have that in it.
    fn told(&self, error: &EngineError) -> String {
        let shown = self.query.text.shown();
        if hides_something(&shown) { shown } else { error.to_string() }
    }

    pub fn end(&mut self, outcome: Outcome) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.queries.leave(&self.query, outcome);
            if let Some(record) = self.record.take() {
                record.end(&self.query, outcome);
            }
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let outcome = match self.query.gate.stopped() {
            // Ended while nobody read it.
            Some(stop) => Outcome::of(&stop.error()),
            None if self.query.gate.is_sealed() => Outcome::Done,
            None => Outcome::Cancelled,
        };
        self.end(outcome);
    }
}

//! The registry of running statements, by id.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::admission_queue::{AdmissionLimits, AdmissionQueue, LOOK_EVERY};
use super::kind::StatementKind;
use super::principal::Principal;
use super::query::{Query, StatementState};
use super::record::StatementRecord;
use super::text::hides_something;
use super::timeouts::TimeoutThread;
use super::totals::{Outcome, StatementEnd};
use common::error::EngineError;
use table::commit_guard::{StopOutcome, StopReason};

type Observer = Box<dyn Fn(&StatementEnd<'_>) + Send + Sync>;

/// The statements of all sessions of an engine.
pub struct Queries {
    last_id: AtomicU64,
    last_session: AtomicU64,
    running: Mutex<BTreeMap<u64, Arc<Query>>>,
    pub(super) queue: AdmissionQueue,
    limits: AdmissionLimits,
    alarm: Arc<TimeoutThread>,
    observer: OnceLock<Observer>,
}

/// How many statements are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatementCounts {
    /// They wait for admission.
    pub queued: u64,
    /// They run, or hold a permit to go on.
    pub running: u64,
    /// They have a result that nobody reads, and no permit.
    pub unread: u64,
}

/// What is shown of a statement.
pub struct StatementInfo {
    pub query: Arc<Query>,
    pub state: StatementState,
    /// From 1; `None` if it does not wait.
    pub queue_position: Option<u64>,
}

impl Queries {
    pub fn new(limits: AdmissionLimits) -> Arc<Queries> {
        let alarm = Arc::<TimeoutThread>::default();
        Arc::new(Queries {
            last_id: AtomicU64::new(0),
            last_session: AtomicU64::new(0),
            running: Mutex::default(),
            queue: AdmissionQueue::new(limits),
            limits,
            alarm,
            observer: OnceLock::new(),
        })
    }

    pub fn limits(&self) -> AdmissionLimits {
        self.limits
    }

    /// Registers a callback for statements that end; only the first one counts.
    pub fn observe(&self, observer: Observer) {
        let _ = self.observer.set(observer);
    }

    pub fn next_session(&self) -> u64 {
        self.last_session.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Registers a statement that begins.
    pub fn register_statement(
        self: &Arc<Queries>,
        session: u64,
        principal: &Principal,
        sql: &str,
        timeout: Option<Duration>,
        record: Option<Box<dyn StatementRecord>>,
    ) -> StatementEntry {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let query = Arc::new(Query::new(id, session, principal.clone(), sql, timeout));
        self.running.lock().insert(id, Arc::clone(&query));
        if let Some(deadline) = query.deadline() {
            self.alarm.set(self, deadline);
        }
        StatementEntry { queries: Arc::clone(self), query, is_over: false, record }
    }

    /// A statement that is described before it runs; it is not registered.
    pub fn unregistered(&self, session: u64, principal: &Principal, sql: &str) -> Arc<Query> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::new(Query::new(id, session, principal.clone(), sql, None))
    }

    /// Records a statement whose description failed, as if it had run.
    pub fn record_failed_describe(self: &Arc<Queries>, query: Arc<Query>, record: Option<Box<dyn StatementRecord>>, error: &EngineError) {
        StatementEntry { queries: Arc::clone(self), query, is_over: false, record }.failed(error);
    }

    pub fn shown(&self) -> Vec<StatementInfo> {
        let running: Vec<Arc<Query>> = self.running.lock().values().cloned().collect();
        let waiting = self.queue.order();
        let position = |id| waiting.iter().position(|waits| *waits == id).map(|at| at as u64 + 1);
        let shown = |query: Arc<Query>| StatementInfo { state: query.state(), queue_position: position(query.id), query };
        running.into_iter().map(shown).collect()
    }

    /// How many statements are in each state.
    pub fn counts(&self) -> StatementCounts {
        let all: Vec<Arc<Query>> = self.running.lock().values().cloned().collect();
        let mut counts = StatementCounts::default();
        for query in all {
            match query.state() {
                StatementState::Queued => counts.queued += 1,
                StatementState::Unread if !self.queue.has_permit(&query) => counts.unread += 1,
                _ => counts.running += 1,
            }
        }
        counts
    }

    pub fn find(&self, id: u64) -> Option<Arc<Query>> {
        self.running.lock().get(&id).cloned()
    }

    /// The most recent running statement of a session.
    pub fn last_of(&self, session: u64) -> Option<Arc<Query>> {
        self.running.lock().values().rev().find(|query| query.session == session).cloned()
    }

    /// Ready once the statement is admitted.
    pub fn poll_admission(self: &Arc<Queries>, query: &Arc<Query>, context: &mut Context<'_>) -> Poll<()> {
        let polled = self.queue.poll_admission(query, context);
        if polled.is_pending() {
            self.alarm.set(self, Instant::now() + LOOK_EVERY);
        }
        polled
    }

    /// For a result that has no more rows.
    pub fn release_permit(&self, query: &Arc<Query>) {
        self.queue.release_permit(query);
    }

    /// Stops statements that have timed out; returns when to look again.
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
                    self.stop(query, StopReason::TimedOut { limit_ms });
                }
            }
        }
        for (query, limit_ms) in self.queue.overdue(now) {
            self.stop(&query, StopReason::QueueTimeout { limit_ms });
        }
        if let Some(again) = self.queue.release_unread_permits(now) {
            at(again);
        }
        next
    }

    /// Stops a statement and releases its permit at once.
    pub(super) fn stop(&self, query: &Arc<Query>, why: StopReason) -> StopOutcome {
        let stopped = query.commit_guard.stop(why);
        if stopped == StopOutcome::Now {
            let had_result = query.free();
            self.queue.leave(query);
            if had_result {
                // Only its reader is left, who will get the error.
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
            user: query.principal.name(),
            text: &query.text,
            kind: query.kind(),
            outcome,
            elapsed_ms,
            queued_ms: query.queue_entry.waited_ms.load(Ordering::Relaxed),
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

/// A registered statement, until this is dropped or closed.
#[derive(Debug)]
pub struct StatementEntry {
    queries: Arc<Queries>,
    query: Arc<Query>,
    is_over: bool,
    /// Only for a user's session.
    record: Option<Box<dyn StatementRecord>>,
}

impl StatementEntry {
    pub fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// Ends a statement that has no output.
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

    /// Records the error for the audit. Call it before `end`.
    pub fn note(&mut self, error: &EngineError) {
        if let Some(record) = &mut self.record {
            record.failed(error);
        }
    }

    pub fn failed(mut self, error: &EngineError) {
        self.note(error);
        self.query.span.in_scope(|| tracing::info!("failed: {}", self.redacted_message(error)));
        self.end(Outcome::of(error));
    }

    /// An error of a statement with a password may quote it.
    fn redacted_message(&self, error: &EngineError) -> String {
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

impl Drop for StatementEntry {
    fn drop(&mut self) {
        let outcome = match self.query.commit_guard.stopped() {
            // It was stopped while nobody read it.
            Some(stop) => Outcome::of(&stop.error()),
            None if self.query.commit_guard.has_begun_commit() => Outcome::Done,
            None => Outcome::Cancelled,
        };
        self.end(outcome);
    }
}

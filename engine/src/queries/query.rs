//! One statement while it runs.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;

use super::kind::StatementKind;
use super::principal::Principal;
use super::text::Text;
use common::memory::QueryPool;
use common::report::{QueryReport, ReportCollector};
use table::commit_guard::CommitGuard;

/// The stream of a result. Stopping a statement also drops it, because a reader that does not read frees nothing.
#[derive(Default)]
pub struct ResultStream(pub Mutex<Option<SendableRecordBatchStream>>);

pub struct Query {
    /// From 1, unique within the process.
    pub id: u64,
    pub session: u64,
    pub principal: Principal,
    pub text: Text,
    pub started: Instant,
    pub started_at_ms: u64,
    /// From `started`; `None` without a limit.
    pub timeout: Option<Duration>,
    pub commit_guard: Arc<CommitGuard>,
    /// The span of its log lines.
    pub span: tracing::Span,
    kind: AtomicU8,
    measured: Mutex<Option<QueryMetrics>>,
    rows: AtomicU64,
    bytes: AtomicU64,
    /// Set once there is a result for an outside reader.
    result_stream: Mutex<Option<Arc<ResultStream>>>,
    /// It has asked for rows at least once.
    has_begun: AtomicBool,
    /// It reads only system tables and needs no permit.
    is_exempt: AtomicBool,
    pub(super) queue_entry: QueueEntry,
}

/// The sources of its numbers.
struct QueryMetrics {
    collector: Arc<ReportCollector>,
    pool: Arc<QueryPool>,
    /// The running plan, for its metrics. A weak reference, so that an observer keeps nothing alive.
    plan: Option<Weak<dyn ExecutionPlan>>,
}

/// The state of a statement in the admission queue.
#[derive(Debug, Default)]
pub(super) struct QueueEntry {
    pub waiting_since: Mutex<Option<Instant>>,
    pub waker: Mutex<Option<std::task::Waker>>,
    /// Since when nobody has asked for its next rows; `None` while somebody waits for them.
    pub unread_since: Mutex<Option<Instant>>,
    pub was_admitted: AtomicBool,
    /// It has ended and gets no more permits: one of its tasks may still be asking for one.
    pub has_left: AtomicBool,
    /// The total time that it waited.
    pub waited_ms: AtomicU64,
}

/// What the statement is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementState {
    Planning,
    Queued,
    Running,
    /// It has a result, and nobody asks for its rows.
    Unread,
    /// It was stopped, and has not released everything yet.
    Ending,
    /// Its changes are being committed or are visible; only its answer was not fetched yet.
    Finishing,
}

impl StatementState {
    pub fn name(self) -> &'static str {
        match self {
            StatementState::Planning => "planning",
            StatementState::Queued => "queued",
            StatementState::Running => "running",
            StatementState::Unread => "unread",
            StatementState::Ending => "ending",
            StatementState::Finishing => "finishing",
        }
    }
}

impl Query {
    pub fn new(id: u64, session: u64, principal: Principal, sql: &str, timeout: Option<Duration>) -> Query {
        // At the highest level, so that the span exists whatever the log filter is.
        let span = tracing::error_span!(parent: None, "statement", query_id = id, session_id = session, user = &**principal.name());
        Query {
            id,
            session,
            principal,
            text: Text::of(sql),
            started: Instant::now(),
            started_at_ms: common::clock::now_ms(),
            timeout,
            commit_guard: Arc::default(),
            span,
            kind: AtomicU8::new(NO_KIND),
            measured: Mutex::default(),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            result_stream: Mutex::default(),
            has_begun: AtomicBool::new(false),
            is_exempt: AtomicBool::new(false),
            queue_entry: QueueEntry::default(),
        }
    }

    /// For a statement that is only described and does not run.
    pub fn unregistered() -> Arc<Query> {
        Arc::new(Query::new(0, 0, Principal::process(""), "", None))
    }

    pub fn measure(&self, collector: &Arc<ReportCollector>, pool: &Arc<QueryPool>) {
        *self.measured.lock() = Some(QueryMetrics { collector: Arc::clone(collector), pool: Arc::clone(pool), plan: None });
    }

    /// Its plan starts to run.
    pub fn runs(&self, plan: &Arc<dyn ExecutionPlan>) {
        if let Some(measured) = self.measured.lock().as_mut() {
            measured.plan = Some(Arc::downgrade(plan));
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| self.started.checked_add(timeout))
    }

    /// From here on its result can be read.
    pub fn hold(&self, kind: StatementKind, result_stream: &Arc<ResultStream>) {
        self.set_kind(kind);
        *self.queue_entry.unread_since.lock() = Some(Instant::now());
        *self.result_stream.lock() = Some(Arc::clone(result_stream));
        // A stop just before this found no stream to free.
        if self.commit_guard.stopped().is_some() {
            self.free();
        }
    }

    /// Whether an outside reader decides when it goes on.
    pub fn has_result(&self) -> bool {
        self.result_stream.lock().is_some()
    }

    /// Whether its reader has not asked for rows for this long. A write reads its own rows, whoever waits for its answer.
    pub fn is_unread(&self, so_long: Duration, now: Instant) -> bool {
        let is_query = self.has_result() && self.kind() == Some(StatementKind::Query);
        is_query && self.queue_entry.unread_since.lock().is_some_and(|since| now.saturating_duration_since(since) >= so_long)
    }

    /// Drops the stream of its result, and returns whether there was one.
    pub fn free(&self) -> bool {
        let Some(result_stream) = self.result_stream.lock().take() else { return false };
        // Outside of the lock, because dropping a stream ends its tasks.
        let stream = result_stream.0.lock().take();
        drop(stream);
        true
    }

    pub fn returned(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    pub fn exempt(&self) {
        self.is_exempt.store(true, Ordering::Relaxed);
    }

    pub fn is_exempt(&self) -> bool {
        self.is_exempt.load(Ordering::Relaxed)
    }

    pub fn state(&self) -> StatementState {
        if self.commit_guard.has_begun_commit() {
            return StatementState::Finishing;
        }
        if self.commit_guard.stopped().is_some() {
            return StatementState::Ending;
        }
        if self.queue_entry.waiting_since.lock().is_some() {
            return StatementState::Queued;
        }
        match (self.has_result(), self.has_begun()) {
            (true, false) => StatementState::Unread,
            (true, true) if self.is_unread(Duration::ZERO, Instant::now()) => StatementState::Unread,
            (false, false) => StatementState::Planning,
            _ => StatementState::Running,
        }
    }

    pub fn rows_returned(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    pub fn bytes_returned(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn bytes_touched(&self) -> u64 {
        self.counted(|collector| &collector.bytes_touched)
    }

    pub fn rows_scanned(&self) -> u64 {
        self.counted(|collector| &collector.rows_scanned)
    }

    /// `None` before it has begun to read a table.
    pub fn rows_total(&self) -> Option<u64> {
        Some(self.counted(|collector| &collector.rows_total)).filter(|rows| *rows > 0)
    }

    fn counted(&self, counter: fn(&ReportCollector) -> &AtomicU64) -> u64 {
        self.measured.lock().as_ref().map_or(0, |measured| counter(&measured.collector).load(Ordering::Relaxed))
    }

    /// The current report, for observers.
    pub fn report(&self) -> QueryReport {
        let (_, peak_memory_bytes) = self.memory_bytes();
        let mut report = QueryReport {
            elapsed_ms: self.started.elapsed().as_secs_f64() * 1e3,
            rows_returned: self.rows_returned(),
            bytes_returned: self.bytes_returned(),
            peak_memory_bytes,
            ..QueryReport::default()
        };
        let plan = self.measured.lock().as_ref().and_then(|measured| {
            measured.collector.fill(&mut report);
            measured.plan.clone()
        });
        report.spilled_bytes = plan.and_then(|plan| plan.upgrade()).as_ref().map_or(0, spilled_bytes);
        report
    }

    /// Current and peak.
    pub fn memory_bytes(&self) -> (u64, u64) {
        let measured = self.measured.lock();
        measured.as_ref().map_or((0, 0), |measured| (measured.pool.reserved() as u64, measured.pool.peak_bytes() as u64))
    }

    pub fn set_kind(&self, kind: StatementKind) {
        self.kind.store(kind as u8, Ordering::Relaxed);
    }

    /// `None` while it is not known.
    pub fn kind(&self) -> Option<StatementKind> {
        KINDS.into_iter().find(|kind| *kind as u8 == self.kind.load(Ordering::Relaxed))
    }
}

const NO_KIND: u8 = u8::MAX;
const KINDS: [StatementKind; 5] =
    [StatementKind::Query, StatementKind::Write, StatementKind::Ddl, StatementKind::Set, StatementKind::Transaction];

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("id", &self.id).field("session", &self.session).finish_non_exhaustive()
    }
}

/// The sum over all operators of a plan.
pub fn spilled_bytes(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let own = plan.metrics().and_then(|metrics| metrics.spilled_bytes()).unwrap_or(0) as u64;
    own + plan.children().into_iter().map(spilled_bytes).sum::<u64>()
}

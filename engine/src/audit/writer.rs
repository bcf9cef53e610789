//! Queues audit rows; a thread writes them to the store.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use pmem_store::{Store, StoreError};

use super::expiry::expire;
use super::refused::RefusedLogins;
use super::table::{AuditRow, add};
use table::access::AUDIT_TABLE;
use table::blocking::holding_up_nobody;

/// A row is written at most this long after its statement.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// While the store accepts no writes, the thread retries after a time that doubles up to this.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(60);
/// How many rows one commit has at most.
const TOGETHER_MAX: usize = 512;
/// While the store accepts no writes, the oldest rows beyond this number are dropped, and the log says so.
const WAITING_MAX: usize = 20_000;
const EXPIRE_EVERY: Duration = Duration::from_secs(3_600);

/// A store that is open for reading only has no audit.
#[derive(Debug)]
pub struct AuditWriter {
    pub(super) refused: RefusedLogins,
    shared: Arc<AuditQueue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct AuditQueue {
    /// Released when the engine closes it.
    store: Mutex<Option<Arc<Store>>>,
    inner: Mutex<QueueState>,
    woken: Condvar,
    /// One thread writes at a time, so that rows keep their order.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct QueueState {
    rows: VecDeque<AuditRow>,
    is_closing: bool,
    /// Set while the store accepts no writes.
    trouble: Option<WriteFailures>,
}

/// **Invariant:** the log has two lines about it, one at its beginning and one at its end.
#[derive(Debug, Default, PartialEq)]
struct WriteFailures {
    failures: u32,
    lost: u64,
}

impl WriteFailures {
    /// The time until the next try.
    fn wait(&self) -> Duration {
        RETRY_WAIT_MAX.min(WAIT_MAX * 2u32.saturating_pow(self.failures.min(10)))
    }
}

impl AuditWriter {
    pub fn new(store: &Arc<Store>) -> Arc<AuditWriter> {
        let shared = AuditQueue {
            store: Mutex::new(Some(Arc::clone(store))),
            inner: Mutex::default(),
            woken: Condvar::new(),
            writing: Mutex::default(),
        };
        Arc::new(AuditWriter { refused: RefusedLogins::default(), shared: Arc::new(shared), thread: Mutex::default() })
    }

    pub fn keep(&self, row: AuditRow) {
        let mut inner = self.shared.inner.lock();
        if inner.is_closing {
            return;
        }
        inner.rows.push_back(row);
        inner.lose_the_oldest();
        let waiting = inner.rows.len();
        drop(inner);
        if waiting == 1 {
            self.start();
        }
        if waiting == TOGETHER_MAX {
            self.shared.woken.notify_one();
        }
    }

    /// Writes all queued rows into the store before it returns, so that a reader sees them.
    pub fn flush(&self) {
        self.shared.write();
    }

    /// The same, if the statement is about to read the audit.
    pub fn flush_for(&self, sql: &str) {
        let is_empty = self.shared.inner.lock().rows.is_empty();
        if !is_empty && sql.as_bytes().windows(AUDIT_TABLE.len()).any(|word| word.eq_ignore_ascii_case(AUDIT_TABLE.as_bytes())) {
            holding_up_nobody(|| self.flush());
        }
    }

    /// The first row starts the thread: an engine whose sessions have no user needs none.
    fn start(&self) {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            match std::thread::Builder::new().name("audit".into()).spawn(move || shared.run()) {
                Ok(started) => *thread = Some(started),
                Err(error) => tracing::error!(%error, "rows of the audit wait until the store is closed: no thread could be started"),
            }
        }
    }

    /// Writes what is left. Later rows are dropped.
    pub fn close(&self) {
        self.shared.inner.lock().is_closing = true;
        self.shared.woken.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
        self.shared.write();
        self.shared.tell_what_is_lost();
        let store = self.shared.store.lock().take();
        drop(store);
    }
}

/// Closes the audit when the engine is dropped: a statement with a slow reader may hold the writer longer.
#[derive(Debug)]
pub struct OpenAuditWriter(pub Arc<AuditWriter>);

impl Drop for OpenAuditWriter {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl QueueState {
    fn lose_the_oldest(&mut self) {
        let excess = self.rows.len().saturating_sub(WAITING_MAX);
        if excess > 0 {
            self.rows.drain(..excess);
            let trouble = self.trouble.get_or_insert_default();
            if trouble.lost == 0 {
                tracing::error!("more rows of the audit wait than {WAITING_MAX}: the oldest are lost");
            }
            trouble.lost += excess as u64;
        }
    }
}

impl AuditQueue {
    fn run(&self) {
        let mut expired: Option<Instant> = None;
        loop {
            let is_closing = self.wait();
            self.write();
            if is_closing {
                return;
            }
            if expired.is_none_or(|last| last.elapsed() > EXPIRE_EVERY) {
                expired = Some(Instant::now());
                if let Some(store) = self.store()
                    && let Err(error) = expire(&store)
                {
                    tracing::warn!(%error, "rows of the audit that are old enough could not be deleted");
                }
            }
        }
    }

    /// Waits until rows are to be written; returns whether these are the last ones.
    fn wait(&self) -> bool {
        let mut inner = self.inner.lock();
        let was_in_trouble = inner.trouble.is_some();
        let until = Instant::now() + inner.trouble.as_ref().map_or(WAIT_MAX, WriteFailures::wait);
        // While the store accepts no writes, a full queue is no reason to retry early; a successful write is.
        let goes_on = |inner: &QueueState| match was_in_trouble {
            true => inner.trouble.is_none(),
            false => inner.rows.len() >= TOGETHER_MAX,
        };
        while !inner.is_closing && !goes_on(&inner) {
            if self.woken.wait_until(&mut inner, until).timed_out() {
                break;
            }
        }
        inner.is_closing
    }

    fn store(&self) -> Option<Arc<Store>> {
        self.store.lock().clone().filter(|store| !store.is_read_only())
    }

    fn write(&self) {
        let store = self.store();
        let _one_at_a_time = self.writing.lock();
        loop {
            let rows: Vec<AuditRow> = {
                let mut inner = self.inner.lock();
                let end = inner.rows.len().min(TOGETHER_MAX);
                inner.rows.drain(..end).collect()
            };
            if rows.is_empty() {
                return;
            }
            // A store that is open for reading only has no audit.
            let Some(store) = &store else { continue };
            match add(store, &rows) {
                Ok(()) => self.done(),
                Err(error) => return self.failed(rows, &error),
            }
        }
    }

    fn tell_what_is_lost(&self) {
        let inner = self.inner.lock();
        if let Some(trouble) = &inner.trouble {
            let rows = trouble.lost + inner.rows.len() as u64;
            tracing::error!(rows, "the store is closed, and these rows of the audit are lost: it took none");
        }
    }

    fn done(&self) {
        let Some(trouble) = self.inner.lock().trouble.take() else { return };
        self.woken.notify_all();
        tracing::warn!(lost = trouble.lost, "rows of the audit are written again");
    }

    /// Puts the rows back for the next try.
    fn failed(&self, rows: Vec<AuditRow>, error: &StoreError) {
        let mut inner = self.inner.lock();
        for row in rows.into_iter().rev() {
            inner.rows.push_front(row);
        }
        let trouble = inner.trouble.get_or_insert_default();
        trouble.failures = trouble.failures.saturating_add(1);
        let is_first = trouble.failures == 1;
        inner.lose_the_oldest();
        drop(inner);
        if is_first {
            tracing::error!(%error, "rows of the audit could not be written; they wait, at most {WAITING_MAX} of them, and are tried again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting() -> AuditQueue {
        AuditQueue { store: Mutex::default(), inner: Mutex::default(), woken: Condvar::new(), writing: Mutex::default() }
    }

    fn rows(count: usize) -> Vec<AuditRow> {
        (0..count).map(|_| AuditRow::default()).collect()
    }

    #[test]
    fn a_store_that_takes_no_rows_is_asked_ever_less_often() {
        let waits: Vec<u64> = (1..9).map(|failures| WriteFailures { failures, lost: 0 }.wait().as_secs()).collect();
        assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(WriteFailures { failures: u32::MAX, lost: 0 }.wait(), RETRY_WAIT_MAX);
    }

    #[test]
    fn rows_that_wait_because_of_trouble_wake_nobody_and_its_end_does() {
        let waiting = Arc::new(waiting());
        for _ in 0..10 {
            waiting.failed(rows(TOGETHER_MAX), &StoreError::TableGone);
        }
        let started = Instant::now();
        let other = Arc::clone(&waiting);
        let (begun, begins) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            begun.send(()).unwrap();
            other.wait()
        });
        begins.recv().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        waiting.woken.notify_all();
        std::thread::sleep(Duration::from_millis(200));
        assert!(!thread.is_finished());
        waiting.done();
        assert!(!thread.join().unwrap());
        assert!(started.elapsed() < RETRY_WAIT_MAX / 2, "{:?}", started.elapsed());
        assert_eq!(waiting.inner.lock().trouble, None);
    }

    #[test]
    fn the_oldest_of_too_many_rows_are_lost_and_counted() {
        let waiting = waiting();
        waiting.inner.lock().rows.extend(rows(WAITING_MAX));
        waiting.failed(rows(3), &StoreError::TableGone);
        waiting.failed(rows(4), &StoreError::TableGone);
        let inner = waiting.inner.lock();
        assert_eq!((inner.rows.len(), &inner.trouble), (WAITING_MAX, &Some(WriteFailures { failures: 2, lost: 7 })));
    }
}

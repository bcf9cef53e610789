//! Rows wait here, and a thread of their own brings them into the store.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use pmem_store::Store;

use super::expiry::expire;
use super::table::{AUDIT_TABLE, AuditRow, add};

/// Rows are not in the store for so long at most.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// So many go together; more wait for the next ones.
const TOGETHER_MAX: usize = 512;
/// While the store takes nothing, the oldest of more than these are lost, and the log says so.
const WAITING_MAX: usize = 20_000;
const EXPIRE_EVERY: Duration = Duration::from_secs(3_600);

/// A store that is only read has none of its statements.
#[derive(Debug)]
pub struct Audit {
    shared: Arc<Waiting>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Waiting {
    /// Given back when the engine closes it.
    store: Mutex<Option<Arc<Store>>>,
    inner: Mutex<Inner>,
    woken: Condvar,
    /// One writes at a time, so that rows keep their order.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    rows: Vec<AuditRow>,
    is_closing: bool,
}

impl Audit {
    pub fn new(store: &Arc<Store>) -> Arc<Audit> {
        let shared = Waiting { store: Mutex::new(Some(Arc::clone(store))), inner: Mutex::default(), woken: Condvar::new(), writing: Mutex::default() };
        Arc::new(Audit { shared: Arc::new(shared), thread: Mutex::default() })
    }

    pub fn keep(&self, row: AuditRow) {
        let mut inner = self.shared.inner.lock();
        if inner.is_closing {
            return;
        }
        inner.rows.push(row);
        let waiting = inner.rows.len();
        if waiting > WAITING_MAX {
            inner.rows.drain(..waiting - WAITING_MAX);
            tracing::error!("a row of the audit is lost: the store takes none");
        }
        drop(inner);
        if waiting == 1 {
            self.start();
        }
        if waiting == TOGETHER_MAX {
            self.shared.woken.notify_one();
        }
    }

    /// What was kept until now is in the store when this returns, for who wants to read it.
    pub fn flush(&self) {
        self.shared.write();
    }

    /// The same, if the statement is about to read it.
    pub fn flush_for(&self, sql: &str) {
        let is_empty = self.shared.inner.lock().rows.is_empty();
        if !is_empty && sql.as_bytes().windows(AUDIT_TABLE.len()).any(|word| word.eq_ignore_ascii_case(AUDIT_TABLE.as_bytes())) {
            self.flush();
        }
    }

    /// With the first row: an engine whose sessions have no user needs no thread.
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

    /// Writes what is left. Nothing is kept any more.
    pub fn close(&self) {
        self.shared.inner.lock().is_closing = true;
        self.shared.woken.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
        self.shared.write();
        let store = self.shared.store.lock().take();
        drop(store);
    }
}

/// Of an engine, which closes it when it goes: a statement whose reader is still there may hold it longer.
#[derive(Debug)]
pub struct OpenAudit(pub Arc<Audit>);

impl Drop for OpenAudit {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Waiting {
    fn run(&self) {
        let mut expired: Option<Instant> = None;
        loop {
            let mut inner = self.inner.lock();
            if !inner.is_closing && inner.rows.len() < TOGETHER_MAX {
                self.woken.wait_for(&mut inner, WAIT_MAX);
            }
            let is_closing = inner.is_closing;
            drop(inner);
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

    fn store(&self) -> Option<Arc<Store>> {
        self.store.lock().clone().filter(|store| !store.is_read_only())
    }

    fn write(&self) {
        let store = self.store();
        let _one_at_a_time = self.writing.lock();
        loop {
            let mut inner = self.inner.lock();
            let end = inner.rows.len().min(TOGETHER_MAX);
            let rows: Vec<AuditRow> = inner.rows.drain(..end).collect();
            drop(inner);
            if rows.is_empty() {
                return;
            }
            // A store that is only read has no audit of who reads it.
            let Some(store) = &store else { continue };
            if let Err(error) = add(store, &rows) {
                tracing::error!(%error, rows = rows.len(), "rows of the audit could not be written; they are tried again");
                let mut inner = self.inner.lock();
                let newer = std::mem::replace(&mut inner.rows, rows);
                inner.rows.extend(newer);
                return;
            }
        }
    }
}

//! Backups and leases for other processes: only the process that has the store open for writing can make them.
//!
//! A thread polls for requests, which costs one system call if there are none. A backup runs on a second thread, so that new requests are
//! still answered and a withdrawn one stops its backup. One backup runs at a time. A lease takes as long as a copy of the catalog, so it
//! waits for no backup.
//!
//! **Invariant:** a thread holds the store only while it serves a request. So closing the engine closes the store.
//!
//! This is not part of the maintenance thread, which may be switched off or busy for a long time.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use pmem_store::requests::{Answer, BackupRequest, Inbox, OpenRequest, Request};
use pmem_store::{BackupProgress, BackupReport, Store, StoreError};

/// How soon a request is noticed. The first poll is also this late: most processes have ended by then.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The same while a request is waiting.
const ATTEND_EVERY: Duration = Duration::from_millis(50);
/// Dropping the engine waits until a running backup has stopped, but no longer than this. A backup can stop between two pieces of a file,
/// but not during an fsync; the store is closed properly only after that.
const PATIENCE: Duration = Duration::from_secs(5);

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Dropped to stop the thread.
    stop: Option<Sender<()>>,
    /// It receives nothing; it is disconnected when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

impl Listener {
    /// `None` for a store that is open for reading only: other processes may open it too.
    pub fn start(store: &Arc<Store>) -> Option<Listener> {
        if store.is_read_only() {
            return None;
        }
        let ((stop, stopped), (ending, ended)) = (channel(), channel());
        let desk = RequestServer { store: Arc::downgrade(store), inbox: Inbox::new(store.path()), running: None };
        let started = Builder::new().name("quiver-requests".into()).spawn(move || {
            desk.run(&stopped);
            drop(ending);
        });
        if let Err(error) = started {
            tracing::warn!(%error, "other processes cannot ask this one for backups and leases: no thread could be started");
            return None;
        }
        Some(Listener { stop: Some(stop), ended: Mutex::new(ended) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop = None;
        let _ = self.ended.lock().recv_timeout(PATIENCE);
    }
}

struct RequestServer {
    store: Weak<Store>,
    inbox: Inbox,
    running: Option<RunningBackup>,
}

/// A running backup, or one whose answer could not be written yet.
struct RunningBackup {
    id: String,
    /// `None` when the thread has ended.
    thread: Option<JoinHandle<Result<BackupReport, StoreError>>>,
    shared: Arc<BackupState>,
    last_progress: BackupProgress,
    answer: Option<Answer>,
}

#[derive(Default)]
struct BackupState {
    is_given_up: AtomicBool,
    progress: Mutex<BackupProgress>,
}

impl RequestServer {
    fn run(mut self, stopped: &Receiver<()>) {
        let mut pause = LOOK_EVERY;
        while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            pause = self.round();
        }
        // Its client sees that the store is free, and makes the backup itself.
        if let Some(running) = self.running {
            running.give_up();
            let _ = running.thread.map(JoinHandle::join);
        }
    }

    /// Returns when to poll again.
    fn round(&mut self) -> Duration {
        let waiting = self.inbox.look();
        let is_quiet = waiting.is_empty();
        let waiting = self.serve_readers(waiting);
        self.running = match self.running.take() {
            Some(running) => self.attend(running, &waiting),
            None => self.begin_first(waiting),
        };
        if is_quiet && self.running.is_none() { LOOK_EVERY } else { ATTEND_EVERY }
    }

    /// Gives leases to all that wait for one. Returns the other requests.
    fn serve_readers(&mut self, waiting: Vec<OpenRequest>) -> Vec<OpenRequest> {
        let (readers, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|open| open.request == Ok(Request::Lease));
        for OpenRequest { id, .. } in readers {
            // The store is being closed; then the client opens it itself.
            let Some(store) = self.store.upgrade() else { break };
            match store.lend(&id) {
                // The loan lives until the answer is there.
                Ok(loan) => self.inbox.answer(&id, &Answer::Lease { version: loan.version }),
                Err(error) => self.inbox.answer(&id, &Answer::Failed(error.to_string())),
            };
        }
        others
    }

    /// Returns `None` when the client has its answer, or has withdrawn the request.
    fn attend(&mut self, mut running: RunningBackup, waiting: &[OpenRequest]) -> Option<RunningBackup> {
        let is_wanted = waiting.iter().any(|request| request.id == running.id);
        if !is_wanted {
            running.give_up();
        }
        if let Some(thread) = running.thread.take_if(|thread| thread.is_finished()) {
            running.answer = Some(answer(thread));
        }
        match &running.answer {
            Some(answer) if is_wanted => (!self.inbox.answer(&running.id, answer)).then_some(running),
            Some(_) => None,
            None => {
                let progress = *running.shared.progress.lock();
                if is_wanted && progress != running.last_progress {
                    self.inbox.tell(&running.id, progress);
                    running.last_progress = progress;
                }
                Some(running)
            }
        }
    }

    /// Begins the first request that can be begun.
    fn begin_first(&mut self, waiting: Vec<OpenRequest>) -> Option<RunningBackup> {
        for OpenRequest { id, request } in waiting {
            match request.and_then(|request| self.begin(&id, request)) {
                Ok(running) => return running,
                Err(what) => {
                    if self.inbox.answer(&id, &Answer::Failed(what.clone())) {
                        tracing::warn!(request = %id, "refused a request of another process: {what}");
                    }
                }
            }
        }
        None
    }

    /// `None` while the store is being closed.
    fn begin(&self, id: &str, request: Request) -> Result<Option<RunningBackup>, String> {
        let Request::Backup(BackupRequest { to, copies }) = request else {
            return Err("a lease is no backup".to_string());
        };
        let Some(store) = self.store.upgrade() else { return Ok(None) };
        let shared = Arc::<BackupState>::default();
        let watched = Arc::clone(&shared);
        let thread = Builder::new().name("quiver-backup".into()).spawn(move || watched.backup(store, &to, copies));
        let thread = thread.map_err(|error| format!("the process that has the store open cannot start a thread: {error}"))?;
        Ok(Some(RunningBackup { id: id.to_string(), thread: Some(thread), shared, last_progress: BackupProgress::default(), answer: None }))
    }
}

impl RunningBackup {
    fn give_up(&self) {
        self.shared.is_given_up.store(true, Ordering::Relaxed);
    }
}

impl BackupState {
    /// Releases the store before it returns.
    fn backup(&self, store: Arc<Store>, to: &Path, copies: bool) -> Result<BackupReport, StoreError> {
        store.backup(to, copies, &mut |progress| {
            *self.progress.lock() = progress;
            match self.is_given_up.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    }
}

fn answer(thread: JoinHandle<Result<BackupReport, StoreError>>) -> Answer {
    match thread.join() {
        Ok(Ok(report)) => Answer::Done(report),
        Ok(Err(error)) => Answer::Failed(error.to_string()),
        Err(_) => Answer::Failed("internal error: the thread of the backup panicked; please report it".to_string()),
    }
}

//! Asks the process that has a store open for writing, if there is one.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use pmem_store::lock::LockError;
use pmem_store::requests::{Answer, PendingRequest, Request, RequestState};
use pmem_store::{BackupProgress, Store, StoreError, StoreOptions};

/// How soon an answer, or a stop by the watch, is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How soon the end of the other process is noticed.
const OPEN_EVERY: Duration = Duration::from_millis(300);
/// A lease takes as long as a copy of the catalog. No progress is told meanwhile, so this is the limit after the acknowledgement.
const LEASE_PATIENCE: Duration = Duration::from_secs(60);

pub(crate) enum Outcome {
    /// No other process writes, and none can while this is open.
    Store(Store),
    /// The answer of the other process, which has locked the store.
    Answer { holder: LockError, answer: Answer, request: PendingRequest },
}

/// Why there is no answer. Each but the last two names the process that had locked the store.
pub(crate) enum AskError {
    /// The request could not be written.
    Submit(LockError, String),
    /// It has not acknowledged the request within this time, or has not given the lease.
    Silence(LockError, Duration),
    /// It has ended, and the store cannot be opened as it was left.
    Ended(LockError, String),
    /// The watch withdrew the request.
    Stopped,
    Store(StoreError),
}

impl From<StoreError> for AskError {
    fn from(error: StoreError) -> AskError {
        AskError::Store(error)
    }
}

/// Opens the store for reading. If another process has it open for writing, it is asked instead: it must acknowledge the request within
/// `patience`, and may then take any time for a backup.
pub(crate) fn ask(
    store: &Path,
    request: &Request,
    patience: Duration,
    watch: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<Outcome, AskError> {
    let mut holder = match open(store)? {
        Ok(store) => return Ok(Outcome::Store(store)),
        Err(holder) => holder,
    };
    let pending = match PendingRequest::submit(store, request) {
        Ok(pending) => pending,
        Err(error) => return Err(AskError::Submit(holder, error.to_string())),
    };
    let (is_lease, mut is_taken) = (*request == Request::Lease, false);
    let (mut progress, mut last_sign, mut last_open) = (BackupProgress::default(), Instant::now(), Instant::now());
    loop {
        match pending.look()? {
            RequestState::Done(answer) => return Ok(Outcome::Answer { holder, answer, request: pending }),
            RequestState::Taken(now) if !(is_lease && is_taken) => (progress, last_sign, is_taken) = (now, Instant::now(), true),
            RequestState::Taken(_) | RequestState::Nothing => {}
        }
        if watch(progress) == ControlFlow::Break(()) {
            return Err(AskError::Stopped);
        }
        if last_open.elapsed() >= OPEN_EVERY {
            match open(store) {
                Ok(Err(now)) => holder = now,
                Ok(Ok(opened)) => {
                    // It may have answered just before it ended.
                    return Ok(match pending.look()? {
                        RequestState::Done(answer) => Outcome::Answer { holder, answer, request: pending },
                        _ => Outcome::Store(opened),
                    });
                }
                Err(error) => return Err(AskError::Ended(holder, error.to_string())),
            }
            last_open = Instant::now();
        }
        let limit = if is_lease && is_taken { LEASE_PATIENCE } else { patience };
        if last_sign.elapsed() >= limit {
            return Err(AskError::Silence(holder, limit));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The store, or the process that has locked it.
fn open(store: &Path) -> Result<Result<Store, LockError>, StoreError> {
    match Store::open(store, StoreOptions { read_only: true, create: false, ..StoreOptions::default() }) {
        Ok(store) => Ok(Ok(store)),
        Err(StoreError::Lock(error @ LockError::InUse { .. })) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

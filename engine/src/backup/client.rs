//! Backs up a store. If another process has it open for writing, that process is asked to make the backup.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use pmem_store::lock::LockError;
use pmem_store::requests::{Answer, BackupRequest, PendingRequest, RequestState};
use pmem_store::{BackupError, BackupProgress, BackupReport, Store, StoreError, StoreOptions};

use super::Watch;
use common::error::EngineError;

/// How soon an answer, or a stop by the watch, is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How soon the end of the other process is noticed.
const OPEN_EVERY: Duration = Duration::from_millis(300);

/// Makes the directory `to` a backup of the last version of the store at `store`, while others read and write. Both paths are absolute.
/// If a process has the store open for writing, that process makes the backup; it must acknowledge the request within `patience`, and may
/// then take any time.
///
/// # Errors
///
/// [`EngineError::Execution`] with the answer of the other process, or if it did not answer. After any other error the previous backup at
/// `to` is unchanged.
pub fn back_up(store: &Path, to: &Path, copies: bool, patience: Duration, watch: Watch<'_>) -> Result<BackupReport, EngineError> {
    let mut holder = match open(store)? {
        Ok(store) => return Ok(store.backup(to, copies, watch)?),
        Err(holder) => holder,
    };
    let request = BackupRequest { to: to.to_path_buf(), copies };
    let pending_request = PendingRequest::submit(store, &request)
        .map_err(|error| shutdown_hint(format!("{} writes to the store and cannot be asked for a backup: {error}", holder.who()), to))?;
    let (mut progress, mut last_sign, mut last_open) = (BackupProgress::default(), Instant::now(), Instant::now());
    loop {
        match pending_request.look()? {
            RequestState::Done(answer) => return answer_result(&holder, answer),
            RequestState::Taken(now) => (progress, last_sign) = (now, Instant::now()),
            RequestState::Nothing => {}
        }
        if watch(progress) == ControlFlow::Break(()) {
            let left = "the request is withdrawn, and the backup from before is as it was".to_string();
            return Err(StoreError::from(BackupError::Stopped { left }).into());
        }
        if last_open.elapsed() >= OPEN_EVERY {
            match open(store).map_err(|error| ended(&holder, error))? {
                Ok(store) => return by_itself(&store, &holder, pending_request, &request, watch),
                Err(now) => holder = now,
            }
            last_open = Instant::now();
        }
        if last_sign.elapsed() >= patience {
            return Err(shutdown_hint(no_answer_error(&holder, patience), to));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The store, or the process that has locked it.
fn open(store: &Path) -> Result<Result<Store, LockError>, EngineError> {
    match Store::open(store, StoreOptions { read_only: true, create: false, ..StoreOptions::default() }) {
        Ok(store) => Ok(Ok(store)),
        Err(StoreError::Lock(error @ LockError::InUse { .. })) => Ok(Err(error)),
        Err(error) => Err(error.into()),
    }
}

fn answer_result(holder: &LockError, answer: Answer) -> Result<BackupReport, EngineError> {
    match answer {
        Answer::Done(report) => Ok(report),
        Answer::Failed(message) => {
            let hint = Some(format!("the backup is made by {}, with the rights of that process", holder.who()));
            Err(EngineError::Execution { message, hint })
        }
    }
}

/// No other process writes, and none can while `store` is open.
fn by_itself(
    store: &Store,
    last_holder: &LockError,
    pending_request: PendingRequest,
    request: &BackupRequest,
    watch: Watch<'_>,
) -> Result<BackupReport, EngineError> {
    // It may have answered just before it ended.
    if let RequestState::Done(answer) = pending_request.look()? {
        return answer_result(last_holder, answer);
    }
    drop(pending_request);
    Ok(store.backup(&request.to, request.copies, watch)?)
}

/// The error if the other process has ended and this one cannot use the store as it was left.
fn ended(holder: &LockError, error: EngineError) -> EngineError {
    EngineError::Execution {
        message: format!("{} ended before it had made the backup: {error}", holder.who()),
        hint: Some("then run the backup again; the one from before, if there was one, is as it was".into()),
    }
}

fn no_answer_error(holder: &LockError, patience: Duration) -> String {
    let who = holder.who();
    format!(
        "{who} writes to the store and has not answered the request for a backup within {} s; it may be of an older version, or stopped",
        patience.as_secs_f64()
    )
}

fn shutdown_hint(message: String, to: &Path) -> EngineError {
    let to = to.display().to_string().replace('\'', "''");
    let hint = format!("in that process, BACKUP TO '{to}' makes the backup while others read and write");
    EngineError::Execution { message, hint: Some(hint) }
}

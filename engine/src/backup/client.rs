//! Backs up a store. If another process has it open for writing, that process is asked to make the backup.

use std::path::Path;
use std::time::Duration;

use pmem_store::lock::LockError;
use pmem_store::requests::{Answer, BackupRequest, Request};
use pmem_store::{BackupError, BackupReport, StoreError};

use super::Watch;
use crate::requests::{AskError, Outcome, ask};
use common::error::EngineError;

/// Makes the directory `to` a backup of the last version of the store at `store`, while others read and write. Both paths are absolute.
/// If a process has the store open for writing, that process makes the backup; it must acknowledge the request within `patience`, and may
/// then take any time.
///
/// # Errors
///
/// [`EngineError::Execution`] with the answer of the other process, or if it did not answer. After any other error the previous backup at
/// `to` is unchanged.
pub fn back_up(store: &Path, to: &Path, copies: bool, patience: Duration, watch: Watch<'_>) -> Result<BackupReport, EngineError> {
    let request = Request::Backup(BackupRequest { to: to.to_path_buf(), copies });
    match ask(store, &request, patience, watch) {
        Ok(Outcome::Store(store)) => Ok(store.backup(to, copies, watch)?),
        Ok(Outcome::Answer { holder, answer, .. }) => answer_result(&holder, answer),
        Err(error) => Err(backup_error(error, to)),
    }
}

fn answer_result(holder: &LockError, answer: Answer) -> Result<BackupReport, EngineError> {
    match answer {
        Answer::Done(report) => Ok(report),
        Answer::Failed(message) => {
            let hint = Some(format!("the backup is made by {}, with the rights of that process", holder.who()));
            Err(EngineError::Execution { message, hint })
        }
        Answer::Lease { .. } => Err(EngineError::internal("a backup was answered with a lease")),
    }
}

fn backup_error(error: AskError, to: &Path) -> EngineError {
    match error {
        AskError::Submit(holder, error) => {
            shutdown_hint(format!("{} writes to the store and cannot be asked for a backup: {error}", holder.who()), to)
        }
        AskError::Silence(holder, patience) => shutdown_hint(no_answer_error(&holder, patience), to),
        AskError::Ended(holder, error) => EngineError::Execution {
            message: format!("{} ended before it had made the backup: {error}", holder.who()),
            hint: Some("then run the backup again; the one from before, if there was one, is as it was".into()),
        },
        AskError::Stopped => {
            let left = "the request is withdrawn, and the backup from before is as it was".to_string();
            StoreError::from(BackupError::Stopped { left }).into()
        }
        AskError::Store(error) => error.into(),
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

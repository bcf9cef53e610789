//! Opens a store for reading: the last version, also beside a process that writes.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use pmem_store::lock::LockError;
use pmem_store::requests::{Answer, Request};
use pmem_store::{Store, StoreOptions};

use super::ask::{AskError, Outcome, ask};
use common::error::EngineError;

/// The time within which the writing process must acknowledge the request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The store at its last version. If a process has it open for writing, that process gives a lease, and goes on writing.
pub(crate) fn open_to_read(path: &Path) -> Result<Store, EngineError> {
    match ask(path, &Request::Lease, PATIENCE, &mut |_| ControlFlow::Continue(())) {
        Ok(Outcome::Store(store)) => Ok(store),
        Ok(Outcome::Answer { answer: Answer::Lease { version }, request, .. }) => {
            Ok(Store::open_leased(path, StoreOptions::default(), request.into_lease(version))?)
        }
        Ok(Outcome::Answer { answer: Answer::Failed(message), holder, .. }) => Err(in_use(&holder, message)),
        Ok(Outcome::Answer { answer: Answer::Done(_), .. }) => Err(EngineError::internal("a lease was answered with a backup")),
        Err(AskError::Submit(holder, what)) => Err(in_use(&holder, what)),
        Err(AskError::Silence(holder, limit)) => {
            let seconds = limit.as_secs();
            Err(in_use(&holder, format!("it has not answered within {seconds} s; it may be of an older version, or stopped")))
        }
        Err(AskError::Stopped) => Err(EngineError::Cancelled),
        Err(AskError::Ended(holder, what)) => {
            let message = format!("{} ended before it had answered: {what}", holder.who());
            Err(EngineError::Unreachable { message, hint: None })
        }
        Err(AskError::Store(error)) => Err(error.into()),
    }
}

fn in_use(holder: &LockError, what: String) -> EngineError {
    EngineError::Unreachable { message: holder.to_string(), hint: Some(format!("it cannot be read beside that process: {what}")) }
}

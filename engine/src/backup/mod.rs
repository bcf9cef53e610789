//! Backups: `BACKUP TO` as a statement, and what a program can ask for without one.
//!
//! `client` is for a store that another process may have open, `server` the thread that does what other
//! processes ask for.

mod client;
mod server;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use pmem_store::{BackupError, Store, StoreError};
pub use pmem_store::{BackupProgress, BackupReport, FileCount, VerifyReport};

pub use self::client::back_up;
pub(crate) use self::server::Listener;
use crate::blocking::blocking;
use common::error::EngineError;

/// Asked again and again how it should go on, with how far it is.
pub type Watch<'a> = &'a mut dyn FnMut(BackupProgress) -> ControlFlow<()>;

/// Whether it is the error of work that a watch has stopped.
pub fn is_stopped(error: &EngineError) -> bool {
    matches!(error, EngineError::Store(StoreError::Backup(BackupError::Stopped { .. })))
}

/// Makes a store of a backup, which is verified on the way.
pub fn restore(backup: &Path, to: &Path, copies: bool, watch: Watch<'_>) -> Result<BackupReport, EngineError> {
    Ok(pmem_store::restore_backup(backup, to, copies, watch)?)
}

/// Reads all of a backup; what is wrong is in the report.
pub fn verify(backup: &Path, watch: Watch<'_>) -> Result<VerifyReport, EngineError> {
    Ok(pmem_store::verify_backup(backup, watch)?)
}

/// Set when the statement is not waited for any more.
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `BACKUP TO`; its one row.
pub(crate) async fn backup_to(store: &Arc<Store>, to: PathBuf, copies: bool) -> Result<RecordBatch, EngineError> {
    let is_abandoned = Arc::new(AtomicBool::new(false));
    let _abandoned = Abandoned(Arc::clone(&is_abandoned));
    let store = Arc::clone(store);
    let report = blocking(move || {
        let mut watch = |_| match is_abandoned.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        Ok(store.backup(&to, copies, &mut watch)?)
    })
    .await?;
    backed_up_row(&report).map_err(|error| EngineError::internal(error.to_string()))
}

/// What BACKUP TO gives.
pub(crate) fn backed_up_row(report: &BackupReport) -> Result<RecordBatch, arrow::error::ArrowError> {
    let columns = [
        ("version", report.version),
        ("files_linked", report.linked.files),
        ("bytes_linked", report.linked.bytes),
        ("files_copied", report.copied.files),
        ("bytes_copied", report.copied.bytes),
        ("files_kept", report.kept.files),
        ("bytes_kept", report.kept.bytes),
    ];
    let columns = columns.map(|(name, value)| (name, Arc::new(Int64Array::from(vec![value as i64])) as ArrayRef));
    RecordBatch::try_from_iter(columns)
}

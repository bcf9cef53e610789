//! Backups: the statement `BACKUP TO`, and the functions for programs.
//!
//! `client` backs up a store that another process may have open.

mod client;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use pmem_store::{BackupError, Store, StoreError};
pub use pmem_store::{BackupProgress, BackupReport, FileCount, VerifyReport};

pub use self::client::back_up;
use common::error::EngineError;
use table::blocking::blocking;

/// Called repeatedly with the progress; returns whether to continue.
pub type Watch<'a> = &'a mut dyn FnMut(BackupProgress) -> ControlFlow<()>;

/// Whether the error means that a watch stopped the work.
pub fn is_stopped(error: &EngineError) -> bool {
    matches!(error, EngineError::Store(StoreError::Backup(BackupError::Stopped { .. })))
}

/// Restores a store from a backup, and verifies the backup on the way.
pub fn restore(backup: &Path, to: &Path, copies: bool, watch: Watch<'_>) -> Result<BackupReport, EngineError> {
    Ok(pmem_store::restore_backup(backup, to, copies, watch)?)
}

/// Reads the whole backup; the report lists what is wrong.
pub fn verify(backup: &Path, watch: Watch<'_>) -> Result<VerifyReport, EngineError> {
    Ok(pmem_store::verify_backup(backup, watch)?)
}

/// Set when the statement is dropped.
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `BACKUP TO` and returns its one row.
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

/// The result of BACKUP TO.
pub(crate) fn backed_up_row(report: &BackupReport) -> Result<RecordBatch, arrow::error::ArrowError> {
    let columns = [
        ("version", report.version),
        ("files_linked", report.linked.files),
        ("bytes_linked", report.linked.bytes),
        ("files_copied", report.copied.files),
        ("bytes_copied", report.copied.bytes),
        ("files_unchanged", report.unchanged.files),
        ("bytes_unchanged", report.unchanged.bytes),
    ];
    let columns = columns.map(|(name, value)| (name, Arc::new(Int64Array::from(vec![value as i64])) as ArrayRef));
    RecordBatch::try_from_iter(columns)
}

//! What of a log is missing.

use std::io::ErrorKind;
use std::path::Path;

use super::format::LogIdentity;
use super::summary::LogEnd;
use super::tail_log::RecoveredLog;
use crate::error::{Result, StoreError};
use crate::mapping::MappingError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLoss {
    /// Where what is left of it ends.
    offset: u64,
    /// What is wrong with the file; None where it only ends before the end that it had when the store was closed.
    what: Option<String>,
    /// Of those that it had when the store was closed; 0 where that is not known.
    pub rows: u64,
    pub bytes: u64,
}

impl LogLoss {
    /// None where nothing is missing.
    pub fn between(log: &RecoveredLog, noted: Option<&LogEnd>) -> Option<LogLoss> {
        let index = &log.recovered.index;
        let (offset, rows, what) = (index.end(), index.until(u64::MAX).rows, log.wrong_length());
        let noted = noted.filter(|noted| offset < noted.end);
        let (rows, bytes) = noted.map_or((0, 0), |noted| (noted.rows.saturating_sub(rows), noted.end - offset));
        (what.is_some() || bytes > 0).then_some(LogLoss { offset, what, rows, bytes })
    }

    /// Of a file that cannot be read for its damage. An error that says nothing of damage comes back: the file may
    /// be whole.
    pub fn of_all(error: StoreError, noted: Option<&LogEnd>) -> Result<LogLoss> {
        let (offset, what) = match error {
            StoreError::Damaged { offset, what, .. } => (offset, what),
            // A log of another format is in no store whose catalog this program may read.
            StoreError::NewerVersion { found, format_max, .. } => (8, format!("it has format {found}, expected {format_max} at most")),
            StoreError::Mapping(MappingError::Empty { .. }) => (0, "it is empty".to_string()),
            StoreError::Mapping(MappingError::Open { source, .. }) if source.kind() == ErrorKind::NotFound => {
                (0, "the file is missing".to_string())
            }
            other => return Err(other),
        };
        let (rows, bytes) = noted.map_or((0, 0), |noted| (noted.rows, noted.end));
        Ok(LogLoss { offset, what: Some(what), rows, bytes })
    }

    pub fn error(&self, path: &Path) -> StoreError {
        let LogLoss { offset, what, rows, bytes } = self.clone();
        StoreError::LogDamaged { path: path.to_path_buf(), offset, what, rows, bytes }
    }

    /// For who goes on without it.
    pub fn sentence(&self, LogIdentity { table, log, .. }: LogIdentity) -> String {
        let LogLoss { offset, rows, bytes, .. } = self;
        let rows = match rows {
            0 => format!("the rows that it had from byte {offset} on"),
            _ => format!("{rows} rows ({bytes} bytes) that it had when the store was closed"),
        };
        let what = self.what.as_ref().map(|what| format!(": {what}")).unwrap_or_default();
        format!("log {log} of table {table} is without {rows}{what}")
    }
}

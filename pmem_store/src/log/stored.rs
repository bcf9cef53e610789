//! Opening a log by what its own header says of its columns: the catalog knows the declared types
//! alone, and not how rows lie.

use std::path::Path;
use std::sync::Arc;

use super::format::LogIdentity;
use super::loss::LogLoss;
use super::summary::LogEnd;
use super::tail_log::{TailLog, read};
use crate::error::Result;
use crate::region::{PoisonFlag, RegionKind};

impl TailLog {
    /// As [`TailLog::open`], or [`TailLog::open_read_only`]. A log that does not reach the end that it had when the
    /// store was closed, that has another length than it was made with, or that cannot be read, is opened as it is:
    /// nothing is written to it, and asking for its rows is an error.
    pub(crate) fn open_stored(
        path: &Path,
        identity: LogIdentity,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
        read_only: bool,
        noted: Option<&LogEnd>,
        is_committed: &dyn Fn(u64) -> bool,
    ) -> Result<TailLog> {
        let log = match read(path, identity, is_committed) {
            Ok(log) => log,
            Err(error) => return TailLog::of_loss(path, identity, LogLoss::of_all(error, noted)?),
        };
        let schema = Arc::clone(&log.header.schema);
        let loss = LogLoss::between(&log, noted);
        match read_only || loss.is_some() {
            true => Ok(TailLog::to_read(path, identity, schema, log, loss)),
            false => TailLog::to_write(path, identity, schema, log, noted.map_or(0, |noted| noted.end), kind, poison),
        }
    }
}

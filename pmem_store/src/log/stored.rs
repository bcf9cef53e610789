//! Opening a log by what its own header says of its columns: the catalog knows the declared types
//! alone, and not how rows lie.

use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use super::decode::cut_short;
use super::format::{LogIdentity, parse_header};
use super::summary::LogEnd;
use super::tail_log::{LogLoss, TailLog, read};
use crate::error::Result;
use crate::mapping::Mapping;
use crate::region::{PoisonFlag, RegionKind};

impl TailLog {
    /// As [`TailLog::open`], or [`TailLog::open_read_only`]. A log that does not reach the end that it had when the
    /// store was closed is opened as it is: nothing is written to it, and asking for its rows is an error.
    pub(crate) fn open_stored(
        path: &Path,
        identity: LogIdentity,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
        read_only: bool,
        noted: Option<&LogEnd>,
        is_committed: &dyn Fn(u64) -> bool,
    ) -> Result<TailLog> {
        let schema = stored_schema(path)?;
        let found = read(path, identity, &schema, is_committed)?;
        let loss = noted.and_then(|noted| LogLoss::between(&found.recovered.index, noted));
        match read_only || loss.is_some() {
            true => Ok(TailLog::to_read(path, identity, schema, found, loss)),
            false => TailLog::to_write(path, identity, schema, found, noted.map_or(0, |noted| noted.end), kind, poison),
        }
    }
}

fn stored_schema(path: &Path) -> Result<SchemaRef> {
    let mapping = Mapping::open(path, None)?;
    let header = parse_header(path, mapping.slice(0, mapping.len())?);
    if mapping.damaged() {
        return Err(cut_short(path, 0));
    }
    Ok(header?.schema)
}

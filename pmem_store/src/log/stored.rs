//! Opening a log by what its own header says of its columns: the catalog knows the declared types
//! alone, and not how rows lie.

use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use super::decode::cut_short;
use super::format::{LogIdentity, parse_header};
use super::tail_log::TailLog;
use crate::error::Result;
use crate::mapping::Mapping;
use crate::region::{PoisonFlag, RegionKind};

impl TailLog {
    /// As [`TailLog::open`], or [`TailLog::open_read_only`].
    pub(crate) fn open_stored(
        path: &Path,
        identity: LogIdentity,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
        read_only: bool,
        is_committed: &dyn Fn(u64) -> bool,
    ) -> Result<TailLog> {
        let schema = stored_schema(path)?;
        match read_only {
            true => TailLog::open_read_only(path, identity, schema, is_committed),
            false => TailLog::open(path, identity, schema, kind, poison, is_committed),
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

//! A table as of an earlier point in the history of the store.

use std::sync::Arc;

use datafusion::execution::SessionState;
use pmem_store::{Snapshot, Store, StoreError, TableRecord, TableSnapshot};

use common::clock::now_ms;
use common::error::{EngineError, nearest};
use sql::{Point, time_ms, time_text};

/// Names are looked up in `snapshot`; a time is resolved to a version of `table` alone.
pub fn version_of(
    point: &Point,
    state: &SessionState,
    store: &Store,
    snapshot: &Snapshot,
    table: &TableRecord,
) -> Result<u64, EngineError> {
    match point {
        Point::Version(version) => Ok(*version),
        Point::Snapshot(name) => {
            let named = snapshot.named_snapshots();
            match named.iter().find(|entry| entry.name == *name) {
                Some(entry) => Ok(entry.version),
                None => Err(no_snapshot(name, named.iter().map(|entry| entry.name.as_str()))),
            }
        }
        Point::Time(sql) => version_at(store, table, time_ms(state, sql)?),
    }
}

pub fn no_snapshot<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> EngineError {
    let near = nearest(name, names).map(|near| format!("did you mean \"{near}\"?"));
    let hint = near.or_else(|| Some("SHOW SNAPSHOTS lists them".to_string()));
    EngineError::Sql { message: format!("snapshot \"{name}\" does not exist"), position: None, hint }
}

fn version_at(store: &Store, table: &TableRecord, time_ms: i64) -> Result<u64, EngineError> {
    let error = |message: String, hint: &str| EngineError::Sql { message, position: None, hint: Some(hint.into()) };
    if time_ms > now_ms() as i64 {
        let message = format!("{} is yet to come", time_text(time_ms));
        return Err(error(message, "a time without a zone is UTC; leave FOR SYSTEM_TIME out to read the last version"));
    }
    match store.table_version_at(table, u64::try_from(time_ms).unwrap_or(0)) {
        Ok(version) => Ok(version),
        Err(StoreError::BeforeHistory { oldest_ms }) => {
            let begins = match oldest_ms {
                Some(oldest_ms) => format!("versions are kept from {} on", time_text(oldest_ms as i64)),
                None => "the store has none yet".to_string(),
            };
            let hint = "snapshots, which SHOW SNAPSHOTS lists, may be older: FOR VERSION AS OF 'name'";
            Err(error(format!("no version of {} is kept; {begins}", time_text(time_ms)), hint))
        }
        Err(error) => Err(error.into()),
    }
}

/// The result of looking up a table with a version clause in this namespace.
pub enum PastTable {
    Found(Box<TableSnapshot>),
    /// The table does not exist now.
    None,
    /// Only stored tables have versions.
    View,
}

/// The table called `name` in `snapshot`, at the version of `clause`.
pub fn table_at(
    state: &SessionState,
    store: &Arc<Store>,
    snapshot: &Snapshot,
    (namespace, name): (&str, &str),
    clause: &str,
) -> Result<PastTable, EngineError> {
    let Some(table) = snapshot.table(namespace, name)? else {
        let is_view = snapshot.view(namespace, name)?.is_some();
        return Ok(if is_view { PastTable::View } else { PastTable::None });
    };
    let version = version_of(&Point::of_clause(clause)?, state, store, snapshot, table.record())?;
    Ok(PastTable::Found(Box::new(store.table_version(table.record(), version)?)))
}

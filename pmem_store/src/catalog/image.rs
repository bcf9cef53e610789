//! A second catalog with the same rows: all that one read transaction sees, in a new file.

use std::path::Path;

use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError, TableHandle, WriteTransaction};

use super::database::{
    Access, DELETIONS, Database, GARBAGE, GRANTS, HISTORY, LOGS, NAMESPACES, PRINCIPALS, SCHEMAS, SEGMENTS, SNAPSHOTS, STORE, TABLES,
    VERSIONS, VIEWS,
};
use super::read::CatalogReader;
use super::records::SegmentRecord;
use crate::error::{Result, StoreError};
use crate::names::TableId;
use crate::segment::SealedSegment;

/// Calls a function once for each table of the catalog.
macro_rules! each_table {
    ($call:ident $(, $argument:expr)*) => {
        [
            $call($($argument,)* STORE), $call($($argument,)* NAMESPACES), $call($($argument,)* TABLES),
            $call($($argument,)* SCHEMAS), $call($($argument,)* SEGMENTS), $call($($argument,)* VIEWS),
            $call($($argument,)* VERSIONS), $call($($argument,)* DELETIONS), $call($($argument,)* HISTORY),
            $call($($argument,)* GARBAGE), $call($($argument,)* LOGS), $call($($argument,)* SNAPSHOTS),
            $call($($argument,)* PRINCIPALS), $call($($argument,)* GRANTS),
        ]
    };
}

impl CatalogReader {
    /// Writes a catalog with the rows of this one, byte for byte, to `path`, which must not exist. All but its name is
    /// durable when this returns.
    pub fn copy_to(&self, path: &Path) -> Result<()> {
        self.guarded(|| {
            self.refuse_unknown_tables()?;
            let copied = Database::open(path, Access::Create).and_then(|target| {
                let into = target.begin_write()?;
                each_table!(copy, &self.transaction, &into).into_iter().collect::<Result<(), _>>().map_err(|error| failed(path, error))?;
                into.commit().map_err(|error| failed(path, error.into()))
            });
            copied?;
            // Closing the database has written to the file once more.
            let file = std::fs::File::open(path).map_err(|error| StoreError::io("open", path, error))?;
            file.sync_all().map_err(|error| StoreError::io("sync", path, error))
        })
    }

    /// The copy would lack a table that a later version of Quiver has added.
    fn refuse_unknown_tables(&self) -> Result<()> {
        self.guarded(|| {
            let names = each_table!(name_of);
            let mut tables = self.transaction.list_tables().map_err(|error| self.error(error))?;
            match tables.find(|table| !names.iter().any(|name| name == table.name())) {
                None => Ok(()),
                Some(table) => Err(self.error(format!("it has a table \"{}\", which this version of Quiver does not know", table.name()))),
            }
        })
    }

    /// The segments of all tables, including those that are kept for older versions.
    pub fn all_segments(&self) -> Result<Vec<(TableId, SealedSegment)>> {
        self.guarded(|| {
            let segments = self.transaction.open_table(SEGMENTS).map_err(|error| self.error(error))?;
            let rows = segments.iter().map_err(|error| self.error(error))?;
            rows.map(|row| {
                let (key, record) = row.map_err(|error| self.error(error))?;
                let record: SegmentRecord = self.decode(SEGMENTS, &key.value(), record.value())?;
                Ok((key.value().0, record.sealed))
            })
            .collect()
        })
    }
}

fn name_of<K: redb::Key + 'static, V: redb::Value + 'static>(definition: TableDefinition<'_, K, V>) -> String {
    definition.name().to_string()
}

fn copy<K: redb::Key + 'static, V: redb::Value + 'static>(
    from: &ReadTransaction,
    into: &WriteTransaction,
    definition: TableDefinition<'_, K, V>,
) -> Result<(), redb::Error> {
    let source = match from.open_table(definition) {
        Ok(source) => source,
        // The first commit that needs the table creates it.
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut target = into.open_table(definition)?;
    for row in source.iter()? {
        let (key, value) = row?;
        target.insert(key.value(), value.value())?;
    }
    Ok(())
}

fn failed(path: &Path, error: redb::Error) -> StoreError {
    match error {
        redb::Error::Io(source) => StoreError::io("write", path, source),
        other => StoreError::Catalog { path: path.to_path_buf(), what: other.to_string() },
    }
}

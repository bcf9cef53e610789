//! Objects as they were at an older version.

use arrow::datatypes::Schema;

use super::OBJECTS_TABLE;
use super::blobs::{self, Blobs};
use super::record::SCHEMA;
use super::rows::own_table;
use super::table::Objects;
use crate::error::{Result, StoreError};
use crate::snapshot::{Snapshot, TableSnapshot};
use crate::store::Store;
use crate::tiers::Tier;

impl Store {
    /// The objects that had a row at a version, and the bytes of blobs and functions, whatever a user may see.
    ///
    /// # Errors
    ///
    /// The version is not kept any more, or is yet to come.
    pub fn objects_at(&self, version: u64) -> Result<(Objects, Blobs)> {
        let now = self.snapshot()?;
        let objects = self.own_table_at(&now, OBJECTS_TABLE, &SCHEMA, version)?;
        let mut tables = Vec::new();
        for tier in Tier::ALL {
            tables.extend(self.own_table_at(&now, &blobs::table_name(tier.word()), &blobs::SCHEMA, version)?);
        }
        Ok((Objects::of(objects), Blobs::of(tables)))
    }

    fn own_table_at(&self, now: &Snapshot, name: &str, schema: &Schema, version: u64) -> Result<Option<TableSnapshot>> {
        let Some(table) = own_table(now, name, schema)? else { return Ok(None) };
        match self.table_version(table.record(), version) {
            Ok(table) => Ok(Some(table)),
            Err(StoreError::BeforeTable { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

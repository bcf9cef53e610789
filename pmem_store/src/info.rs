//! What a store holds, described for people.

use std::path::PathBuf;

use crate::catalog::{CatalogReader, FORMAT_VERSION};
use crate::error::Result;
use crate::files;
use crate::region::Mode;
use crate::store::Store;

#[derive(Debug, Clone)]
pub struct StoreInfo {
    pub path: PathBuf,
    pub mode: Mode,
    pub format_version: u32,
    pub version: u64,
    pub size_bytes: u64,
    pub tables: Vec<TableInfo>,
}

#[derive(Debug, Clone)]
pub struct TableInfo {
    pub namespace: String,
    pub name: String,
    pub row_count: u64,
    pub size_bytes: u64,
    pub segment_count: u64,
}

impl Store {
    pub fn info(&self) -> Result<StoreInfo> {
        let snapshot = self.snapshot()?;
        let mut tables = Vec::new();
        for record in snapshot.tables()? {
            if let Some(table) = snapshot.table(&record.namespace, &record.name)? {
                tables.push(TableInfo {
                    row_count: table.row_count(),
                    size_bytes: table.size_bytes(),
                    segment_count: table.segments().len() as u64,
                    namespace: record.namespace,
                    name: record.name,
                });
            }
        }
        Ok(StoreInfo {
            path: self.path().to_path_buf(),
            mode: self.mode(),
            format_version: CatalogReader::begin(&self.core.database)?.store()?.format_version.min(FORMAT_VERSION),
            version: snapshot.version(),
            size_bytes: files::size_below(self.path()),
            tables,
        })
    }
}

//! Files in FROM: `FROM 'x.csv'`, `FROM read_csv('x.csv', header = true)`, and external tables.
//!
//! All of them are one table, [`FileTable`], and follow the rules of an import: which files there are, what is in them, and which names
//! and types their columns have.

mod external;
mod functions;
mod options;
mod table;

use std::sync::Arc;

use datafusion::catalog::{Session, TableProvider};

use super::provider::StoreCatalog;
use crate::blocking::blocking;
use crate::time_zone::table_in_zone;
use common::error::EngineError;
use files::import::{FileScan, ReadOptions};

pub use external::table_of_files;
pub use functions::file_readers;
pub use table::FileTable;

/// The table of files that a statement names itself: its user needs the privilege FILES.
pub async fn file_in_from(session: &dyn Session, path: &str) -> Result<Arc<dyn TableProvider>, EngineError> {
    let catalog = check_files(session, path)?;
    let options = ReadOptions { directories: catalog.file_directories().clone(), ..ReadOptions::default() };
    let paths = [path.to_string()];
    let scan = blocking(move || Ok(FileScan::open(&paths, options)?)).await?;
    Ok(table_in_session(session, scan))
}

/// `what` is the path in the statement, or the function that reads it.
fn check_files(session: &dyn Session, what: &str) -> Result<Arc<StoreCatalog>, EngineError> {
    let catalog = StoreCatalog::of(session).ok_or_else(|| EngineError::internal("a file is read outside a session"))?;
    catalog.check(|authorization| authorization.files(&format!("read {what}")))?;
    Ok(catalog)
}

fn table_in_session(session: &dyn Session, scan: FileScan) -> Arc<dyn TableProvider> {
    table_in_zone(Arc::new(FileTable::new(scan)), session.config_options().execution.time_zone.as_deref())
}

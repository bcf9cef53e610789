//! A log shares these with the views of its rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use parking_lot::RwLock;

use super::chunks::Chunks;
use super::format::LogIdentity;
use super::index::Index;
use crate::mapping::Mapping;

/// What views share with the log, and keep after it.
#[derive(Debug)]
pub(super) struct LogData {
    pub identity: LogIdentity,
    pub path: PathBuf,
    pub schema: SchemaRef,
    pub mapping: Arc<Mapping>,
    pub index: RwLock<Index>,
    pub chunks: Chunks,
}

impl LogData {
    pub fn new(path: &Path, identity: LogIdentity, schema: SchemaRef, mapping: Arc<Mapping>, index: Index) -> Arc<LogData> {
        let (path, index, chunks) = (path.to_path_buf(), RwLock::new(index), Chunks::default());
        Arc::new(LogData { identity, path, schema, mapping, index, chunks })
    }
}

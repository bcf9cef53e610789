//! The state of a store when it was last closed: at least that much must exist whenever it is opened again. Without
//! this record a damaged record of a log looks like one that never arrived.
//!
//! It is in the file `closed`: one line of JSON and its checksum. It stays valid when the store is written to again,
//! because logs grow and versions increase; an older store without the file gets one when it is closed.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};
use crate::files;
use crate::log::LogEnd;
use crate::names::TableId;
use crate::region::PoisonFlag;

const CLOSED_FILE: &str = "closed";
const CLOSED_FILE_NEW: &str = "closed.new";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CloseRecord {
    /// The version of the catalog.
    pub version: u64,
    /// Sorted by table and id.
    pub logs: Vec<LogEnd>,
}

impl CloseRecord {
    /// The default for a store that was never closed since this file exists.
    pub fn read(store: &Path) -> Result<CloseRecord> {
        let path = store.join(CLOSED_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(CloseRecord::default()),
            Err(error) => return Err(StoreError::io("read", &path, error)),
        };
        let damaged = |what: String| StoreError::ClosedDamaged { path: path.clone(), what };
        let line = files::without_sum(&bytes).map_err(|what| damaged(what.to_string()))?;
        serde_json::from_slice(line).map_err(|error| damaged(format!("cannot be understood: {error}")))
    }

    /// It is durable when this returns. If it fails, the previous record is still true, and after a failed sync nothing more is
    /// written or removed.
    pub fn write(&self, store: &Path, poison: &PoisonFlag) -> Result<()> {
        let (new, path) = (store.join(CLOSED_FILE_NEW), store.join(CLOSED_FILE));
        let line = serde_json::to_string(self).map_err(|error| StoreError::io("write", &path, error.into()))?;
        let written = files::write_store_file(&new, files::with_sum(&line).as_bytes(), poison)
            .and_then(|()| fs::rename(&new, &path).map_err(|error| StoreError::io("rename", &new, error)));
        if written.is_err() && !poison.is_set() {
            files::remove(&new);
        }
        written.and_then(|()| files::sync_store_dir(store, poison))
    }

    pub fn of_log(&self, table: TableId, id: u64) -> Option<&LogEnd> {
        let at = self.logs.binary_search_by_key(&(table, id), |log| (log.table, log.id)).ok()?;
        self.logs.get(at)
    }

    /// Says which versions a catalog of this version lacks, for a user who accepts the loss.
    pub fn missing_versions(&self, version: u64) -> Option<String> {
        let sentence = || format!("the catalog is of version {version}, and was of {} when the store was closed", self.version);
        (version < self.version).then(sentence)
    }

    /// An error if the catalog has lost versions.
    pub fn check_version(&self, catalog: &Path, version: u64) -> Result<()> {
        if version >= self.version {
            return Ok(());
        }
        let what = format!("its last version is {version}, and it was {} when the store was closed", self.version);
        Err(StoreError::CatalogDamaged { path: catalog.to_path_buf(), what })
    }
}

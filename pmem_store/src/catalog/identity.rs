//! The identity of a store: a random number that no other store has, so that its backups are not confused with those
//! of another store.

use std::hash::{BuildHasher, Hasher, RandomState};

use super::database::{STORE, STORE_ID_KEY};
use super::read::CatalogReader;
use super::write::CatalogWriter;
use crate::error::Result;

/// 32 hexadecimal digits.
pub fn new_store_id() -> String {
    // The keys of a `RandomState` come from the system's randomness.
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

impl CatalogReader {
    /// `None` for a store from before ids that was not opened for writing since.
    pub fn store_id(&self) -> Result<Option<String>> {
        self.guarded(|| {
            let table = self.transaction.open_table(STORE).map_err(|error| self.error(error))?;
            let value = table.get(STORE_ID_KEY).map_err(|error| self.error(error))?;
            let text = value.map(|value| String::from_utf8(value.value().to_vec()));
            text.transpose().map_err(|error| self.error(error))
        })
    }
}

impl CatalogWriter {
    /// The caller commits it with [`CatalogWriter::commit_unversioned`].
    pub fn put_store_id(&self, id: &str) -> Result<()> {
        let mut table = self.transaction.open_table(STORE).map_err(|error| self.database.error(error))?;
        table.insert(STORE_ID_KEY, id.as_bytes()).map(|_| ()).map_err(|error| self.database.error(error))
    }
}

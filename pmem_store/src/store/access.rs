//! Changes of users, roles and grants: they are effective at once and belong to no version.

use std::sync::Arc;

use super::Store;
use crate::access::Access;
use crate::catalog::{CatalogReader, CatalogWriter};
use crate::error::{Result, StoreError};

/// The length of the key that signs tokens.
const TOKEN_KEY_BYTES: usize = 32;

impl Store {
    /// The current access. It is cheap, because every statement of a user calls it.
    pub fn access(&self) -> Arc<Access> {
        self.core.access()
    }

    /// Changes users, roles and grants in one durable transaction; commits wait meanwhile. If `change` fails, nothing
    /// is changed.
    pub fn change_access<T, E: From<StoreError>>(&self, change: impl FnOnce(&mut Access) -> Result<T, E>) -> Result<T, E> {
        let core = &self.core;
        core.check_writable()?;
        let _commits = core.lock_commits()?;
        let old = core.access();
        let mut new = old.as_ref().clone();
        let done = change(&mut new)?;
        if new != *old {
            let mut writer = CatalogWriter::begin(&core.database)?;
            new.persist(&mut writer, &old)?;
            writer.commit_unversioned("a change of users and grants")?;
            core.set_access(new);
        }
        Ok(done)
    }

    /// The key that signs tokens. The first call stores the key that `fresh` makes.
    pub fn token_key(&self, fresh: impl FnOnce() -> Result<[u8; TOKEN_KEY_BYTES]>) -> Result<[u8; TOKEN_KEY_BYTES]> {
        let core = &self.core;
        let stored_key = || -> Result<Option<[u8; TOKEN_KEY_BYTES]>> {
            let key = CatalogReader::begin(&core.database)?.token_key()?;
            let wrong = |_| StoreError::Catalog { path: core.path().to_path_buf(), what: "the key of tokens has another length".into() };
            key.map(|key| <[u8; TOKEN_KEY_BYTES]>::try_from(key).map_err(wrong)).transpose()
        };
        if let Some(key) = stored_key()? {
            return Ok(key);
        }
        core.check_writable()?;
        let _commits = core.lock_commits()?;
        if let Some(key) = stored_key()? {
            return Ok(key);
        }
        let key = fresh()?;
        let writer = CatalogWriter::begin(&core.database)?;
        writer.put_token_key(&key)?;
        writer.commit_unversioned("the key of tokens")?;
        Ok(key)
    }
}

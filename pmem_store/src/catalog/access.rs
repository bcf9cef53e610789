//! Users, roles and grants: rows that belong to no version. A change is effective from its commit on.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::database::{GRANTS, PRINCIPALS, STORE, TOKEN_KEY};
use super::features::{FEATURE_ACCESS, FEATURE_OBJECT_GRANTS};
use super::read::CatalogReader;
use super::write::CatalogWriter;
use crate::error::Result;
use crate::names::TableId;

/// A user can log in; a role is granted to users and other roles. All names are unique.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrincipalRecord {
    pub name: String,
    /// In a form that only the layer above knows; a role has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<String>,
    /// It changes with every new password, and differs for every new user of this name.
    #[serde(default)]
    pub epoch: u64,
    #[serde(default)]
    pub is_admin: bool,
    /// The roles that it has.
    #[serde(default)]
    pub member_of: BTreeSet<String>,
    pub created_at_ms: u64,
}

impl PrincipalRecord {
    pub fn is_user(&self) -> bool {
        self.password_hash.is_some()
    }
}

/// Omits what must not be in a log.
impl fmt::Debug for PrincipalRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PrincipalRecord { name, epoch, is_admin, member_of, .. } = self;
        let mut shown = f.debug_struct("PrincipalRecord");
        shown.field("name", name).field("epoch", epoch).field("is_admin", is_admin).field("member_of", member_of);
        shown.finish_non_exhaustive()
    }
}

/// What a privilege is granted on. A table is identified by its id, so a rename keeps its grants; schemas and views cannot be renamed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantObject {
    Store,
    Schema(String),
    Table(TableId),
    /// Namespace and name.
    View(String, String),
    /// A privilege on a group reaches what is below it.
    Group(TableId),
    Blob(TableId),
    Function(TableId),
}

/// The privileges of one principal on one object, in words that only the layer above knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    pub grantee: String,
    pub object: GrantObject,
    pub privileges: BTreeSet<String>,
}

impl CatalogReader {
    pub fn principals(&self) -> Result<Vec<PrincipalRecord>> {
        self.all(PRINCIPALS)
    }

    pub fn grants(&self) -> Result<Vec<GrantRecord>> {
        self.all(GRANTS)
    }

    /// The key with which the layer above signs tokens.
    pub fn token_key(&self) -> Result<Option<Vec<u8>>> {
        self.guarded(|| {
            let table = self.transaction.open_table(STORE).map_err(|error| self.error(error))?;
            let value = table.get(TOKEN_KEY).map_err(|error| self.error(error))?;
            Ok(value.map(|value| value.value().to_vec()))
        })
    }
}

/// A writer that does not know these rows would not remove the grants on what it drops, so they set a feature flag.
impl CatalogWriter {
    pub fn put_principal(&mut self, record: &PrincipalRecord) -> Result<()> {
        self.store.writer_features |= FEATURE_ACCESS;
        self.put(PRINCIPALS, record.name.as_str(), record)
    }

    pub fn remove_principal(&self, name: &str) -> Result<()> {
        let mut table = self.transaction.open_table(PRINCIPALS).map_err(|error| self.database.error(error))?;
        table.remove(name).map(|_| ()).map_err(|error| self.database.error(error))
    }

    pub fn put_grant(&mut self, record: &GrantRecord) -> Result<()> {
        let object = self.object_key(&record.object)?;
        self.store.writer_features |= FEATURE_ACCESS;
        if matches!(record.object, GrantObject::Group(_) | GrantObject::Blob(_)) {
            self.store.reader_features |= FEATURE_OBJECT_GRANTS;
        }
        self.put(GRANTS, (record.grantee.as_str(), object.as_str()), record)
    }

    pub fn remove_grant(&self, grantee: &str, object: &GrantObject) -> Result<()> {
        let object = self.object_key(object)?;
        let mut table = self.transaction.open_table(GRANTS).map_err(|error| self.database.error(error))?;
        table.remove((grantee, object.as_str())).map(|_| ()).map_err(|error| self.database.error(error))
    }

    /// The caller commits it with [`CatalogWriter::commit_unversioned`].
    pub fn put_token_key(&self, key: &[u8]) -> Result<()> {
        let mut table = self.transaction.open_table(STORE).map_err(|error| self.database.error(error))?;
        table.insert(TOKEN_KEY, key).map(|_| ()).map_err(|error| self.database.error(error))
    }

    fn object_key(&self, object: &GrantObject) -> Result<String> {
        serde_json::to_string(object).map_err(|error| self.database.error(error))
    }
}

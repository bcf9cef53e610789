//! Rechecks the privileges that a statement used to read, when its result is fetched later.

use std::sync::Arc;

use pmem_store::GrantObject;

use super::authorization::Authorization;
use super::identity::SessionAccess;
use common::error::EngineError;

#[derive(Debug, Clone)]
pub struct ReadRecheck {
    access: Arc<SessionAccess>,
    authorization: Arc<Authorization>,
}

impl ReadRecheck {
    /// `authorization` is that of the statement, which has recorded its reads.
    pub fn new(access: &Arc<SessionAccess>, authorization: Arc<Authorization>) -> ReadRecheck {
        ReadRecheck { access: Arc::clone(access), authorization }
    }

    /// An error if one of the privileges was revoked. For a table that was dropped since there are no grants any more, so its rows may be
    /// read to the end.
    pub fn check(&self) -> Result<(), EngineError> {
        let effective_privileges = self.access.effective_privileges()?;
        let now = self.access.store().snapshot()?;
        let is_there = |object: &GrantObject| match object {
            GrantObject::Table(id) => now.changed_version(*id).is_some(),
            GrantObject::View(schema, name) => !matches!(now.view(schema, name), Ok(None)),
            GrantObject::Schema(_) | GrantObject::Store | GrantObject::Group(_) | GrantObject::Blob(_) | GrantObject::Function(_) => true,
        };
        match self.authorization.reads().missing(&effective_privileges, is_there) {
            None => Ok(()),
            Some(missing) => Err(EngineError::Denied {
                message: format!("you may not read this result any more: it needs {missing}, which was revoked since it was planned"),
                hint: "ask an owner or an admin for it, and run the statement again".to_string(),
            }),
        }
    }
}

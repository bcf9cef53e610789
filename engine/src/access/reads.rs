//! What a statement was let read, to be asked about again where its result is fetched later.

use std::sync::Arc;

use pmem_store::GrantObject;

use super::identity::SessionAccess;
use super::permit::Permit;
use common::error::EngineError;

#[derive(Debug, Clone)]
pub struct Reads {
    access: Arc<SessionAccess>,
    permit: Arc<Permit>,
}

impl Reads {
    /// `permit` is that of the statement, which has noted what was read.
    pub fn new(access: &Arc<SessionAccess>, permit: Arc<Permit>) -> Reads {
        Reads { access: Arc::clone(access), permit }
    }

    /// An error where something of it was revoked. Who may read what was dropped since nobody says any more, so that it is read to its end.
    pub fn check(&self) -> Result<(), EngineError> {
        let rights = self.access.rights()?;
        let now = self.access.store().snapshot()?;
        let is_there = |object: &GrantObject| match object {
            GrantObject::Table(id) => now.changed_version(*id).is_some(),
            GrantObject::View(schema, name) => !matches!(now.view(schema, name), Ok(None)),
            GrantObject::Schema(_) | GrantObject::Store => true,
        };
        match self.permit.reads().missing(&rights, is_there) {
            None => Ok(()),
            Some(missing) => Err(EngineError::Denied {
                message: format!("you may not read this result any more: it needs {missing}, which was revoked since it was planned"),
                hint: "ask an owner or an admin for it, and run the statement again".to_string(),
            }),
        }
    }
}

//! What the engine is asked about users.

use std::sync::Arc;

use super::Engine;
use crate::access::{Identity, SessionAccess, fits, random_key};
use crate::session::Session;
use common::error::EngineError;

impl Engine {
    pub fn has_users(&self) -> bool {
        self.store().access().has_users()
    }

    /// The user of this name and password. Takes as long for one who is not there, some tens of milliseconds, and
    /// says the same: call it where blocking holds up nobody.
    pub fn login(&self, user: &str, password: &str) -> Result<Identity, EngineError> {
        let access = self.store().access();
        let record = access.principal(user);
        let is_right = fits(password, record.and_then(|record| record.password_hash.as_deref()));
        let identity = record.filter(|_| is_right).and_then(|record| Identity::of(record));
        identity.ok_or_else(|| EngineError::Unauthenticated { message: "the user name or the password is wrong".into() })
    }

    /// Leaves a row in `system.audit` for a login that was refused: the name that was said, where it came from, and
    /// why, in words without a password. At most one in 10 seconds for a name and 20 a minute for all: the next row
    /// says how many were left out.
    pub fn audit_refused_login(&self, user: &str, peer: &str, reason: &str) {
        self.shared.audit.0.refused_login(user, peer, reason);
    }

    /// The user as of now, for who was let in by something else than a password.
    pub fn identity(&self, user: &str) -> Option<Identity> {
        self.store().access().principal(user).and_then(|record| Identity::of(record))
    }

    /// What tokens are signed with: random bytes that stay as long as the store.
    pub fn token_key(&self) -> Result<[u8; 32], EngineError> {
        Ok(self.store().token_key(random_key)?)
    }

    /// A session that may do what the user may, and no more. That is looked up at each statement: what is revoked
    /// cannot be done from then on, and with a new password or without the user nothing can.
    pub fn session_as(&self, identity: &Identity) -> Result<Session, EngineError> {
        let access = SessionAccess::new(self.store(), identity)?;
        Session::new(Arc::clone(&self.shared), Some(Arc::new(access)))
    }
}

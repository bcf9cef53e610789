//! The engine's functions about users.

use std::sync::Arc;

use super::Engine;
use crate::session::Session;
use common::error::EngineError;
use table::access::{Identity, SessionAccess, fits, random_key};

impl Engine {
    pub fn has_users(&self) -> bool {
        self.store().access().has_users()
    }

    /// The user with this name and password. For an unknown user it takes equally long, some tens of milliseconds, and gives the same
    /// error. It blocks.
    pub fn login(&self, user: &str, password: &str) -> Result<Identity, EngineError> {
        let access = self.store().access();
        let record = access.principal(user);
        let is_right = fits(password, record.and_then(|record| record.password_hash.as_deref()));
        let identity = record.filter(|_| is_right).and_then(|record| Identity::of(record));
        identity.ok_or_else(|| EngineError::Unauthenticated { message: "the user name or the password is wrong".into() })
    }

    /// Records a refused login in `system.audit`: the claimed name, the peer, and the reason, in words without a password. Each name gets
    /// at most one row in 10 seconds, and all together 20 a minute: the next row says how many were left out.
    pub fn audit_refused_login(&self, user: &str, peer: &str, reason: &str) {
        self.shared.audit.0.refused_login(user, peer, reason);
    }

    /// The current state of the user, for logins without a password.
    pub fn identity(&self, user: &str) -> Option<Identity> {
        self.store().access().principal(user).and_then(|record| Identity::of(record))
    }

    /// The key that signs tokens: random bytes that stay the same for the lifetime of the store.
    pub fn token_key(&self) -> Result<[u8; 32], EngineError> {
        Ok(self.store().token_key(random_key)?)
    }

    /// A session with the rights of the user, which are looked up for each statement: a revoked privilege is gone from the next statement
    /// on, and after a change of password or a drop of the user everything is refused.
    pub fn session_as(&self, identity: &Identity) -> Result<Session, EngineError> {
        let access = SessionAccess::new(self.store(), identity)?;
        Session::new(Arc::clone(&self.shared), Some(Arc::new(access)))
    }
}

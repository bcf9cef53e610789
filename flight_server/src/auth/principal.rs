//! Whose a handle is: a user's, or anybody's where the server has no users.

use std::sync::Arc;

use engine::Identity;

/// With the epoch: another user of the same name, and the same one with a new password, owns nothing of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Principal(Option<(Arc<str>, u64)>);

impl Principal {
    pub fn of(identity: Option<&Identity>) -> Principal {
        Principal(identity.map(|identity| (identity.name().into(), identity.epoch())))
    }

    pub fn user(&self) -> Option<&str> {
        self.0.as_ref().map(|(user, _)| user.as_ref())
    }

    #[cfg(test)]
    pub fn named(user: &str) -> Principal {
        Principal(Some((user.into(), 1)))
    }
}

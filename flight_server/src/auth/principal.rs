//! The owner of a handle: a user, or anybody if the server has no users.

use std::sync::Arc;

use engine::Identity;

/// The epoch is part of it: a new user of the same name, or the same user with a new password, is another owner.
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

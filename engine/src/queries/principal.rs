//! The principal of a statement.

use std::sync::Arc;

/// Who runs a statement. The process itself is shown with the name of the operating system's user. It is distinct from every user who can
/// log in, even one with that name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    name: Arc<str>,
    is_process: bool,
}

impl Principal {
    pub fn user(name: &str) -> Principal {
        Principal { name: name.into(), is_process: false }
    }

    pub fn process(name: &str) -> Principal {
        Principal { name: name.into(), is_process: true }
    }

    /// For display.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub fn is_process(&self) -> bool {
        self.is_process
    }

    /// Whether it is the user of this name.
    pub fn is_user(&self, name: &str) -> bool {
        !self.is_process && *self.name == *name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_no_user_of_its_name() {
        let (process, user) = (Principal::process("ann"), Principal::user("ann"));
        assert_ne!(process, user);
        assert!(user.is_user("ann") && !user.is_user("bob") && !process.is_user("ann"));
        assert_eq!(process.name(), user.name());
    }
}

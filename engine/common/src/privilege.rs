//! What can be granted.

use std::fmt;

use pmem_store::{GrantObject, OWNERSHIP};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    Select,
    Insert,
    Update,
    Delete,
    Truncate,
    /// To make tables and views in a schema; schemas in the store.
    Create,
    /// To see a schema.
    Usage,
    /// To read and write files with the rights of the process.
    Files,
    /// All of the others, to change what it is, to drop it, and to grant on it.
    Ownership,
}

use Privilege::*;

const ALL: [Privilege; 9] = [Select, Insert, Update, Delete, Truncate, Create, Usage, Files, Ownership];

impl Privilege {
    /// As statements say it and the store keeps it.
    pub fn word(self) -> &'static str {
        match self {
            Select => "SELECT",
            Insert => "INSERT",
            Update => "UPDATE",
            Delete => "DELETE",
            Truncate => "TRUNCATE",
            Create => "CREATE",
            Usage => "USAGE",
            Files => "FILES",
            Ownership => OWNERSHIP,
        }
    }

    /// Whether something is changed with it.
    pub fn changes(self) -> bool {
        !matches!(self, Select | Usage | Files)
    }

    pub fn of_word(word: &str) -> Option<Privilege> {
        ALL.into_iter().find(|privilege| privilege.word().eq_ignore_ascii_case(word))
    }

    /// What makes sense on an object of this kind.
    pub fn on(object: &GrantObject) -> &'static [Privilege] {
        match object {
            GrantObject::Store => &[Create, Files],
            GrantObject::Schema(_) => &[Select, Insert, Update, Delete, Truncate, Create, Usage, Ownership],
            GrantObject::Table(_) => &[Select, Insert, Update, Delete, Truncate, Ownership],
            GrantObject::View(..) => &[Select, Ownership],
        }
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A set of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Privileges(u16);

impl Privileges {
    pub const NONE: Privileges = Privileges(0);
    pub const EVERY: Privileges = Privileges(u16::MAX);

    /// Of words of the store; one that only later versions know gives nothing.
    pub fn of_words<'a>(words: impl IntoIterator<Item = &'a String>) -> Privileges {
        words.into_iter().filter_map(|word| Privilege::of_word(word)).fold(Privileges::NONE, Privileges::with)
    }

    pub fn with(self, privilege: Privilege) -> Privileges {
        Privileges(self.0 | 1 << privilege as u16)
    }

    pub fn and(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }

    /// Who owns something may do everything with it.
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & (1 << privilege as u16 | 1 << Ownership as u16) != 0
    }

    /// Of those of a schema what is about the tables in it.
    pub fn for_tables(self) -> Privileges {
        self.among(&[Select, Insert, Update, Delete, Truncate, Ownership])
    }

    /// The same for views, which can only be read.
    pub fn for_views(self) -> Privileges {
        self.among(&[Select, Ownership])
    }

    fn among(self, privileges: &[Privilege]) -> Privileges {
        Privileges(self.0 & privileges.iter().copied().fold(Privileges::NONE, Privileges::with).0)
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

//! Privileges that can be granted.

use std::fmt;

use pmem_store::{GrantObject, OWNERSHIP};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    Select,
    Insert,
    Update,
    Delete,
    Truncate,
    /// To create tables and views in a schema, or schemas in the store.
    Create,
    /// To call a function.
    Execute,
    /// To see a schema.
    Usage,
    /// To read and write files with the rights of the process.
    Files,
    /// All of the others, and the right to alter the object, to drop it, and to grant privileges on it.
    Ownership,
    /// To create functions in Python.
    CreatePython,
}

use Privilege::*;

const ALL: [Privilege; 11] = [Select, Insert, Update, Delete, Truncate, Create, Execute, Usage, Files, Ownership, CreatePython];

impl Privilege {
    /// The word in statements and in the store.
    pub fn word(self) -> &'static str {
        match self {
            Select => "SELECT",
            Insert => "INSERT",
            Update => "UPDATE",
            Delete => "DELETE",
            Truncate => "TRUNCATE",
            Create => "CREATE",
            Execute => "EXECUTE",
            Usage => "USAGE",
            Files => "FILES",
            CreatePython => "CREATE FUNCTION (PYTHON)",
            Ownership => OWNERSHIP,
        }
    }

    /// Whether the privilege allows changes.
    pub fn changes(self) -> bool {
        !matches!(self, Select | Execute | Usage | Files)
    }

    pub fn of_word(word: &str) -> Option<Privilege> {
        ALL.into_iter().find(|privilege| privilege.word().eq_ignore_ascii_case(word))
    }

    /// The privileges that apply to an object of this kind.
    pub fn on(object: &GrantObject) -> &'static [Privilege] {
        match object {
            GrantObject::Store => &[Create, Files, CreatePython],
            GrantObject::Schema(_) => &[Select, Insert, Update, Delete, Truncate, Create, Execute, Usage, Ownership],
            GrantObject::Table(_) => &[Select, Insert, Update, Delete, Truncate, Ownership],
            GrantObject::View(..) | GrantObject::Group(_) | GrantObject::Blob(_) => &[Select, Ownership],
            GrantObject::Function(_) => &[Execute, Ownership],
        }
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A set of privileges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Privileges(u16);

impl Privileges {
    pub const NONE: Privileges = Privileges(0);
    pub const EVERY: Privileges = Privileges(u16::MAX);

    /// Parses the words of the store; a word that only later versions know grants nothing.
    pub fn of_words<'a>(words: impl IntoIterator<Item = &'a String>) -> Privileges {
        words.into_iter().filter_map(|word| Privilege::of_word(word)).fold(Privileges::NONE, Privileges::with)
    }

    pub fn with(self, privilege: Privilege) -> Privileges {
        Privileges(self.0 | 1 << privilege as u16)
    }

    pub fn and(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }

    /// The owner of an object has every privilege on it.
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & (1 << privilege as u16 | 1 << Ownership as u16) != 0
    }

    /// Those privileges on a schema that apply to the tables in it.
    pub fn for_tables(self) -> Privileges {
        self.among(&[Select, Insert, Update, Delete, Truncate, Ownership])
    }

    /// The same for views, which can only be read.
    pub fn for_views(self) -> Privileges {
        self.among(&[Select, Ownership])
    }

    /// The same for groups, blobs and functions.
    pub fn for_objects(self, is_function: bool) -> Privileges {
        if is_function { self.among(&[Execute, Ownership]) } else { self.for_views() }
    }

    fn among(self, privileges: &[Privilege]) -> Privileges {
        Privileges(self.0 & privileges.iter().copied().fold(Privileges::NONE, Privileges::with).0)
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

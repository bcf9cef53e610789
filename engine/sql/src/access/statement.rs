//! The parsed statements.

use std::fmt;

use datafusion::common::TableReference;

use crate::objects::ObjectName;
use common::privilege::Privilege;

#[derive(Debug)]
pub enum AccessStatement {
    CreateUser {
        name: String,
        password: Secret,
        is_admin: bool,
        if_not_exists: bool,
    },
    AlterUser {
        name: String,
        change: UserChange,
    },
    DropUser {
        name: String,
        if_exists: bool,
    },
    CreateRole {
        name: String,
        if_not_exists: bool,
    },
    DropRole {
        name: String,
        if_exists: bool,
    },
    GrantRoles {
        roles: Vec<String>,
        to: Vec<String>,
    },
    RevokeRoles {
        roles: Vec<String>,
        from: Vec<String>,
    },
    Grant {
        privileges: GrantedPrivileges,
        on: GrantTarget,
        to: Vec<String>,
    },
    Revoke {
        privileges: GrantedPrivileges,
        on: GrantTarget,
        from: Vec<String>,
    },
    /// `None` for the grants of the current user.
    ShowGrants {
        of: Option<String>,
    },
}

/// A password in a statement. It never appears in a log or an error.
#[derive(Clone)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[derive(Debug)]
pub enum UserChange {
    Password(Secret),
    Admin(bool),
}

#[derive(Debug)]
pub enum GrantedPrivileges {
    /// All except ownership and the right to files.
    All,
    These(Vec<Privilege>),
}

#[derive(Debug)]
pub enum GrantTarget {
    Store,
    Schema(String),
    /// A table or a view.
    Table(TableReference),
    /// A group or blob.
    Object(ObjectName),
}

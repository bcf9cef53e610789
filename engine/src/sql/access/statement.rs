//! What the statements say.

use arrow::datatypes::SchemaRef;
use datafusion::common::TableReference;

use crate::access::{Privilege, Secret};
use crate::system::grants_batch;

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
        privileges: Wanted,
        on: On,
        to: Vec<String>,
    },
    Revoke {
        privileges: Wanted,
        on: On,
        from: Vec<String>,
    },
    /// None: those of who asks.
    ShowGrants {
        of: Option<String>,
    },
}

impl AccessStatement {
    /// The columns of the rows that it gives; None where it gives none.
    pub fn result_schema(&self) -> Option<SchemaRef> {
        match self {
            AccessStatement::ShowGrants { .. } => grants_batch(&[]).ok().map(|rows| rows.schema()),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub enum UserChange {
    Password(Secret),
    Admin(bool),
}

#[derive(Debug)]
pub enum Wanted {
    /// But ownership, and the right to files.
    All,
    These(Vec<Privilege>),
}

#[derive(Debug)]
pub enum On {
    Store,
    Schema(String),
    /// Or a view.
    Table(TableReference),
}

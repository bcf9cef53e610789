//! Names of tables and versions, in records and in errors.

use serde::{Deserialize, Serialize};

use crate::DEFAULT_NAMESPACE;

pub type TableId = u64;

/// The namespace of tables that the store and the layers above it keep for themselves.
pub const SYSTEM_NAMESPACE: &str = "system";

/// A version with a name: it stays readable until the name is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSnapshot {
    pub name: String,
    pub version: u64,
    pub created_at_ms: u64,
}

/// A table or view as errors name it: with its schema, unless that is the schema of unqualified names.
pub fn said_name(namespace: &str, name: &str) -> String {
    if namespace == DEFAULT_NAMESPACE { name.to_string() } else { format!("{namespace}.{name}") }
}

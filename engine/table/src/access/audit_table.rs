//! The table of the audit, which users can only read.

use common::error::EngineError;
use common::names::SYSTEM;

pub const AUDIT_TABLE: &str = "audit";

/// An error if this is the table of the audit: it records what was done, and nobody else may write to it.
pub fn check_not_audit(namespace: &str, name: &str) -> Result<(), EngineError> {
    match namespace == SYSTEM && name == AUDIT_TABLE {
        true => Err(EngineError::unsupported(
            "changing system.audit",
            Some("it can only be read; ALTER SYSTEM SET audit_retention says how long its rows stay"),
        )),
        false => Ok(()),
    }
}

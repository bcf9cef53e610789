//! What is said beside a plan: the version and the segments that it is about.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One plan serves many readers who each have a share of a table: the shares are told here, and the version so that all of them
/// are shares of the same rows. Nothing said: everything, as of now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Binding {
    /// Of the store, as in `FOR VERSION AS OF`. None: what the session sees now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// By `schema.table`: the ids, as in `system.segments`, of the segments and logs whose rows are read. A table that is not
    /// named is read whole; one that is named and not read by the plan is an error.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub segments: BTreeMap<String, Vec<u64>>,
}

impl Binding {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.version.is_none() && self.segments.is_empty()
    }
}

//! The version and the segments that a plan is bound to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One plan serves many readers, each with a share of a table. The binding has the segments of the share, and the version, so that all
/// shares are of the same rows. An empty binding means all rows, as of now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Binding {
    /// A version of the store, as in `FOR VERSION AS OF`. `None`: what the session sees now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// By `schema.table`: the ids, as in `system.segments`, of the segments and logs to read. A table that is not named is read whole; a
    /// named table that the plan does not read is an error.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub segments: BTreeMap<String, Vec<u64>>,
}

impl Binding {
    /// Whether the binding says nothing.
    pub fn is_empty(&self) -> bool {
        self.version.is_none() && self.segments.is_empty()
    }
}

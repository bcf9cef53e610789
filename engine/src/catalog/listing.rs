//! Lists of tables.

use crate::system;
use common::names::SYSTEM;

/// A line of `\d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableListing {
    pub schema: String,
    pub name: String,
    /// `table`, `view` or `external`
    pub kind: String,
    pub rows: Option<u64>,
    pub size_bytes: Option<u64>,
}

/// The tables of the schema `system`, which are listed only on request.
pub fn system_listing() -> Vec<TableListing> {
    let listing =
        |name: &str| TableListing { schema: SYSTEM.into(), name: name.into(), kind: "system".into(), rows: None, size_bytes: None };
    system::table_names().map(listing).collect()
}

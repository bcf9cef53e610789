//! The list of the system tables.

use super::provider::table_names;
use common::names::SYSTEM;
use table::catalog::TableListing;

/// The tables of the schema `system`, which are listed only on request.
pub fn system_listing() -> Vec<TableListing> {
    let listing =
        |name: &str| TableListing { schema: SYSTEM.into(), name: name.into(), kind: "system".into(), rows: None, size_bytes: None };
    table_names().map(listing).collect()
}

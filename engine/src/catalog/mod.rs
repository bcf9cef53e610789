//! The store's tables and views as DataFusion sees them.

mod information_schema;
mod listing;
mod namespaces;
pub(crate) mod past_table;
mod private_tables;
mod provider;
mod pruned_table;
mod referenced_columns;
mod remote;
mod schema;
mod stored_name;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod view_planner;

pub(crate) use self::table::{StoreTable, check_writable, not_writable, not_writable_view};
pub use listing::TableListing;
pub(crate) use listing::system_listing;
pub(crate) use private_tables::{PrivateTable, SCHEMA, register_private};
pub(crate) use provider::{CatalogHandle, StoreCatalog};
pub(crate) use pruned_table::{plan_with_referenced_columns, plan_with_whole_tables, prune_table};
pub(crate) use referenced_columns::constraint_of;
pub(crate) use remote::{is_of_node, is_remote};
pub(crate) use stored_name::resolve;
pub(crate) use view::external_provider;
pub(crate) use view_planner::ViewPlanner;

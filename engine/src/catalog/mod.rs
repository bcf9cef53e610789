//! The store's tables and views as DataFusion sees them.

mod information_schema;
mod named;
mod narrow;
pub(crate) mod past_table;
mod provider;
mod remote;
mod schema;
mod session_tables;
mod statistics;
mod table;
mod unseen;
mod view;
mod volatile;
mod zones;

pub(crate) use information_schema::INFORMATION_SCHEMA;
pub(crate) use named::constraint_of;
pub(crate) use narrow::{by_names, narrowed, with_whole_tables};
pub use provider::TableListing;
pub(crate) use provider::{CatalogHandle, StoreCatalog};
pub use remote::RemoteTables;
pub(crate) use remote::{is_of_node, is_remote};
pub(crate) use session_tables::tables_of;
pub(crate) use statistics::StatisticsCache;
pub(crate) use table::{StoreTable, check_writable, not_writable, not_writable_view};
pub(crate) use unseen::names_unseen;
pub(crate) use view::{EXTERNAL, VIEW, external_provider, planning};
pub(crate) use volatile::{Gathering, VOLATILE, VolatileRows, VolatileTables};
pub(crate) use zones::{plan_in_zone, schema_in_zone};

//! The store's tables and views as DataFusion sees them.

mod arrays;
mod context;
mod file_tables;
mod function_signatures;
mod information_schema;
mod listing;
mod namespaces;
pub mod past_table;
mod provider;
mod pruned_table;
mod python_functions;
mod referenced_columns;
mod remote;
mod routines;
mod schema;
mod statement_tables;
mod stored_name;
mod table;
mod user_functions;
mod view;
mod view_planner;

pub use self::table::{StoreTable, no_table_to_write, not_writable_view};
pub use arrays::{check_no_array, lengths_of_array, not_writable_array};
pub use context::CatalogContext;
pub use file_tables::file_readers;
pub use function_signatures::{check_arguments, statement_of};
pub use listing::TableListing;
pub use provider::{CatalogHandle, StoreCatalog, not_for_temporary};
pub use pruned_table::prune_table;
pub use referenced_columns::constraint_of;
pub use remote::{is_of_node, is_remote};
pub use statement_tables::{PRIVATE_SCHEMA, PrivateTable, StatementTables};
pub use stored_name::resolve;
pub use user_functions::{UserFunction, check_code, inline_definition, is_built_in, module_bytes};
pub use view::external_provider;
pub use view_planner::ViewPlanner;

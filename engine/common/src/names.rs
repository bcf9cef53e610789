//! Names that several layers use.

pub use pmem_store::DEFAULT_NAMESPACE;

/// The only catalog.
pub const CATALOG: &str = "quiver";
/// The schema of the system tables.
pub const SYSTEM: &str = "system";
/// The schema of temporary tables.
pub const TEMP: &str = "temp";
/// The schema that SQL defines for metadata of tables and columns.
pub const INFORMATION_SCHEMA: &str = "information_schema";
/// The name of the table function, also in errors.
pub const KMEANS: &str = "kmeans";
/// The function for `x = ANY (list)` while the type of the list is unknown.
pub const ANY_EQUALS: &str = "any_equals";

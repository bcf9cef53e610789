//! Names that several layers use.

pub use pmem_store::DEFAULT_NAMESPACE;
/// The schema of the system tables.
pub use pmem_store::SYSTEM_NAMESPACE as SYSTEM;
pub use pmem_store::objects::ObjectKind;

/// The only catalog.
pub const CATALOG: &str = "quiver";
/// A role that all users have and that has no record. Privileges granted to it are granted to all users.
pub const PUBLIC: &str = "public";
/// The schema of temporary tables.
pub const TEMP: &str = "temp";
/// The schema that SQL defines for metadata of tables and columns.
pub const INFORMATION_SCHEMA: &str = "information_schema";
/// The relation that has the parameters of a function as columns, while its body is planned.
pub const FUNCTION_PARAMETERS: &str = "__parameters";
/// The name of the table function, also in errors.
pub const KMEANS: &str = "kmeans";
/// The function for `x = ANY (list)` while the type of the list is unknown.
pub const ANY_EQUALS: &str = "any_equals";

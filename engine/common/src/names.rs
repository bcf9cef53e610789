//! Names that several layers know.

pub use pmem_store::DEFAULT_NAMESPACE;

/// The one catalog.
pub const CATALOG: &str = "quiver";
/// The schema of what the engine says of itself.
pub const SYSTEM: &str = "system";
/// The schema of the tables of one session.
pub const TEMP: &str = "temp";
/// The schema of what SQL says about tables and columns.
pub const INFORMATION_SCHEMA: &str = "information_schema";
/// The table function, in errors too.
pub const KMEANS: &str = "kmeans";
/// `x = ANY (list)` where the list has no type before it has a value.
pub const ANY_EQUALS: &str = "any_equals";

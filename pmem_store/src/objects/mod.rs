//! Objects: what a store knows of everything in it that has a name, beside the rows of its tables.
//!
//! An object is a table, a view, a group, a blob or a function, and has an id that never changes; all ids come from one sequence. Groups, blobs and functions are
//! rows of one table of the store, `system.objects`. A table or view has a row there once it has an attribute, a comment or a group; its
//! name stays in the catalog. The bytes of blobs, and the definitions of functions, are rows of another table, `system.blobs`. So the versions, transactions, checksums, compaction and backups of objects are those of tables.
//!
//! Invariant: this folder alone knows the columns of these tables.

mod blobs;
mod catalog;
mod predicate;
mod properties;
mod put;
mod record;
mod rows;
mod search;
mod stored_bytes;
mod table;
mod versions;

pub use blobs::{Blobs, SlowBlobs};
pub use catalog::ObjectCatalog;
pub use predicate::{Comparison, Predicate, PropertyKey, compare};
pub use record::{ObjectId, ObjectKind, ObjectRecord};
pub use stored_bytes::{FileRange, StoredBytes};
pub use table::{Objects, ObjectsStamp};

/// The tables are in the namespace `system`, whose tables statements cannot change.
pub const OBJECTS_TABLE: &str = "objects";
pub const BLOBS_TABLE: &str = "blobs";

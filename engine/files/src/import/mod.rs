//! Reads foreign files into record batches: Parquet, CSV, JSON and Arrow IPC.
//!
//! A file passes through these modules:
//!
//! 1. `paths` turns what the user typed (file, glob, directory) into a list of files;
//! 2. `detect` finds the format of each file, by content before name ([`source`]);
//! 3. `csv`, `json`, `parquet` and `arrow_ipc` each infer a schema and later yield batches;
//! 4. `merge` makes one schema of all of them, `target` maps it to a declared one;
//! 5. `conform` casts every batch to exactly that schema: no dictionaries, strings as `Utf8View`, and no value that is
//!    invalid for its type;
//! 6. [`FileScan`] is the entry to all of it: `engine/src/ingest` puts its rows into a table, and a query reads them through its
//!    [`FileSource`].
//!
//! **Invariants.** Memory is bounded by a batch and a read buffer, whatever the size of the file.
//! No input bytes can panic the caller: third-party readers run inside `guard`. No value is
//! dropped or changed silently: what does not fit is an error with file, place, column and value,
//! or (with [`OnError::Skip`]) a counted skipped row. The user's page is `docs/import.md`.

mod arrow_ipc;
pub mod conform;
mod csv;
mod detect;
mod encoding;
mod guard;
mod infer;
mod ipc_bounds;
mod json;
mod leaf;
mod merge;
mod options;
mod parquet;
mod paths;
mod progress;
pub mod rows;
mod scan;
mod source;
pub mod target;
mod window;
mod zip_members;

pub use common::error::import::{BadRow, ImportError, RowPosition};
pub use common::file_format::FileFormat;
pub use conform::{check_type, valid};
pub use encoding::Encoding;
pub use guard::{guarded, silence_guarded_panics};
pub use ipc_bounds::foreign_form;
pub use options::{CsvOptions, OnError, ReadOptions};
pub use paths::{check_path, check_paths};
pub use progress::ImportProgress;
pub use scan::{Batches, FileScan, FileSource};

/// Rows of the batches made by the text readers: a few zones of 8,192 rows.
pub const BATCH_ROWS: usize = 32_768;

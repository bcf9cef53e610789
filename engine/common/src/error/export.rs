//! Why an export failed, each as one sentence.

use std::io;
use std::path::{Path, PathBuf};

use crate::file_format::FileFormat;

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("cannot tell the format of {} by its name: end it in .parquet, .csv, .json or .arrow (.csv and .json also with .gz or .zst), or give a format", path.display())]
    UnknownSuffix { path: PathBuf },
    #[error("{} asks for a compressed {format} file, but only CSV and JSON can be compressed as a whole: leave out the suffix", path.display())]
    CannotCompress { path: PathBuf, format: FileFormat },
    #[error("{} would be a zip archive, which Quiver only reads: use .gz or .zst", path.display())]
    Zip { path: PathBuf },
    #[error("{} is a directory: name a file in it", path.display())]
    IsDirectory { path: PathBuf },
    #[error("column {column:?} is {data_type}, which {format} cannot hold: {hint}")]
    UnsupportedType { column: String, data_type: String, format: FileFormat, hint: &'static str },
    #[error("cannot create {}: {}", path.display(), reason(path, source))]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot write {name} as {format}: {reason}; nothing was left behind")]
    Write { name: String, format: FileFormat, reason: String },
    /// The rows could not be produced; writing did not fail.
    #[error("{0}")]
    Source(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a file cannot be made at `path`, without the number of the system's error where the directory is the cause.
fn reason(path: &Path, source: &io::Error) -> String {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match source.kind() {
        io::ErrorKind::NotFound if !directory.exists() => format!("there is no directory {}", directory.display()),
        io::ErrorKind::PermissionDenied => format!("no permission to write in the directory {}", directory.display()),
        _ => source.to_string(),
    }
}

//! Errors of files: each is one sentence that names the file and says what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::file_format::FileFormat;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("no file was given: name a file, a glob or a directory")]
    NoPaths,
    #[error("there is no file {}: check the path (relative paths start at {})", path.display(), cwd())]
    NotFound { path: PathBuf },
    #[error("{url} is a remote address: Quiver reads local files, download it first")]
    Remote { url: String },
    #[error("no file matches {pattern:?}: check the pattern (relative ones start at {})", cwd())]
    NoMatch { pattern: String },
    #[error("{pattern:?} is not a valid glob pattern: {reason}")]
    BadPattern { pattern: String, reason: String },
    #[error("no permission to read {}: ask its owner, or check the rights with `ls -l`", path.display())]
    Permission { path: PathBuf },
    #[error("{} is in none of the directories whose files a statement may use here", path.display())]
    Elsewhere { path: PathBuf },
    #[error("{} is not a regular file (it is {what}): copy its content to a file first", path.display())]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("directory {} holds no Parquet, CSV, JSON or Arrow file (files whose names begin with . or _ are left out)", path.display())]
    NothingReadable { path: PathBuf },
    #[error("{file} is empty: it has neither rows nor a header")]
    Empty { file: String },
    #[error(
        "cannot tell what {file} is: its content looks like {found}; say so with a format (parquet, csv, json, arrow) if it is one of these"
    )]
    UnknownFormat { file: String, found: String },
    #[error("{file} claims to be {claimed} but is {found}; {hint}")]
    NotWhatItSays { file: String, claimed: String, found: String, hint: String },
    #[error("{file}: {what}")]
    Unsupported { file: String, what: String },
    #[error("{file} is damaged or cut short and cannot be read as {format}: {reason}")]
    Damaged { file: String, format: FileFormat, reason: String },
    /// A fault of the reader, and not of the file.
    #[error("internal error: {file} was not read: {reason}; please report it")]
    Internal { file: String, reason: String },
    #[error("{file} cannot be read: {reason}")]
    Form { file: String, reason: String },
    #[error("cannot read {file}: {source}")]
    Io { file: String, source: io::Error },
    #[error("{0}")]
    BadRow(Box<BadRow>),
    #[error(
        "column {column:?} is {left} in {left_file} but {right} in {right_file}: import them one by one, or into a table that declares the type"
    )]
    SchemaConflict { column: String, left_file: String, left: String, right_file: String, right: String },
    #[error("{file} does not fit the table: {}", describe_mismatch(missing, extra))]
    SchemaMismatch { file: String, missing: Vec<String>, extra: Vec<String> },
    #[error(
        "{file} has the column {column:?} more than once: names are compared without regard to case, so rename all but one, or leave them out"
    )]
    ColumnTwice { file: String, column: String },
    #[error(
        "{file} has {found} columns without names, the table has {expected}: they are matched by position, so the numbers must be equal"
    )]
    ColumnCount { file: String, found: usize, expected: usize },
    #[error("there is no column {column:?} to have that type: {hint}")]
    NoColumn { column: String, hint: String },
    #[error("column {column:?} of {file} is {from}, which cannot become {to}")]
    CannotConvert { file: String, column: String, from: String, to: String },
}

/// The position of a row in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPosition {
    /// Physical line, from 1.
    Line(u64),
    /// Row, from 1, in a format without lines.
    Row(u64),
}

impl fmt::Display for RowPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowPosition::Line(line) => write!(f, "line {line}"),
            RowPosition::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// One row that cannot be read: `flights.csv, line 17, column "year": "abc" is not a BIGINT; …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    pub file: String,
    pub place: RowPosition,
    pub column: Option<String>,
    pub problem: String,
    pub hint: &'static str,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.file, self.place)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column:?}")?;
        }
        write!(f, ": {}; {}", self.problem, self.hint)
    }
}

pub const IS_NULL: &str = "it is NULL, which the column does not allow";
pub const HINT_SKIP: &str = "mend the row, or leave out such rows with ignore_errors = true (quiver import: --on-error skip)";
pub const HINT_TYPE: &str =
    "give the column another type, or leave out such rows with ignore_errors = true (quiver import: --on-error skip)";

impl ImportError {
    /// An I/O error when opening or listing `path`, in plain words.
    pub fn from_io(path: &Path, source: io::Error) -> ImportError {
        match source.kind() {
            io::ErrorKind::NotFound => ImportError::NotFound { path: path.to_owned() },
            io::ErrorKind::PermissionDenied => ImportError::Permission { path: path.to_owned() },
            _ => ImportError::Io { file: path.display().to_string(), source },
        }
    }

    /// An I/O error while reading: decoders report damage as `InvalidData` or `UnexpectedEof`.
    pub fn reading(file: &str, format: FileFormat, source: io::Error) -> ImportError {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                ImportError::Damaged { file: file.to_owned(), format, reason: "it ends too early; fetch it again".to_owned() }
            }
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                ImportError::Damaged { file: file.to_owned(), format, reason: source.to_string() }
            }
            _ => ImportError::Io { file: file.to_owned(), source },
        }
    }
}

impl From<BadRow> for ImportError {
    fn from(row: BadRow) -> Self {
        ImportError::BadRow(Box::new(row))
    }
}

fn cwd() -> String {
    std::env::current_dir().map_or_else(|_| ".".to_owned(), |dir| dir.display().to_string())
}

fn describe_mismatch(missing: &[String], extra: &[String]) -> String {
    let list = |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let mut parts = Vec::new();
    if !missing.is_empty() {
        parts.push(format!("it lacks {}, which cannot be NULL", list(missing)));
    }
    if !extra.is_empty() {
        parts.push(format!("the table has no column {}", list(extra)));
    }
    parts.join(", and ")
}

/// A value for an error message: quoted, on one line, and shortened.
pub fn quote_value(value: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    if value.chars().count() <= SHOWN_CHARS {
        return format!("{value:?}");
    }
    let head: String = value.chars().take(SHOWN_CHARS).collect();
    format!("{head:?}…")
}

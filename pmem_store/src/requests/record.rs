//! Names and bytes of the files in `requests`. Each is one JSON object.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{BackupRequest, Request};
use crate::backup_report::BackupReport;

pub const REQUESTS_DIR: &str = "requests";
const FORMAT: u32 = 1;
const BACKUP: &str = "backup";
const LEASE: &str = "lease";
/// The limit for any file; the longest path takes a third of it.
pub const SIZE_BYTES_MAX: u64 = 64 << 10;

/// The files of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestFile {
    Request,
    /// A request while it is written.
    New,
    Taken,
    Done,
    /// The catalog of a lease. It is complete when the answer is there.
    Catalog,
    /// A file of the holder while it is written. If another process sees it, its writer was killed.
    Unfinished,
}

impl RequestFile {
    const ALL: [RequestFile; 6] =
        [RequestFile::Request, RequestFile::New, RequestFile::Taken, RequestFile::Done, RequestFile::Catalog, RequestFile::Unfinished];

    fn suffix(self) -> &'static str {
        match self {
            RequestFile::Request => ".json",
            RequestFile::New => ".new",
            RequestFile::Taken => ".taken",
            RequestFile::Done => ".done",
            RequestFile::Catalog => ".catalog",
            RequestFile::Unfinished => ".unfinished",
        }
    }

    pub fn path(self, dir: &Path, id: &str) -> PathBuf {
        dir.join(format!("{id}{}", self.suffix()))
    }
}

/// `None` for a file that Quiver has not made. Ids are numbers with hyphens between them; the first is the time,
/// with leading zeros, so that the oldest comes first in the order of names.
pub fn parse_name(name: &str) -> Option<(&str, RequestFile)> {
    let end = name.find(|sign: char| !sign.is_ascii_digit() && sign != '-')?;
    let (id, suffix) = name.split_at(end);
    let kind = RequestFile::ALL.into_iter().find(|kind| kind.suffix() == suffix)?;
    (!id.is_empty()).then_some((id, kind))
}

#[derive(Serialize, Deserialize)]
struct RequestRecord {
    format: u32,
    request: String,
    /// Of a backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<PathBuf>,
    #[serde(default)]
    copies: bool,
    /// For people only; the lock shows whether the client waits.
    pid: u32,
}

pub fn encode(request: &Request) -> io::Result<Vec<u8>> {
    let (request, to, copies) = match request {
        Request::Backup(BackupRequest { to, copies }) => (BACKUP, Some(to.clone()), *copies),
        Request::Lease => (LEASE, None, false),
    };
    let record = RequestRecord { format: FORMAT, request: request.to_string(), to, copies, pid: std::process::id() };
    Ok(serde_json::to_vec(&record)?)
}

/// Decodes the request in a file, or returns a sentence that says why there is none.
pub fn decode(path: &Path) -> Result<Request, String> {
    let not_ours = |what: String| format!("the request \"{}\" cannot be understood: {what}", path.display());
    let bytes = read(path).map_err(|error| not_ours(error.to_string()))?;
    // Only the fields that are read here are expected of a later format.
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let Format { format } = serde_json::from_slice(&bytes).map_err(|error| not_ours(error.to_string()))?;
    if format > FORMAT {
        return Err(format!("the request has format {format}, and the process that has the store open knows formats up to {FORMAT}"));
    }
    let record: RequestRecord = serde_json::from_slice(&bytes).map_err(|error| not_ours(error.to_string()))?;
    match (record.request.as_str(), record.to) {
        (LEASE, _) => Ok(Request::Lease),
        (BACKUP, Some(to)) if to.is_absolute() => Ok(Request::Backup(BackupRequest { to, copies: record.copies })),
        (BACKUP, Some(to)) => Err(not_ours(format!("\"{}\" is not an absolute path", to.display()))),
        (BACKUP, None) => Err(not_ours("a backup needs a directory".to_string())),
        (other, _) => Err(not_ours(format!("there is no request \"{other}\""))),
    }
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Done(BackupReport),
    /// The version that the client may read.
    Lease {
        version: u64,
    },
    /// The error message.
    Failed(String),
}

pub fn read_record<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&read(path)?)?)
}

/// It does not follow a link and does not wait for a pipe, because Quiver creates neither.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(invalid("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(SIZE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > SIZE_BYTES_MAX {
        true => Err(invalid("it is too large")),
        false => Ok(bytes),
    }
}

//! Hand-off of single values: chunks of an array, and blobs, as ranges of bytes in files, under a lease that keeps the files.
//!
//! ```json
//! {"lease": "7f…", "expires_ms": 300000, "version": 41, "object_id": 7, "cell_type": "REAL", "chunk": [64, 64],
//!  "files": [{"file": "/stores/mine/segments/3/12.arrow", "size_bytes": 1048576}],
//!  "ranges": [{"file": 0, "offset": 576, "length": 16384}, {}, null]}
//! ```

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use engine::{EngineError, HandOff, Session, StoredBytes};
use flight_wire::{BlobsCommand, ChunksCommand};
use serde::Serialize;
use tonic::{Code, Status};

use super::lease::{Leases, hold, utf8_path};
use crate::error::status;
use crate::sessions::{CallContext, Connection};

#[derive(Serialize)]
struct ValueLease {
    lease: String,
    expires_ms: u64,
    version: u64,
    /// Of an array.
    #[serde(flatten)]
    cells: Option<CellLayout>,
    files: Vec<FileInfo>,
    /// For each requested value; `None` if there is no such blob, or the chunk was never written.
    ranges: Vec<Option<RangeInfo>>,
}

#[derive(Serialize)]
struct CellLayout {
    object_id: u64,
    cell_type: String,
    chunk: Vec<u64>,
}

#[derive(Serialize)]
struct FileInfo {
    file: String,
    size_bytes: u64,
}

/// Without any field if no file has the bytes, and a query must read them.
#[derive(Default, Serialize)]
struct RangeInfo {
    /// The index of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
}

/// Reads values of a version that the connection holds from now on.
async fn read_in_lease<T>(connection: &Connection, read: impl FnOnce(&Session) -> Result<T, EngineError>) -> Result<(HandOff, T), Status> {
    let turn = connection.turn().await?;
    hold(&turn).await?;
    let files = turn.session().hand_off();
    Ok((files, read(turn.session()).map_err(status)?))
}

impl Leases {
    pub async fn lease_chunks(&self, caller: &CallContext, connection: Arc<Connection>, command: &ChunksCommand) -> Result<Bytes, Status> {
        let read = |session: &Session| session.read_chunks(&command.schema, &command.array, &command.chunks);
        let (files, found) = read_in_lease(&connection, read).await?;
        let cells = Some(CellLayout { object_id: found.object_id, cell_type: found.cell_type, chunk: found.chunk });
        self.lease_values(caller, connection, files, (found.version, cells, found.cells))
    }

    pub async fn lease_blobs(&self, caller: &CallContext, connection: Arc<Connection>, command: &BlobsCommand) -> Result<Bytes, Status> {
        let read = |session: &Session| session.read_blobs(&command.schema, &command.names());
        let (files, (version, found)) = read_in_lease(&connection, read).await?;
        let found: HashMap<String, StoredBytes> = found.into_iter().collect();
        let values = command.blobs.iter().map(|name| found.get(name).cloned()).collect();
        self.lease_values(caller, connection, files, (version, None, values))
    }

    fn lease_values(
        &self,
        caller: &CallContext,
        connection: Arc<Connection>,
        hand_off: HandOff,
        (version, cells, values): (u64, Option<CellLayout>, Vec<Option<StoredBytes>>),
    ) -> Result<Bytes, Status> {
        let mut files: Vec<FileInfo> = Vec::new();
        let mut indexes: HashMap<PathBuf, usize> = HashMap::new();
        let mut ranges = Vec::with_capacity(values.len());
        for value in values {
            let Some(value) = value else {
                ranges.push(None);
                continue;
            };
            let Some(range) = value.file_range() else {
                ranges.push(Some(RangeInfo::default()));
                continue;
            };
            let file = match indexes.get(&range.path) {
                Some(index) => *index,
                None => {
                    files.push(FileInfo { file: utf8_path(&range.path)?.to_string(), size_bytes: range.size_bytes });
                    indexes.insert(range.path, files.len() - 1);
                    files.len() - 1
                }
            };
            ranges.push(Some(RangeInfo { file: Some(file), offset: Some(range.offset), length: Some(range.length) }));
        }
        let handle = self.keep(caller, connection, Some(hand_off))?;
        let lease = String::from_utf8_lossy(&handle).into_owned();
        let info = ValueLease { lease, expires_ms: self.expires_ms(), version, cells, files, ranges };
        serde_json::to_vec(&info).map(Bytes::from).map_err(|error| Status::new(Code::Internal, error.to_string()))
    }
}

//! The values that a client wants to map: chunks of an array, or blobs.

use std::collections::HashSet;

use serde::Deserialize;
use tonic::Status;

use crate::table_command::{default_schema, parse};

/// `{"schema": "main", "array": "temp", "chunks": [[0, 0], [0, 1]]}`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunksCommand {
    #[serde(default = "default_schema")]
    pub schema: String,
    pub array: String,
    /// The number of each chunk along each dimension.
    pub chunks: Vec<Vec<i64>>,
}

/// `{"schema": "main", "blobs": ["a", "b"]}`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlobsCommand {
    #[serde(default = "default_schema")]
    pub schema: String,
    pub blobs: Vec<String>,
}

impl ChunksCommand {
    pub fn of_json(json: &[u8]) -> Result<ChunksCommand, Status> {
        parse(json)
    }
}

impl BlobsCommand {
    pub fn of_json(json: &[u8]) -> Result<BlobsCommand, Status> {
        parse(json)
    }

    pub fn names(&self) -> HashSet<&str> {
        self.blobs.iter().map(String::as_str).collect()
    }
}

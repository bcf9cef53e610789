//! Headers by which a client chooses the form of results.

use arrow_ipc::CompressionType;
use arrow_ipc::writer::IpcWriteOptions;
use flight_wire::{BRIEF, COMPRESSION, JDBC_TYPES, VIEW_TYPES, WireTypes};
use tonic::Status;
use tonic::metadata::MetadataMap;

use crate::error::arrow_status;

/// The JDBC driver identifies itself only by the name of its library.
const JAVA: &str = "grpc-java";

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClientOptions {
    pub types: WireTypes,
    compression: Option<CompressionType>,
}

impl ClientOptions {
    pub fn of(headers: &MetadataMap) -> Result<ClientOptions, Status> {
        let views = flag(headers, VIEW_TYPES)?.unwrap_or(false);
        let jdbc = flag(headers, JDBC_TYPES)?.unwrap_or_else(|| is_java(headers));
        let brief = flag(headers, BRIEF)?.unwrap_or(false);
        let compression = match text(headers, COMPRESSION)? {
            None | Some("none") => None,
            Some("lz4") => Some(CompressionType::LZ4_FRAME),
            Some("zstd") => Some(CompressionType::ZSTD),
            Some(other) => return Err(refused(COMPRESSION, other, "lz4, zstd or none")),
        };
        Ok(ClientOptions { types: WireTypes { views, jdbc, brief }, compression })
    }

    /// These options, with the types of `before`.
    pub fn with_types_of(self, before: ClientOptions) -> ClientOptions {
        ClientOptions { types: before.types, ..self }
    }

    pub fn write_options(self) -> Result<IpcWriteOptions, Status> {
        IpcWriteOptions::default().try_with_compression(self.compression).map_err(arrow_status)
    }
}

fn is_java(headers: &MetadataMap) -> bool {
    headers.get("user-agent").and_then(|agent| agent.to_str().ok()).is_some_and(|agent| agent.contains(JAVA))
}

fn flag(headers: &MetadataMap, name: &str) -> Result<Option<bool>, Status> {
    match text(headers, name)? {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(other) => Err(refused(name, other, "true or false")),
    }
}

fn text<'a>(headers: &'a MetadataMap, name: &str) -> Result<Option<&'a str>, Status> {
    let value = headers.get(name).map(|value| value.to_str());
    value.transpose().map_err(|_| Status::invalid_argument(format!("the header {name} is not plain ASCII text")))
}

fn refused(name: &str, value: &str, choices: &str) -> Status {
    let value: String = value.chars().take(40).collect();
    Status::invalid_argument(format!("the header {name} is \"{value}\"; it may be {choices}"))
}

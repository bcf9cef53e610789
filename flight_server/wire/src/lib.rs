//! The code that the client and the server share: the wire formats of rows, errors, commands and reports.
//!
//! - [`rows`] — batches in the types that a client reads, split to the size of messages
//! - [`decode`] — decodes messages after [`check`] has compared every length with the received bytes; [`guard`] turns a panic into an error
//! - [`headers`] — names of headers, [`binding`] one of them; [`session_messages`] messages that `arrow-flight` does not have
//! - [`table_command`] — a table by path or JSON, [`table_metadata`] what its description says beside the columns;
//!   [`value_commands`] chunks of an array, and blobs
//! - [`report`] — the report of a query, as JSON; [`error_details`] the parts of an error, in a trailer

mod binding;
mod check;
mod decode;
mod error_details;
mod guard;
mod headers;
mod report;
mod rows;
pub mod session_messages;
mod table_command;
mod table_metadata;
mod value_commands;

pub use binding::{PLAN_BINDING, binding, binding_header};
pub use check::{check, too_many_bytes};
pub use decode::{decoded, foreign_status};
pub use error_details::{ErrorDetails, SESSION_ENDED, place};
pub use guard::guarded;
pub use headers::{BRIEF, COMPRESSION, COOKIE, JDBC_TYPES, VIEW_TYPES};
pub use report::{brief_report_json, ended_json, progress_json, report_json, report_of_json};
pub use rows::{
    MESSAGE_BYTES, Origin, WireTypes, annotated, batch_bytes, for_wire, parameter_schema, pieces, pieces_of, to_wire, wire_schema,
    without_views,
};
pub use table_command::{DEFAULT_SCHEMA, PutCommand, TableCommand, check_name, is_json, quoted};
pub use table_metadata::TableMetadata;
pub use value_commands::{BlobsCommand, ChunksCommand};

/// The default port of a server.
pub const DEFAULT_PORT: u16 = 31337;

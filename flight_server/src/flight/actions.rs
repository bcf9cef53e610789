//! DoAction without SQL: maintenance of tables, leases, and statistics of the server.

use bytes::Bytes;
use flight_wire::{TableCommand, is_json, quoted};
use tonic::Status;

use crate::error::status_in;
use crate::sessions::Connection;

/// Name and description.
pub const ACTIONS: [(&str, &str); 11] = [
    ("checkpoint", "Makes everything committed durable and seals the logs of small writes.\nRequest: empty\nResponse: none"),
    ("compact", "Compacts a table.\nRequest: the name of the table, or JSON {\"schema\": …, \"table\": …}\nResponse: none"),
    (
        "lease",
        "A table as files to map, for clients of this machine.\nRequest: the name of the table, or JSON as in a ticket\nResponse: JSON, and the schema",
    ),
    (
        "lease_chunks",
        "Chunks of an array as ranges of files to map.\nRequest: JSON {\"schema\": …, \"array\": …, \"chunks\": [[0, 0], …]}\nResponse: JSON",
    ),
    ("lease_blobs", "Blobs as ranges of files to map.\nRequest: JSON {\"schema\": …, \"blobs\": [\"a\", …]}\nResponse: JSON"),
    ("renew_lease", "Makes a lease last from now.\nRequest: the lease\nResponse: none"),
    ("release_lease", "Ends a lease; what it held may be removed.\nRequest: the lease\nResponse: none"),
    (
        "progress",
        "How far a statement of yours is.\nRequest: the ticket of its result, or empty for the last one of the session\nResponse: JSON, or none if it does not run",
    ),
    ("cancel_call", "Ends a call of yours, which is rolled back.\nRequest: the name that its header x-quiver-call has\nResponse: none"),
    ("stats", "What the server has open.\nRequest: empty\nResponse: JSON"),
    ("substrait_plan", "The Substrait plan of a query.\nRequest: JSON {\"sql\": …}\nResponse: substrait.Plan"),
];

/// No name of a table is that long.
const NAME_BYTES_MAX: usize = 1 << 20;

/// `stats`, `progress`, `cancel_call` and `substrait_plan` are answered by the service.
pub async fn act(connection: &Connection, name: &str, body: &Bytes) -> Result<(), Status> {
    let sql = match name {
        "checkpoint" => "CHECKPOINT".to_string(),
        "compact" => {
            let command = table(body)?;
            format!("OPTIMIZE TABLE {}.{}", quoted(&command.schema), quoted(&command.table))
        }
        other => {
            let other: String = other.chars().take(60).collect();
            return Err(Status::unimplemented(format!("there is no action \"{other}\"; ListActions lists those there are")));
        }
    };
    connection.turn().await?.run(&sql).await.map_err(|error| status_in(error, &sql))
}

/// The table of a lease, and whether the client decodes columns that are stored in other types.
pub fn leased_table(body: &Bytes) -> Result<(TableCommand, bool), Status> {
    if is_json(body) { TableCommand::of_lease(body) } else { Ok((table(body)?, false)) }
}

/// The body of an action about a table.
fn table(body: &Bytes) -> Result<TableCommand, Status> {
    if is_json(body) {
        return TableCommand::of_json(body);
    }
    match std::str::from_utf8(body) {
        Ok(name) if !name.is_empty() && name.len() <= NAME_BYTES_MAX => TableCommand::of_path(&[name.to_string()]),
        _ => Err(Status::invalid_argument("the body of the action is to be the name of a table, or JSON")),
    }
}

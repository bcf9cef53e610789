//! Tables of other nodes: `CREATE EXTERNAL TABLE … STORED AS QUIVER`.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::sql::parser::CreateExternalTable;

use crate::remote_tables::RemoteTables;
use common::engine_settings::Pushdown;
use common::error::EngineError;

/// The format of remote tables in CREATE EXTERNAL TABLE.
const STORED_AS: &str = "QUIVER";
const SCHEMES: [&str; 2] = ["quiver", "quiver+tls"];

/// Whether the statement declares a table of another node.
pub fn is_remote(table: &CreateExternalTable) -> bool {
    table.file_type.eq_ignore_ascii_case(STORED_AS)
}

/// Whether the location is on another node.
pub fn is_of_node(scheme: &str) -> bool {
    SCHEMES.iter().any(|other| scheme.eq_ignore_ascii_case(other))
}

/// An error if the statement declares something that only the node can know.
pub fn check_remote(table: &CreateExternalTable) -> Result<(), EngineError> {
    let refuse = |what: &str, hint: &str| Err(EngineError::unsupported(what, Some(hint)));
    if !table.columns.is_empty() {
        return refuse("a list of columns of a table of another node", "leave it out: the node says what columns there are");
    }
    if !table.table_partition_cols.is_empty() || !table.order_exprs.is_empty() || !table.options.is_empty() {
        return refuse("PARTITIONED BY, WITH ORDER and OPTIONS of a table of another node", "leave them out");
    }
    match table.locations.as_slice() {
        [location] if location.split_once("://").is_some_and(|(scheme, _)| is_of_node(scheme)) => Ok(()),
        [_] => refuse(
            "this location of a table STORED AS QUIVER",
            "write LOCATION 'quiver://host:port/schema.table', or quiver+tls:// with TLS",
        ),
        _ => refuse("a table of several nodes", "name one table of one node"),
    }
}

pub async fn remote_provider(
    remote: Option<&Arc<dyn RemoteTables>>,
    table: &CreateExternalTable,
    pushdown: Pushdown,
) -> Result<Arc<dyn TableProvider>, EngineError> {
    check_remote(table)?;
    match (remote, table.locations.first()) {
        (Some(remote), Some(location)) => remote.open(location, pushdown).await,
        _ => Err(EngineError::unsupported(
            "reading tables of other nodes from a server",
            Some("open the store with the shell or the Python package, or ask the other node itself"),
        )),
    }
}

//! Rows that a client sends, in one commit: CommandStatementIngest, and DoPut to a path.

use std::sync::Arc;

use arrow_flight::sql::{CommandStatementIngest, TableExistsOption, TableNotExistOption};
use engine::EngineError;
use flight_wire::check_name;
use futures::StreamExt;
use parking_lot::Mutex;
use tonic::Status;

use crate::error::status;
use crate::sessions::{CATALOG, Connection};
use crate::stream::Batches;
use engine::import::{IfExists, IfMissing, IngestTarget};

/// The target table of CommandStatementIngest.
pub fn target(command: &CommandStatementIngest) -> Result<IngestTarget, Status> {
    check_name(&command.table)?;
    if command.temporary {
        return Err(Status::unimplemented(
            "there are no temporary tables; ingest into a table, and drop it when it is not needed any more",
        ));
    }
    if let Some(catalog) = command.catalog.as_deref().filter(|catalog| !catalog.is_empty() && *catalog != CATALOG) {
        return Err(Status::not_found(format!("there is no catalog \"{catalog}\"; the only one is \"{CATALOG}\"")));
    }
    if let Some(option) = command.options.keys().min() {
        return Err(Status::invalid_argument(format!("there is no option \"{option}\" for ingesting; leave it out")));
    }
    let unclear = || Status::invalid_argument("the ingest does not say what to do about the table; set if_not_exist and if_exists");
    let options = command.table_definition_options.as_ref().ok_or_else(unclear)?;
    let if_missing = match TableNotExistOption::try_from(options.if_not_exist) {
        Ok(TableNotExistOption::Create) => IfMissing::Create,
        Ok(TableNotExistOption::Fail) => IfMissing::Fail,
        _ => return Err(unclear()),
    };
    let if_exists = match TableExistsOption::try_from(options.if_exists) {
        Ok(TableExistsOption::Fail) => IfExists::Fail,
        Ok(TableExistsOption::Append) => IfExists::Append,
        Ok(TableExistsOption::Replace) => IfExists::Replace,
        _ => return Err(unclear()),
    };
    let schema = command.schema.clone().filter(|schema| !schema.is_empty());
    Ok(IngestTarget { schema, table: command.table.clone(), if_missing, if_exists })
}

/// Returns the number of rows. A stream that breaks off leaves nothing behind.
pub async fn ingest(connection: &Connection, target: IngestTarget, batches: Option<Batches>) -> Result<u64, Status> {
    let batches = batches.ok_or_else(|| Status::invalid_argument("no schema came with the rows; send it first"))?;
    let schema = batches.schema();
    // The error of the stream, with its own message and code.
    let broken = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&broken);
    let rows = batches.map(move |batch| {
        batch.map_err(|error| {
            let message = error.message().to_string();
            *noted.lock() = Some(error);
            EngineError::Execution { message, hint: None }
        })
    });
    let turn = connection.turn().await?;
    let done = turn.session().ingest(target, schema, rows).await;
    let broken = broken.lock().take();
    match (done, broken) {
        (_, Some(error)) => Err(error),
        (done, None) => done.map_err(status),
    }
}

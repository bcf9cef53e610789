//! Runs a prepared statement that changes rows for each row of its parameters: all of the runs take effect, or none.

use arrow::array::RecordBatch;
use engine::StatementKind;
use tonic::Status;

use super::{BoundRows, Prepared};
use crate::error::{status, status_in};
use crate::sessions::{CallContext, SessionLock, Sessions};
use crate::sql::statements::{Statement, Values, run_in};
use crate::sql::transactions::TransactionScope;

/// Runs it with the rows of the call, or else with those that were bound before. Returns the number of changed rows.
pub async fn update(
    prepared: &Prepared,
    received: Option<BoundRows>,
    sessions: &Sessions,
    caller: &CallContext,
    beside: TransactionScope<'_>,
) -> Result<i64, Status> {
    let is_given = received.is_some();
    let rows = received.map_or_else(|| prepared.bound(), |received| received.rows);
    let turn = prepared.connection.turn_of_prepared().await?;
    match rows.as_slice() {
        // Without rows of parameters there is nothing to do, unless the statement has no parameters.
        [] if is_given && !prepared.parameters.fields().is_empty() => Ok(0),
        [] => run_in(&turn, &prepared.statement, None, beside).await,
        [batch] if batch.num_rows() == 1 => run_in(&turn, &prepared.statement, Some(Values { batch, row: 0 }), beside).await,
        _ if prepared.kind != StatementKind::Write => Err(Status::invalid_argument(
            "several rows of parameters were given, and only a statement that changes rows takes more than one; run it for one at a time",
        )),
        many if turn.session().is_in_transaction() => run_all(&turn, &prepared.statement, many).await,
        many => {
            // If it is dropped early, because of an error or because the client left, it rolls back.
            let transaction = sessions.transaction(caller)?;
            let turn = transaction.turn().await?;
            let changed = run_all(&turn, &prepared.statement, many).await?;
            turn.run("COMMIT").await.map_err(status)?;
            Ok(changed)
        }
    }
}

async fn run_all(turn: &SessionLock<'_>, statement: &Statement, batches: &[RecordBatch]) -> Result<i64, Status> {
    let Statement::Sql(sql) = statement else { return Err(Status::internal("a plan changes no rows; please report it")) };
    let mut changed = 0i64;
    for batch in batches {
        let rows = turn.session().execute_rows(sql, batch).await.map_err(|error| status_in(error, sql))?;
        changed = changed.saturating_add_unsigned(rows);
    }
    Ok(changed)
}

//! Statements of clients, which run once, and the results that wait to be fetched.

mod outcome;
mod statement;
mod tickets;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use engine::{QueryOutput, StatementKind};
use futures::StreamExt;
use tonic::Status;

use crate::error::status;
use crate::sessions::{Connection, SessionLock};
use crate::sql::transactions::TransactionScope;

pub use outcome::{Done, Started};
pub use statement::{Statement, Values, plan_of};
pub use tickets::{TicketInfo, Tickets};

/// Whether the text is a KILL statement.
pub fn is_kill(sql: &str) -> bool {
    let first = sql.split_whitespace().next();
    first.is_some_and(|word| word.eq_ignore_ascii_case("KILL"))
}

/// Plans a query; runs everything else, once.
pub async fn start(
    connection: &Connection,
    statement: &Statement,
    values: Option<Values<'_>>,
    beside: TransactionScope<'_>,
) -> Result<Started, Status> {
    let turn = connection.turn().await?;
    start_in(&turn, statement, values, beside).await
}

pub async fn start_in(
    turn: &SessionLock<'_>,
    statement: &Statement,
    values: Option<Values<'_>>,
    beside: TransactionScope<'_>,
) -> Result<Started, Status> {
    let output = begin(turn, statement, values, beside).await?;
    match output.kind() {
        StatementKind::Query => Ok(Started::Query(output)),
        _ => {
            // A statement about transactions has taken effect when it has started.
            let is_in_transaction = turn.session().is_in_transaction();
            finish(output, is_in_transaction).await.map(Started::Done)
        }
    }
}

/// Runs a statement to its end. Returns the number of rows it changed, 0 if it changes none, or -1 for a query.
pub async fn run(
    connection: &Connection,
    statement: &Statement,
    values: Option<Values<'_>>,
    beside: TransactionScope<'_>,
) -> Result<i64, Status> {
    let turn = connection.turn().await?;
    run_in(&turn, statement, values, beside).await
}

pub async fn run_in(
    turn: &SessionLock<'_>,
    statement: &Statement,
    values: Option<Values<'_>>,
    beside: TransactionScope<'_>,
) -> Result<i64, Status> {
    let mut output = begin(turn, statement, values, beside).await?;
    if output.kind() != StatementKind::Query {
        let is_in_transaction = turn.session().is_in_transaction();
        return finish(output, is_in_transaction).await.map(|done| done.rows);
    }
    // EXPLAIN ANALYZE and OPTIMIZE have effects, although they return rows like queries.
    while let Some(batch) = output.next().await {
        batch.map_err(status)?;
    }
    Ok(-1)
}

async fn begin(
    turn: &SessionLock<'_>,
    statement: &Statement,
    values: Option<Values<'_>>,
    beside: TransactionScope<'_>,
) -> Result<QueryOutput, Status> {
    let was_in_transaction = turn.session().is_in_transaction();
    let output = statement.begin(turn, values).await?;
    // The kind of a statement is known after parsing, and no other statement has used the session since.
    if !was_in_transaction
        && turn.session().is_in_transaction()
        && let Err(refused) = beside.check()
    {
        turn.run("ROLLBACK").await.map_err(status)?;
        return Err(refused);
    }
    Ok(output)
}

async fn finish(output: QueryOutput, is_in_transaction: bool) -> Result<Done, Status> {
    let kind = output.kind();
    let (batches, report) = output.collect().await.map_err(status)?;
    let rows = if kind == StatementKind::Write { batches.iter().map(count).sum() } else { 0 };
    Ok(Done { kind, rows, report, is_in_transaction })
}

/// The number in the one row that a write returns.
fn count(batch: &RecordBatch) -> i64 {
    let counts = batch.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    counts.map_or(0, |counts| counts.values().iter().map(|count| i64::try_from(*count).unwrap_or(i64::MAX)).sum())
}

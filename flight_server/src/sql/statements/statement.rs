//! What a client asks to be run: SQL, or a plan of Substrait.

use arrow::array::RecordBatch;
use arrow_flight::sql::SubstraitPlan;
use bytes::Bytes;
use engine::{Binding, Description, QueryOutput};
use substrait_plans::PlanError;
use tonic::Status;

use crate::error::{status, status_in};
use crate::sessions::SessionLock;

/// Of the result, for each byte of a plan, beside what it is for SQL: a number takes a few bytes in a plan, and many words in SQL.
const PLAN_BYTES_PER_BYTE: usize = 8;

/// A row of bound parameters.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub batch: &'a RecordBatch,
    pub row: usize,
}

pub enum Statement {
    Sql(String),
    /// As it came, and what it is about.
    Plan {
        plan: Bytes,
        binding: Binding,
    },
}

impl Statement {
    /// The version that stands beside a plan is not looked at: the plan says its own.
    pub fn of_plan(plan: Option<SubstraitPlan>, binding: &Binding) -> Result<Statement, Status> {
        let plan = plan.ok_or_else(|| Status::invalid_argument("the command has no plan; put a substrait.Plan into it"))?;
        Ok(Statement::Plan { plan: plan.plan, binding: binding.clone() })
    }

    /// What it takes to keep it.
    pub fn bytes(&self) -> usize {
        match self {
            Statement::Sql(sql) => sql.len(),
            Statement::Plan { plan, .. } => plan.len(),
        }
    }

    /// As long as a statement of SQL whose plan takes as much.
    pub fn words_bytes(&self) -> usize {
        match self {
            Statement::Sql(sql) => sql.len(),
            Statement::Plan { plan, .. } => plan.len().saturating_mul(PLAN_BYTES_PER_BYTE),
        }
    }

    /// What it takes and gives; it does not run.
    pub async fn describe(&self, turn: &SessionLock<'_>) -> Result<Description, Status> {
        match self {
            Statement::Sql(sql) => turn.session().describe_to_run(sql).await.map_err(|error| status_in(error, sql)),
            Statement::Plan { plan, binding } => substrait_plans::describe(turn.session(), plan, binding).await.map_err(plan_status),
        }
    }

    pub(super) async fn begin(&self, turn: &SessionLock<'_>, values: Option<Values<'_>>) -> Result<QueryOutput, Status> {
        match (self, values) {
            (Statement::Sql(sql), None) => turn.execute(sql).await,
            (Statement::Sql(sql), Some(Values { batch, row })) => {
                let output = turn.session().execute_with(sql, batch, row).await.map_err(|error| status_in(error, sql))?;
                turn.settle(&output, None)?;
                Ok(output)
            }
            // It reads, and so there is nothing to settle.
            (Statement::Plan { plan, binding }, None) => substrait_plans::run(turn.session(), plan, binding).await.map_err(plan_status),
            (Statement::Plan { plan, binding }, Some(Values { batch, row })) => {
                substrait_plans::run_with(turn.session(), plan, binding, batch, row).await.map_err(plan_status)
            }
        }
    }
}

pub fn plan_status(error: PlanError) -> Status {
    status(error.into())
}

/// The plan of a query, as a client may send it back.
pub async fn plan_of(turn: &SessionLock<'_>, sql: &str) -> Result<Bytes, Status> {
    let plan = substrait_plans::from_sql(turn.session(), sql).await.map_err(|error| status_in(error.into(), sql))?;
    Ok(plan.into())
}

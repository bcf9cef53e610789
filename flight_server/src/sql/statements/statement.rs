//! A statement of a client: SQL, or a Substrait plan.

use arrow::array::RecordBatch;
use arrow_flight::sql::SubstraitPlan;
use bytes::Bytes;
use engine::{Binding, Description, QueryOutput};
use substrait_plans::PlanError;
use tonic::Status;

use crate::error::{status, status_in};
use crate::sessions::SessionLock;

/// The factor between the size of a Substrait plan and that of SQL with the same cost: a plan is more compact than SQL.
const PLAN_BYTES_PER_BYTE: usize = 8;

/// One row of bound parameters.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub batch: &'a RecordBatch,
    pub row: usize,
}

pub enum Statement {
    Sql(String),
    /// The plan as it was sent, and the objects that it refers to.
    Plan {
        plan: Bytes,
        binding: Binding,
    },
}

impl Statement {
    /// The version field of the command is ignored, because the plan has its own.
    pub fn of_plan(plan: Option<SubstraitPlan>, binding: &Binding) -> Result<Statement, Status> {
        let plan = plan.ok_or_else(|| Status::invalid_argument("the command has no plan; put a substrait.Plan into it"))?;
        Ok(Statement::Plan { plan: plan.plan, binding: binding.clone() })
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> usize {
        match self {
            Statement::Sql(sql) => sql.len(),
            Statement::Plan { plan, .. } => plan.len(),
        }
    }

    /// The length of an SQL statement whose plan takes as much memory.
    pub fn words_bytes(&self) -> usize {
        match self {
            Statement::Sql(sql) => sql.len(),
            Statement::Plan { plan, .. } => plan.len().saturating_mul(PLAN_BYTES_PER_BYTE),
        }
    }

    /// Describes its parameters and its result, without running it.
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
            // A plan only reads, so there is nothing to settle.
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

/// The Substrait plan of a query, which a client may send back.
pub async fn plan_of(turn: &SessionLock<'_>, sql: &str) -> Result<Bytes, Status> {
    let plan = substrait_plans::from_sql(turn.session(), sql).await.map_err(|error| status_in(error.into(), sql))?;
    Ok(plan.into())
}

//! EXCEPT ALL and INTERSECT ALL: the counts of copies decide how often a row occurs.
//!
//! The copies of a row are numbered on both sides, so that a row with its number is unique. EXCEPT ALL of m and n copies keeps those
//! numbered n + 1 to m; INTERSECT ALL keeps those numbered up to the smaller count.

use datafusion::common::Result as DfResult;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, WindowFrame, WindowFunctionDefinition};

use super::project::pick;
use super::set::semi_or_anti_join;
use crate::consumer::column_names::{Columns, column};
use crate::consumer::consume::Consumer;

pub fn minus(consumer: &Consumer<'_>, rows: LogicalPlan, others: LogicalPlan) -> DfResult<LogicalPlan> {
    let width = rows.schema().fields().len();
    let rows = semi_or_anti_join(numbered(consumer, rows)?, numbered(consumer, others)?, JoinType::LeftAnti, consumer)?;
    without_numbers(consumer, rows, width)
}

pub fn intersect(consumer: &Consumer<'_>, rows: LogicalPlan, others: Vec<LogicalPlan>) -> DfResult<LogicalPlan> {
    let width = rows.schema().fields().len();
    let mut rows = numbered(consumer, rows)?;
    for other in others {
        rows = semi_or_anti_join(rows, numbered(consumer, other)?, JoinType::LeftSemi, consumer)?;
    }
    without_numbers(consumer, rows, width)
}

/// Adds a column with the number of the copy: 1 for the first copy of a row, 2 for the second.
fn numbered(consumer: &Consumer<'_>, plan: LogicalPlan) -> DfResult<LogicalPlan> {
    let width = plan.schema().fields().len();
    let mut columns = Columns::new(consumer);
    let mut partition_by = Vec::with_capacity(width);
    for index in 0..width {
        columns.pass(plan.schema(), index)?;
        partition_by.push(column(plan.schema(), index)?);
    }
    let number = Expr::WindowFunction(Box::new(WindowFunction {
        fun: WindowFunctionDefinition::WindowUDF(consumer.state().udwf("row_number")?),
        params: WindowFunctionParams {
            args: Vec::new(),
            partition_by,
            order_by: Vec::new(),
            window_frame: WindowFrame::new(None),
            filter: None,
            null_treatment: None,
            distinct: false,
        },
    }));
    columns.push(number.clone());
    columns.over(LogicalPlanBuilder::window_plan(plan, [number])?)
}

fn without_numbers(consumer: &Consumer<'_>, plan: LogicalPlan, width: usize) -> DfResult<LogicalPlan> {
    pick(consumer, plan, &(0..width).collect::<Vec<_>>())
}

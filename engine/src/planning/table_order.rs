//! Lets the rows of one small table come in its order.
//!
//! SQL promises none without ORDER BY, but people look at a file that they have imported, and expect its first row first. A second thread
//! saves little time there, unless its expressions are expensive.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;

use semantics::cancel::may_be_expensive;
use table::scan::StoreScan;

/// One thread reads this many rows in some milliseconds.
const ROWS_MAX: usize = 1 << 19;

#[derive(Debug, Default)]
pub struct TableOrder;

impl PhysicalOptimizerRule for TableOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(in_order(&plan)?.unwrap_or(plan))
    }

    fn name(&self) -> &str {
        "table_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan in one partition; `None` if it is more than a cheap scan of one small table.
fn in_order(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(exec) = plan.downcast_ref::<DataSourceExec>() {
        let scan = exec.data_source().downcast_ref::<StoreScan>().and_then(|scan| scan.in_order(ROWS_MAX, is_cheap));
        return Ok(scan.map(|scan| DataSourceExec::from_data_source(scan) as Arc<dyn ExecutionPlan>));
    }
    let children = plan.children();
    let ([input], true) = (children.as_slice(), keeps_order(plan)) else { return Ok(None) };
    let Some(input) = in_order(input)? else { return Ok(None) };
    match plan.is::<RepartitionExec>() {
        true => Ok(Some(input)),
        false => replace_children_if_necessary(Arc::clone(plan), vec![input]).map(Some),
    }
}

/// Whether rows of one partition stay in their order, and take little time. A repartition is left out.
fn keeps_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let schema = projection.input().schema();
        return projection.expr().iter().all(|column| is_cheap(&column.expr, &schema));
    }
    if let Some(repartition) = plan.downcast_ref::<RepartitionExec>() {
        return matches!(repartition.partitioning(), Partitioning::RoundRobinBatch(_));
    }
    let is_limit = plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>();
    is_limit || plan.is::<CooperativeExec>() || plan.is::<CoalescePartitionsExec>()
}

fn is_cheap(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    !may_be_expensive(expr, schema)
}

//! Lets a scan skip the rows of an OFFSET without reading them.
//!
//! Only if the scan returns every row of the table in one partition, so that the rows per zone are known. LIMIT has already made it one
//! partition.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;

use crate::scan::StoreScan;
use common::engine_settings::switches;

#[derive(Debug, Default)]
pub struct SkipRows;

impl PhysicalOptimizerRule for SkipRows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).skip_rows {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let Some(limit) = node.downcast_ref::<GlobalLimitExec>() else { return Ok(Transformed::no(node)) };
            let (skip, Some(fetch)) = (limit.skip(), limit.fetch()) else { return Ok(Transformed::no(node)) };
            Ok(match skipping(limit.input(), skip, fetch)? {
                Some(input) => Transformed::yes(input),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "skip_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan without its first `skip` rows and with at most `fetch` rows; `None` if it does not begin with a scan that can skip.
fn skipping(plan: &Arc<dyn ExecutionPlan>, skip: usize, fetch: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let passes_on = plan.is::<ProjectionExec>() || plan.is::<CooperativeExec>();
    if let ([input], true) = (plan.children().as_slice(), passes_on) {
        let input = skipping(input, skip, fetch)?;
        return input.map(|input| replace_children_if_necessary(Arc::clone(plan), vec![input])).transpose();
    }
    let scan = plan.downcast_ref::<DataSourceExec>().and_then(|exec| exec.data_source().downcast_ref::<StoreScan>());
    let scan = scan.and_then(|scan| scan.skipping(skip, fetch));
    Ok(scan.map(|scan| DataSourceExec::from_data_source(scan) as Arc<dyn ExecutionPlan>))
}

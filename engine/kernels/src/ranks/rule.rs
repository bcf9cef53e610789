//! Finds windows that only rank their rows.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use super::exec::{RankExec, Ranks};
use super::kind::{is_same_rank, kind_of};
use common::engine_settings::switches;

/// Counts ranks in one pass over sorted rows, where a window computes nothing else. It comes after the rules that look for windows.
#[derive(Debug, Default)]
pub struct RankWindows;

impl PhysicalOptimizerRule for RankWindows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).rank_windows {
            return Ok(plan);
        }
        plan.transform_up(|node| match node.downcast_ref::<BoundedWindowAggExec>().and_then(ranks_of) {
            Some(ranks) => Ok(Transformed::yes(Arc::new(RankExec::in_place_of(node, ranks)) as Arc<dyn ExecutionPlan>)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "rank_windows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `None` if the window has other functions, or several orders, or if its rows are not sorted.
fn ranks_of(window: &BoundedWindowAggExec) -> Option<Ranks> {
    let functions = window.window_expr();
    let first = functions.first()?;
    let schema = window.schema();
    let is_bigint = |function: usize| *schema.field(schema.fields().len() - functions.len() + function).data_type() == DataType::Int64;
    let is_sorted = matches!(window.input_order_mode, InputOrderMode::Sorted);
    if !is_sorted || !(0..functions.len()).all(is_bigint) || !functions.iter().all(|function| is_same_rank(function, first)) {
        return None;
    }
    let order: Vec<Arc<dyn PhysicalExpr>> = first.order_by().iter().map(|key| Arc::clone(&key.expr)).collect();
    Some(Ranks { kinds: functions.iter().filter_map(kind_of).collect(), groups: first.partition_by().to_vec(), order })
}

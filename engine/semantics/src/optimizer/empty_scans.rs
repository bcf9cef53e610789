//! A scan whose condition is false has no rows.
//!
//! DataFusion drops a filter that is always false. A branch of a UNION that says `'store' AS channel` has `'store' = 'web'` only when the
//! condition was pushed into it, down to a scan by then (datafusion-optimizer 55.2, eliminate_filter.rs): all of the branch was run for nothing.
//! As with such a filter, nobody asks then whether the user may read the table.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::logical_plan::EmptyRelation;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::eliminate_filter::EliminateFilter;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};

/// Our rule, if this is DataFusion's that drops filters.
pub fn in_place_of_eliminating(rule: Rule) -> Rule {
    around(rule, &[&EliminateFilter::new()], without_empty_scan)
}

fn without_empty_scan(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let is_never = |filter: &Expr| matches!(filter, Expr::Literal(ScalarValue::Boolean(None | Some(false)), _));
    match plan {
        LogicalPlan::TableScan(scan) if scan.filters.iter().any(is_never) => {
            let schema = Arc::clone(&scan.projected_schema);
            Ok(Transformed::yes(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema })))
        }
        plan => theirs.rewrite(plan, config),
    }
}

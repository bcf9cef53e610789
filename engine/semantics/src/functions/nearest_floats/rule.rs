//! Finds the casts of decimals to floats in plans.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::casts::{may_want_floats, nearest_float_cast, wanted_floats};
use crate::functions::keep_names::map_under_names;

/// For conditions that had columns of an outer query when [`with_nearest_floats`] first saw them.
#[derive(Debug)]
pub struct NearestFloatsOfSubqueries;

impl OptimizerRule for NearestFloatsOfSubqueries {
    fn name(&self) -> &str {
        "nearest_floats_of_subqueries"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        with_nearest_floats(plan)
    }
}

/// Rewrites one node. A filter with columns of an outer query keeps its casts of columns for now, and so does a projection above it:
/// DataFusion makes joins only of conditions on columns and casts of columns, and treats a cast with the same look as the same.
pub fn with_nearest_floats(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut may_have = false;
    plan.apply_expressions(|expr| {
        may_have = may_have || expr.exists(|part| Ok(may_want_floats(part)))?;
        Ok(if may_have { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !may_have {
        return Ok(Transformed::no(plan));
    }
    let is_correlated = matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Projection(_)) && !plan.all_out_ref_exprs().is_empty();
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    map_under_names(plan, |expr| {
        expr.transform_up(|expr| match is_correlated && may_want_floats(&expr) && expr.any_column_refs() {
            true => Ok(Transformed::no(expr)),
            false => nearest(expr, &schema),
        })
    })
}

fn nearest(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match wanted_floats(&expr, schema) {
        Some(wanted) => nearest_float_cast(expr, wanted).map(Transformed::yes),
        None => Ok(Transformed::no(expr)),
    }
}

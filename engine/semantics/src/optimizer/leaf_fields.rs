//! Fields of structs and values of maps, which DataFusion extracts near the scan so that less data moves up.
//!
//! It adds them to a projection below, with the other columns that are needed, and searches for those among the plain columns of that
//! projection: a column with several aliases is added once for each of them (`build_extraction_projection_impl()` of datafusion-optimizer).
//! So `SELECT s['a'], x, y FROM (SELECT s, k AS x, k AS y FROM t)` failed with two columns of one name. In this case the fields stay where
//! they are.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::extract_leaf_expressions::{ExtractLeafExpressions, PushDownLeafProjections};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};

/// Wraps a rule of DataFusion's that moves fields with ours.
pub fn around_rules_of_fields(rule: Rule) -> Rule {
    around(rule, &[&ExtractLeafExpressions::new(), &PushDownLeafProjections::new()], below_or_in_place)
}

fn below_or_in_place(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    // One of the two is called for each operator and rewrites projections. The other is called with the whole plan.
    let may_move = if theirs.apply_order().is_some() { matches!(plan, LogicalPlan::Projection(_)) } else { has_fields(&plan)? };
    if !may_move {
        return theirs.rewrite(plan, config);
    }
    let in_place = plan.clone();
    match theirs.rewrite(plan, config) {
        Err(error) if matches!(error.find_root(), DataFusionError::SchemaError(..)) => Ok(Transformed::no(in_place)),
        below => below,
    }
}

fn has_fields(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|part| Ok(matches!(part, Expr::ScalarFunction(call) if call.func.name() == "get_field")))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

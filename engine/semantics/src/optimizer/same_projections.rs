//! A projection with the same expressions as the one below it is redundant only if all of them are columns.
//!
//! DataFusion removes the upper one (datafusion-optimizer 55.2, optimize_projections/mod.rs, line 559), as if `x + x` of `x + x` were
//! `x + x`. While it merges projections, an alias makes the two differ.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};

/// Our rule, if this is DataFusion's that merges projections.
pub fn in_place_of_projections(rule: Rule) -> Rule {
    around(rule, &[&OptimizeProjections::new()], merged)
}

fn merged(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down_with_subqueries(apart)?.transform_data(|plan| theirs.rewrite(plan, config))
}

/// Changes the lower one: an upper one loses its aliases when it is merged with the projection above.
fn apart(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Projection(upper) = &plan else { return Ok(Transformed::no(plan)) };
    let LogicalPlan::Projection(lower) = upper.input.as_ref() else { return Ok(Transformed::no(plan)) };
    let computed = lower.expr.iter().position(|expr| !matches!(expr, Expr::Column(_)));
    let Some(place) = computed.filter(|_| lower.expr == upper.expr) else { return Ok(Transformed::no(plan)) };
    let mut exprs = lower.expr.clone();
    let (qualifier, field) = lower.schema.qualified_field(place);
    exprs[place] = Expr::Alias(Alias::new(exprs[place].clone(), qualifier.cloned(), field.name()));
    let lower = Projection::try_new_with_schema(exprs, Arc::clone(&lower.input), Arc::clone(&lower.schema))?;
    let input = Arc::new(LogicalPlan::Projection(lower));
    let upper = Projection::try_new_with_schema(upper.expr.clone(), input, Arc::clone(&upper.schema))?;
    Ok(Transformed::yes(LogicalPlan::Projection(upper)))
}

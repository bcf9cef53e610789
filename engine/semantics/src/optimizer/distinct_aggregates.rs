//! `sum(DISTINCT a), sum(b)` keeps its types when it becomes two steps.
//!
//! DataFusion first sums `b` in groups of `a`, and then sums these sums (`single_distinct_to_groupby.rs` of datafusion-optimizer). A sum of
//! decimals has ten digits more than its argument: the column `sum(b)` of a DECIMAL(12,2) became a DECIMAL(32,2), and an expression above
//! that compared it with a DECIMAL(22,2) did not fit any more.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Expr, LogicalPlan, cast};
use datafusion::optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};

/// Our rule, if this is DataFusion's that makes two steps of an aggregate.
pub fn in_place_of_distinct(rule: Rule) -> Rule {
    around(rule, &[&SingleDistinctToGroupBy::new()], with_types)
}

fn with_types(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let before = Arc::clone(plan.schema());
    let new = theirs.rewrite(plan, config)?;
    match new.data {
        LogicalPlan::Projection(above) if new.transformed => {
            let types = above.schema.fields().iter().zip(before.fields());
            let exprs = above.expr.iter().cloned().zip(types).map(|(expr, (now, before))| match expr {
                Expr::Alias(alias) if now.data_type() != before.data_type() => {
                    Expr::Alias(Alias { expr: Box::new(cast(*alias.expr, before.data_type().clone())), ..alias })
                }
                expr => expr,
            });
            Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(exprs.collect(), above.input)?)))
        }
        plan => Ok(Transformed::new_transformed(plan, new.transformed)),
    }
}

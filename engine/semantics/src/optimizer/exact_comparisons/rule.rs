//! Rewrites all expressions of a plan each time before DataFusion simplifies them.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::super::rule::{Rule, around};
use super::logical::{may_have_casts, with_exact_comparisons};
use crate::functions::map_under_names;

/// Our rule, if this is DataFusion's that simplifies.
pub fn in_place_of_simplifying(rule: Rule) -> Rule {
    around(rule, &[&SimplifyExpressions::new()], exact_then_theirs)
}

fn exact_then_theirs(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    exact(plan, config)?.transform_data(|plan| theirs.rewrite(plan, config))
}

/// Rewrites one node.
fn exact(plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let mut may_have = false;
    plan.apply_expressions(|expr| {
        may_have = may_have_casts(expr)?;
        Ok(if may_have { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !may_have {
        return Ok(Transformed::no(plan));
    }
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        // Uses the schema of all columns: filters may use columns that are not read.
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema))
        .with_config_options(config.options())
        .with_query_execution_start_time(config.query_execution_start_time())
        .build();
    map_under_names(plan, |expr| with_exact_comparisons(expr, &context))
}

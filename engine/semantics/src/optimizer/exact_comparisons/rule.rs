//! All expressions of a plan, before each time that DataFusion simplifies them.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::logical::{may_have_casts, with_exact_comparisons};

/// Ours, if the rule is DataFusion's that simplifies.
pub fn in_place_of_simplifying(rule: Arc<dyn OptimizerRule + Send + Sync>) -> Arc<dyn OptimizerRule + Send + Sync> {
    let theirs = SimplifyExpressions::new();
    if rule.name() == theirs.name() { Arc::new(ExactComparisons(theirs)) } else { rule }
}

#[derive(Debug)]
struct ExactComparisons(SimplifyExpressions);

impl OptimizerRule for ExactComparisons {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        exact(plan, config)?.transform_data(|plan| self.0.rewrite(plan, config))
    }
}

/// One node.
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
        // Of all columns: filters may name some that are not read.
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema))
        .with_config_options(config.options())
        .with_query_execution_start_time(config.query_execution_start_time())
        .build();
    let names = NamePreserver::new(&plan);
    let mut under_its_name = |expr: Expr| {
        let name = names.save(&expr);
        let made = with_exact_comparisons(expr, &context)?;
        Ok(if made.transformed { made.update_data(|expr| name.restore(expr)) } else { made })
    };
    plan.map_expressions(|expr| match expr {
        // Columns are made of the parts: a set that is given a name is none any more.
        Expr::GroupingSet(_) => expr.map_children(&mut under_its_name),
        _ => under_its_name(expr),
    })
}

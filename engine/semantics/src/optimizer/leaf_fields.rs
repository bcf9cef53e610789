//! Fields of structs and values of maps, which DataFusion extracts near the scan so that less data moves up.
//!
//! It adds them to a projection below, with the other columns that are needed, and searches for those among the plain columns of that
//! projection: a column with several aliases is added once for each of them (`build_extraction_projection_impl()` of datafusion-optimizer).
//! So `SELECT s['a'], x, y FROM (SELECT s, k AS x, k AS y FROM t)` failed with two columns of one name. In this case the fields stay where
//! they are.
//!
//! A field that moves through a join comes at another position among its columns, and the operators above keep their old schemas. The rule
//! that removes unused columns goes by positions, and kept others: `SELECT u.k + (SELECT min(k) FROM t) FROM t JOIN t AS u ON t.k = u.k
//! WHERE u.s['a'] IN (SELECT k FROM t)` did not find `u.k`. So all schemas are computed anew before that rule.
//!
//! A field that moved below the alias of a table has a qualified name there, and a join above it still means it without. In
//! `t JOIN t AS u ON t.k = u.k AND t.a = upper(u.s['a'])` the operators of the join did not find their key: its name has the name of the
//! field inside (`wrap_projection_for_join_if_necessary()` of datafusion-expr).

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::extract_leaf_expressions::{ExtractLeafExpressions, PushDownLeafProjections};
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};

/// What DataFusion's names of moved fields begin with.
const FIELD_PREFIX: &str = "__datafusion_extracted_";

/// Wraps a rule of DataFusion's that moves fields, or that removes unused columns, with ours.
pub fn around_rules_of_fields(rule: Rule) -> Rule {
    let rule = around(rule, &[&ExtractLeafExpressions::new(), &PushDownLeafProjections::new()], below_or_in_place);
    around(rule, &[&OptimizeProjections::new()], with_moved_fields)
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

fn with_moved_fields(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let plan = if has_moved_fields(&plan)? {
        plan.transform_up_with_subqueries(|node| Ok(Transformed::yes(node.recompute_schema()?)))?.data
    } else {
        plan
    };
    theirs.rewrite(plan, config)?.transform_data(|plan| plan.transform_down_with_subqueries(qualified_keys))
}

fn has_moved_fields(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        let LogicalPlan::Projection(projection) = node else { return Ok(TreeNodeRecursion::Continue) };
        found = projection.schema.fields().iter().any(|field| field.name().starts_with(FIELD_PREFIX));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn qualified_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
    let mut is_changed = false;
    for (left, right) in &mut join.on {
        for (key, schema) in [(left, join.left.schema()), (right, join.right.schema())] {
            let qualified = std::mem::take(key).transform(|part| qualified_field(part, schema))?;
            is_changed |= qualified.transformed;
            *key = qualified.data;
        }
    }
    Ok(Transformed::new_transformed(LogicalPlan::Join(join), is_changed))
}

fn qualified_field(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match &expr {
        Expr::Column(Column { relation: None, name, .. }) if name.starts_with(FIELD_PREFIX) => {
            match schema.qualified_field_with_unqualified_name(name)? {
                (Some(relation), field) => Ok(Transformed::yes(Expr::Column(Column::new(Some(relation.clone()), field.name())))),
                (None, _) => Ok(Transformed::no(expr)),
            }
        }
        _ => Ok(Transformed::no(expr)),
    }
}

//! Joins whose keys treat NULL as equal to NULL, as `IS NOT DISTINCT FROM` does.
//!
//! Such a join has one kind of equality for all of its keys. DataFusion makes one early, of a join without other keys, and then turns
//! equalities that reach the join later (a WHERE above it, an `IN` of one value) into keys, so that they match NULLs too. It also splits
//! joins and recombines them with one kind of equality for all. Both gave wrong rows. Here the comparison stays a filter while the plan is
//! optimized, and becomes a key when nothing moves any more.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::utils::{find_valid_equijoin_key_pair, split_conjunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Join, LogicalPlan, Operator};
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimizer::OptimizerContext;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};

/// Our rule, if this is DataFusion's that makes keys.
pub fn in_place_of_keys(rule: Rule) -> Rule {
    around(rule, &[&ExtractEquijoinPredicate::new()], plain_keys)
}

/// Makes keys only of `=`.
fn plain_keys(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    match &plan {
        LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull || !has_plain_key(join)? => Ok(Transformed::no(plan)),
        _ => theirs.rewrite(plan, config),
    }
}

/// Whether the filter has an equality between a value of one side and one of the other.
fn has_plain_key(join: &Join) -> Result<bool> {
    for term in join.filter.iter().flat_map(split_conjunction) {
        if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = term
            && find_valid_equijoin_key_pair(left, right, join.left.schema(), join.right.schema())?.is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The optimized plan, in which joins without other keys use null-safe comparisons as keys. `None` if nothing changes.
pub fn with_null_safe_keys(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let mut found = false;
    plan.apply_with_subqueries(|part| {
        found |= may_have_keys(part);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !found {
        return Ok(None);
    }
    let (rule, config) = (ExtractEquijoinPredicate::new(), OptimizerContext::new());
    let keyed = plan.clone().transform_up_with_subqueries(|part| match may_have_keys(&part) {
        true => rule.rewrite(part, &config),
        false => Ok(Transformed::no(part)),
    });
    keyed.data().map(Some)
}

fn may_have_keys(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Join(Join { on, filter: Some(filter), .. }) = plan else { return false };
    let is_null_safe = |term: &&Expr| matches!(term, Expr::BinaryExpr(BinaryExpr { op: Operator::IsNotDistinctFrom, .. }));
    on.is_empty() && split_conjunction(filter).iter().any(is_null_safe)
}

//! The keys that rows have, where DataFusion takes too much for one.
//!
//! `aggregate_functional_dependencies` (datafusion-common, functional_dependencies.rs) keeps a key of the input of a GROUP BY for a key of the
//! groups, as if it determined all columns: above `… FROM c JOIN o … GROUP BY c.cid, o.m`, where `cid` is a key of `c`, `ORDER BY c.cid, o.m`
//! was ordered by `cid` alone. `Unnest::try_new` keeps the keys of its input, though a row comes out once for each element: DISTINCT above
//! `SELECT i, unnest(array_agg(j)) … GROUP BY i` was left out.
//!
//! Each schema is computed anew by whoever changes an operator, so the right keys are put there before each rule that asks for them.

use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{FunctionalDependencies, Result, aggregate_functional_dependencies};
use datafusion::logical_expr::logical_plan::{Aggregate, SubqueryAlias, Unnest};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};
use datafusion::optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion::optimizer::eliminate_join::EliminateJoin;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::sql::sqlparser::ast::TableFactor;

use super::rule::{Rule, around};

/// Ours around a rule, if it is one of DataFusion's that asks for keys.
pub fn around_rules_of_keys(rule: Rule) -> Rule {
    let asking: [&dyn OptimizerRule; 4] =
        [&EliminateDuplicatedExpr::new(), &EliminateJoin::new(), &OptimizeProjections::new(), &ReplaceDistinctWithAggregate::new()];
    around(rule, &asking, keys_then_theirs)
}

fn keys_then_theirs(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    // The rule looks up `first_value` in a registry of functions. A PREPARE is optimised without one, where it panicked; EXECUTE optimises again.
    if matches!(plan, LogicalPlan::Distinct(Distinct::On(_))) && config.function_registry().is_none() {
        return Ok(Transformed::no(plan));
    }
    // A rule that is called with each operator asks for the keys below these two.
    let asks = theirs.apply_order().is_none() || matches!(plan, LogicalPlan::Sort(_) | LogicalPlan::Distinct(_));
    theirs.rewrite(if asks { with_keys(plan)? } else { plan }, config)
}

fn with_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut has_others = false;
    plan.apply_with_subqueries(|part| {
        has_others |= keys(part).is_some_and(|keys| part.schema().functional_dependencies() != &keys);
        Ok(if has_others { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !has_others {
        return Ok(plan);
    }
    let mut found = false;
    plan.transform_up_with_subqueries(|part| {
        // What was a key above may be none now.
        let mut part = if found { part.recompute_schema()? } else { part };
        let keys = keys(&part);
        let (LogicalPlan::Aggregate(Aggregate { schema, .. }) | LogicalPlan::Unnest(Unnest { schema, .. })) = &mut part else {
            return Ok(if found { Transformed::yes(part) } else { Transformed::no(part) });
        };
        if let Some(keys) = keys.filter(|keys| schema.functional_dependencies() != keys) {
            *schema = Arc::new(schema.as_ref().clone().with_functional_dependencies(keys)?);
            found = true;
        }
        Ok(if found { Transformed::yes(part) } else { Transformed::no(part) })
    })
    .data()
}

/// The keys of an operator that DataFusion may say too many of.
fn keys(plan: &LogicalPlan) -> Option<FunctionalDependencies> {
    let none = FunctionalDependencies::empty;
    match plan {
        LogicalPlan::Aggregate(Aggregate { group_expr, input, schema, .. }) if !input.schema().functional_dependencies().is_empty() => {
            if group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
                return Some(none());
            }
            let groups: Vec<String> = group_expr.iter().map(|expr| expr.schema_name().to_string()).collect();
            // Nothing that has no keys has too many.
            let input = input.schema().as_ref().clone().with_functional_dependencies(none()).ok()?;
            Some(aggregate_functional_dependencies(&input, &groups, schema))
        }
        LogicalPlan::Unnest(_) => Some(none()),
        _ => None,
    }
}

/// What is in FROM has no keys for the planner, which adds to `GROUP BY i` all that depends on `i`, also beside a ROLLUP of it. Those of
/// tables are found by the statement (`engine/src/sql_planner/key_groups.rs`).
#[derive(Debug)]
pub struct RelationsWithoutKeys;

thread_local! {
    /// `plan` asks this planner about the same relation once more. `RelationPlannerContext::plan(&mut self, relation)` has no argument that
    /// could say so; the call that sets this takes it, on this thread.
    static IS_SAME_RELATION: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for RelationsWithoutKeys {
    fn plan_relation(&self, relation: TableFactor, context: &mut dyn RelationPlannerContext) -> Result<RelationPlanning> {
        if IS_SAME_RELATION.take() || !matches!(relation, TableFactor::Derived { .. } | TableFactor::Table { args: None, .. }) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        IS_SAME_RELATION.set(true);
        let plan = context.plan(relation);
        IS_SAME_RELATION.set(false);
        let mut plan = plan?;
        // What has keys is a query, and a query in FROM has an alias (`engine/sql/src/unnamed_subqueries.rs`).
        if let LogicalPlan::SubqueryAlias(SubqueryAlias { schema, .. }) = &mut plan
            && !schema.functional_dependencies().is_empty()
        {
            *schema = Arc::new(schema.as_ref().clone().with_functional_dependencies(FunctionalDependencies::empty())?);
        }
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}

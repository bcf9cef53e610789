//! Keys of rows, where DataFusion assumes too many.
//!
//! `aggregate_functional_dependencies` (datafusion-common, functional_dependencies.rs) keeps a key of the input of a GROUP BY as a key of
//! the groups that determines all columns: above `… FROM c JOIN o … GROUP BY c.cid, o.m`, where `cid` is a key of `c`,
//! `ORDER BY c.cid, o.m` was sorted by `cid` alone. `Unnest::try_new` keeps the keys of its input, though it makes a row of each element:
//! DISTINCT above `SELECT i, unnest(array_agg(j)) … GROUP BY i` was removed.
//!
//! Every rule that changes an operator recomputes its schema, so the correct keys are set before each rule that uses keys.

use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{FunctionalDependencies, Result, aggregate_functional_dependencies};
use datafusion::logical_expr::logical_plan::{Aggregate, Projection, SubqueryAlias, Unnest};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};
use datafusion::optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion::optimizer::eliminate_join::EliminateJoin;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::sql::sqlparser::ast::TableFactor;

use super::rule::{Rule, around};

/// Wraps a rule of DataFusion's that uses keys with ours.
pub fn around_rules_of_keys(rule: Rule) -> Rule {
    let asking: [&dyn OptimizerRule; 4] =
        [&EliminateDuplicatedExpr::new(), &EliminateJoin::new(), &OptimizeProjections::new(), &ReplaceDistinctWithAggregate::new()];
    around(rule, &asking, keys_then_theirs)
}

fn keys_then_theirs(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    // The rule looks up `first_value` in a registry of functions. PREPARE optimizes without a registry, where the rule panicked; EXECUTE
    // optimizes again.
    if matches!(plan, LogicalPlan::Distinct(Distinct::On(_))) && config.function_registry().is_none() {
        return Ok(Transformed::no(plan));
    }
    // A rule that is called for each operator uses the keys only below these two.
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
        // A key above may no longer be one.
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

/// The correct keys of an operator for which DataFusion may assume too many.
fn keys(plan: &LogicalPlan) -> Option<FunctionalDependencies> {
    let none = FunctionalDependencies::empty;
    match plan {
        LogicalPlan::Aggregate(Aggregate { group_expr, input, schema, .. }) if !input.schema().functional_dependencies().is_empty() => {
            if group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
                return Some(none());
            }
            let groups: Vec<String> = group_expr.iter().map(|expr| expr.schema_name().to_string()).collect();
            // An input without keys cannot have too many.
            let input = input.schema().as_ref().clone().with_functional_dependencies(none()).ok()?;
            Some(aggregate_functional_dependencies(&input, &groups, schema))
        }
        LogicalPlan::Unnest(_) => Some(none()),
        _ => None,
    }
}

/// Hides the keys of relations in FROM from the planner. It would add to `GROUP BY i` all columns that depend on `i`, even next to a
/// ROLLUP of it. `engine/src/sql_planner/key_groups.rs` finds the keys of tables from the statement. It also names the column of UNNEST.
#[derive(Debug)]
pub struct RelationsWithoutKeys;

thread_local! {
    /// Set while `plan` asks this planner about the same relation again. `RelationPlannerContext::plan(&mut self, relation)` has no
    /// argument for it. The nested call on this thread clears the flag.
    static IS_SAME_RELATION: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for RelationsWithoutKeys {
    fn plan_relation(&self, mut relation: TableFactor, context: &mut dyn RelationPlannerContext) -> Result<RelationPlanning> {
        if IS_SAME_RELATION.take() {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        let unnest_alias = match &mut relation {
            TableFactor::Derived { .. } | TableFactor::Table { args: None, .. } => None,
            TableFactor::UNNEST { alias, .. } if alias.as_ref().is_some_and(|alias| alias.columns.is_empty()) => alias.take(),
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        IS_SAME_RELATION.set(true);
        let plan = context.plan(relation);
        IS_SAME_RELATION.set(false);
        let mut plan = plan?;
        if let Some(alias) = unnest_alias {
            let plan = with_only_column(plan, &context.normalize_ident(alias.name.clone()))?;
            return Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, Some(alias)))));
        }
        // Only a query has keys, and a query in FROM has an alias (`engine/sql/src/unnamed_subqueries.rs`).
        if let LogicalPlan::SubqueryAlias(SubqueryAlias { schema, .. }) = &mut plan
            && !schema.functional_dependencies().is_empty()
        {
            *schema = Arc::new(schema.as_ref().clone().with_functional_dependencies(FunctionalDependencies::empty())?);
        }
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}

/// `unnest(l) AS u` has a column `u`, as in PostgreSQL. Structs have columns named after their fields.
fn with_only_column(plan: LogicalPlan, name: &str) -> Result<LogicalPlan> {
    if plan.schema().fields().len() != 1 || !plan.schema().field(0).name().starts_with("UNNEST(") {
        return Ok(plan);
    }
    let columns: Vec<Expr> = plan.schema().iter().map(|column| Expr::from(column).alias(name)).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

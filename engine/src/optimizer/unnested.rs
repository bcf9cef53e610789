//! What DataFusion's operator of UNNEST gets wrong.
//!
//! - The fields of a struct: it shows what lies beneath a struct that is NULL, and a field is NULL then.
//! - Keys: `Unnest::try_new` keeps the functional dependencies of its input, though a row comes out once for each element. DISTINCT above
//!   `SELECT i, unnest(array_agg(j)) … GROUP BY i` was left out, as `i` had been a key, and `GROUP BY i` had groups of each row.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result, internal_err};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::logical_plan::{Projection, SubqueryAlias, Unnest};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::TableFactor;

use crate::functions::one_nan;

#[derive(Debug)]
pub struct Unnested;

impl AnalyzerRule for Unnested {
    fn name(&self) -> &str {
        "unnested"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut found = false;
        plan.transform_up_with_subqueries(|part| match part {
            LogicalPlan::Unnest(unnest) => {
                found = true;
                let is_of_structs = !unnest.struct_type_columns.is_empty();
                Ok(Transformed::yes(if is_of_structs { with_fields(unnest)? } else { without_keys(LogicalPlan::Unnest(unnest))? }))
            }
            // What was a key above may be none now.
            part if found => Ok(Transformed::yes(part.recompute_schema()?)),
            part => Ok(Transformed::no(part)),
        })
        .data()
    }
}

fn with_fields(unnest: Unnest) -> Result<LogicalPlan> {
    let Unnest { input, exec_columns, struct_type_columns, dependency_indices, schema, options, .. } = unnest;
    let before = Arc::clone(input.schema());
    let structs = |column: &Column| Ok(struct_type_columns.contains(&before.index_of_column(column)?));
    let lists = exec_columns.into_iter().filter_map(|column| match structs(&column) {
        Ok(is_struct) => (!is_struct).then_some(Ok(column)),
        Err(error) => Some(Err(error)),
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    let input = if lists.is_empty() { input } else { Arc::new(without_keys(LogicalPlan::Unnest(Unnest::try_new(input, lists, options)?))?) };
    let columns = schema.iter().zip(&dependency_indices).enumerate().map(|(place, ((qualifier, field), source))| {
        if !struct_type_columns.contains(source) {
            return Ok(Expr::Column(Column::from((qualifier, field))));
        }
        let (relation, of) = before.qualified_field(*source);
        let number = dependency_indices[..place].iter().rev().take_while(|other| *other == source).count();
        let DataType::Struct(fields) = of.data_type() else { return internal_err!("a {} is unnested as a struct", of.data_type()) };
        let value = get_field(Expr::Column(Column::from((relation, of))), fields[number].name().as_str());
        Ok(value.alias_qualified(qualifier.cloned(), field.name()))
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect::<Result<Vec<_>>>()?, input)?))
}

/// Takes the keys from what is in FROM before any rule is there to do so: the planner adds to `GROUP BY i` all that depends on `i`.
#[derive(Debug)]
pub struct UnnestedRelations;

thread_local! {
    /// `plan` asks this planner about the same relation once more.
    static IS_SAME_RELATION: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for UnnestedRelations {
    fn plan_relation(&self, relation: TableFactor, context: &mut dyn RelationPlannerContext) -> Result<RelationPlanning> {
        if IS_SAME_RELATION.take() || !matches!(relation, TableFactor::Derived { .. } | TableFactor::Table { args: None, .. }) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        IS_SAME_RELATION.set(true);
        let plan = context.plan(relation);
        IS_SAME_RELATION.set(false);
        let plan = match plan? {
            plan if plan.schema().functional_dependencies().is_empty() => plan,
            plan if !plan.exists(|part| Ok(matches!(part, LogicalPlan::Unnest(_))))? => plan,
            // DataFusion looks for the alias on top.
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
                let input = without_keys(Arc::unwrap_or_clone(input))?;
                LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), alias)?)
            }
            plan => without_keys(plan)?,
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}

/// A computed column has no functional dependencies, and this function does nothing to keys: NaN is one there.
fn without_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let keys: HashSet<usize> = schema.functional_dependencies().iter().filter_map(|key| key.source_indices.first().copied()).collect();
    // A condition about the row outside is moved above by the columns that are keys.
    if keys.is_empty() || !plan.all_out_ref_exprs().is_empty() {
        return Ok(plan);
    }
    let columns = schema.iter().enumerate().map(|(number, (qualifier, field))| {
        let column = Expr::Column(Column::from((qualifier, field)));
        if keys.contains(&number) { one_nan().call(vec![column]).alias_qualified(qualifier.cloned(), field.name()) } else { column }
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(plan))?))
}

//! Groups by columns of one name, `GROUP BY a.id, b.id`.
//!
//! A join above may want such groups in another order of their keys. DataFusion's `reorder_aggregate_keys` (datafusion-physical-optimizer)
//! then finds the columns by their names: both were the first one, and the join had almost no rows. So each has a name of its own below a
//! projection.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::logical_expr::logical_plan::{Aggregate, Projection};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The optimized plan with such names; `None` if nothing changes.
pub fn with_unique_group_names(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let mut found = false;
    plan.apply_with_subqueries(|part| {
        found |= matches!(part, LogicalPlan::Aggregate(aggregate) if repeats_name(aggregate));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !found {
        return Ok(None);
    }
    let named = plan.clone().transform_up_with_subqueries(|part| match part {
        LogicalPlan::Aggregate(aggregate) if repeats_name(&aggregate) => under_unique_names(aggregate).map(Transformed::yes),
        part => Ok(Transformed::no(part)),
    });
    named.data().map(Some)
}

/// Sets of groups are not reordered.
fn repeats_name(aggregate: &Aggregate) -> bool {
    let mut names = HashSet::new();
    let is_set = matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)]);
    !is_set && aggregate.schema.fields().iter().take(aggregate.group_expr.len()).any(|field| !names.insert(field.name()))
}

fn under_unique_names(aggregate: Aggregate) -> Result<LogicalPlan> {
    let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate;
    let keys = group_expr.into_iter().enumerate().map(|(at, key)| key.alias(format!("__key_{at}"))).collect();
    let groups = Aggregate::try_new(input, keys, aggr_expr)?;
    let columns = groups.schema.columns().into_iter().zip(schema.iter());
    let exprs = columns.map(|(column, (qualifier, field))| match column.relation.as_ref() == qualifier && column.name == *field.name() {
        true => Expr::Column(column),
        false => Expr::Column(column).alias_qualified(qualifier.cloned(), field.name()),
    });
    let exprs = exprs.collect();
    Ok(LogicalPlan::Projection(Projection::try_new_with_schema(exprs, Arc::new(LogicalPlan::Aggregate(groups)), schema)?))
}

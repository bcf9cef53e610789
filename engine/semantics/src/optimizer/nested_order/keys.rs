//! Keys of ORDER BY that put NULL at the other end than NULL inside: `l DESC NULLS LAST`.
//!
//! A sort puts both NULL and NULL inside at the same end. So the key becomes a struct of a flag whether there is a value, and the value.
//! The struct is never NULL, and its order puts NULL inside where the largest values are.

use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::functions::core::named_struct;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, SortExpr, lit};

use super::is_nested;
use crate::functions::nested_order::sort_key;

/// Rewrites one node.
pub fn in_plan(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    match plan {
        LogicalPlan::Sort(mut sort) => {
            let schema = Arc::clone(sort.input.schema());
            let changed = apart(&mut sort.expr, &schema);
            Transformed::new_transformed(LogicalPlan::Sort(sort), changed)
        }
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            let schema = Arc::clone(distinct.input.schema());
            let Some(keys) = &mut distinct.sort_expr else { return Transformed::no(LogicalPlan::Distinct(Distinct::On(distinct))) };
            let changed = as_bytes(keys, &schema);
            if changed {
                // The keys of DISTINCT ON are the first keys of the order.
                distinct.on_expr = keys.iter().take(distinct.on_expr.len()).map(|key| key.expr.clone()).collect();
            }
            Transformed::new_transformed(LogicalPlan::Distinct(Distinct::On(distinct)), changed)
        }
        plan => Transformed::no(plan),
    }
}

/// Returns whether a key was changed.
fn apart(keys: &mut [SortExpr], schema: &DFSchema) -> bool {
    let mut changed = false;
    for key in keys.iter_mut().filter(|key| is_apart(key, schema)) {
        key.expr = with_presence(std::mem::take(&mut key.expr));
        key.nulls_first = !key.asc;
        changed = true;
    }
    changed
}

/// Encodes nested keys of aggregates and windows, which compare single values and have no order for nested ones. Returns whether a key was
/// changed.
pub fn as_bytes(keys: &mut [SortExpr], schema: &DFSchema) -> bool {
    let mut changed = false;
    for key in keys.iter_mut().filter(|key| is_nested(&key.expr, schema)) {
        key.expr = sort_key::of(std::mem::take(&mut key.expr));
        changed = true;
    }
    changed
}

fn is_apart(key: &SortExpr, schema: &DFSchema) -> bool {
    key.nulls_first == key.asc && is_nested(&key.expr, schema)
}

fn with_presence(value: Expr) -> Expr {
    named_struct().call(vec![lit("is_there"), value.clone().is_not_null(), lit("value"), value])
}

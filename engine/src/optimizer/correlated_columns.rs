//! Columns of a subquery that are compared with the row outside, where another column of the subquery has their name.
//!
//! DataFusion moves such a comparison out of the subquery, and calls its columns by the subquery's alias: of two of one name it takes the
//! first. `EXISTS (SELECT * FROM x JOIN y ON x.id = y.id WHERE y.b = o.k)` compared `x.b` (decorrelate.rs, and `build_join` of
//! decorrelate_predicate_subquery.rs and scalar_subquery_to_join.rs). So the condition is about a copy of the column, with a name of its own.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::{Filter, Projection};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

use super::in_subqueries::is_correlated;

#[derive(Debug)]
pub struct CorrelatedColumns;

impl AnalyzerRule for CorrelatedColumns {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|part| match part {
            LogicalPlan::Subquery(subquery) if is_correlated(&subquery) => {
                let plan = with_copies(subquery.subquery.as_ref().clone(), &HashSet::new())?;
                Ok(plan.update_data(|plan| LogicalPlan::Subquery(subquery.with_plan(Arc::new(plan)))))
            }
            part => Ok(Transformed::no(part)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "correlated_columns"
    }
}

/// `above` are the columns of the operators above.
fn with_copies(plan: LogicalPlan, above: &HashSet<Column>) -> Result<Transformed<LogicalPlan>> {
    let mut columns = above.clone();
    columns.extend(plan.schema().columns());
    plan.map_children(|input| with_copies(input, &columns))?.transform_parent(|plan| match plan {
        LogicalPlan::Filter(filter) => filter_of_copies(filter, &columns),
        plan => Ok(Transformed::no(plan)),
    })
}

fn filter_of_copies(filter: Filter, above: &HashSet<Column>) -> Result<Transformed<LogicalPlan>> {
    let is_ambiguous = |column: &Column| above.iter().any(|other| other.name == column.name && other.relation != column.relation);
    let mut copies: Vec<Column> = Vec::new();
    let terms = split_conjunction_owned(filter.predicate.clone()).into_iter().map(|term| {
        if !term.contains_outer() {
            return Ok(term);
        }
        let about_copies = term.transform_up(|part| match part {
            Expr::Column(column) if is_ambiguous(&column) => {
                let number = copies.iter().position(|copy| *copy == column).unwrap_or_else(|| {
                    copies.push(column);
                    copies.len() - 1
                });
                Ok(Transformed::yes(Expr::Column(copy_of(&copies[number], number))))
            }
            part => Ok(Transformed::no(part)),
        });
        about_copies.data()
    });
    let terms = terms.collect::<Result<Vec<_>>>()?;
    let Some(predicate) = conjunction(terms).filter(|_| !copies.is_empty()) else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let columns: Vec<Expr> = filter.input.schema().columns().into_iter().map(Expr::Column).collect();
    let copies = copies.iter().enumerate().map(|(number, column)| Expr::Column(column.clone()).alias(copy_of(column, number).name));
    let input = Projection::try_new(columns.iter().cloned().chain(copies).collect(), filter.input)?;
    let filtered = Filter::try_new(predicate, Arc::new(LogicalPlan::Projection(input)))?;
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(LogicalPlan::Filter(filtered)))?)))
}

fn copy_of(column: &Column, number: usize) -> Column {
    Column::new_unqualified(format!("__compared_{number}_{}", column.name))
}

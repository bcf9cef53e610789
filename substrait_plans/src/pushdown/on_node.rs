//! Rewrites a plan for the node: it uses the node's names of the tables, and only the columns that are used. A table may have 10,000
//! columns, and a plan that names them all is larger than most results.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr_rewriter::normalize_col;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Filter, Limit, LogicalPlan, Projection, SubqueryAlias, TableScan, TableScanBuilder, lit};

use super::fragment::Fragment;
use super::table::RemoteTable;

/// The same rows under the same names. Fragments for the node within the plan become a part of it.
pub fn on_node(plan: &LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.clone().transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) => match read_there(&scan)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None => Ok(Transformed::no(LogicalPlan::TableScan(scan))),
        },
        plan => Ok(Transformed::no(plan)),
    });
    plan.data()
}

fn read_there(scan: &TableScan) -> Result<Option<LogicalPlan>> {
    let provider = source_as_provider(&scan.source)?;
    if let Some(table) = provider.downcast_ref::<RemoteTable>() {
        return narrow(table, scan).map(Some);
    }
    match provider.downcast_ref::<Fragment>() {
        Some(fragment) => fragment.in_place_of(scan).map(Some),
        None => Ok(None),
    }
}

fn narrow(table: &RemoteTable, scan: &TableScan) -> Result<LogicalPlan> {
    let schema = table.table_schema();
    let shown: Vec<usize> = match &scan.projection {
        Some(projection) => projection.clone(),
        None => (0..schema.fields().len()).collect(),
    };
    let mut used: BTreeSet<usize> = shown.iter().copied().collect();
    for column in scan.filters.iter().flat_map(Expr::column_refs) {
        used.insert(schema.index_of(&column.name)?);
    }
    let used: Vec<usize> = used.into_iter().collect();
    let source = provider_as_source(Arc::new(table.narrowed(&used)?));
    let mut plan = LogicalPlan::TableScan(TableScanBuilder::new(table.reference(), source).build()?);
    if table.reference() != scan.table_name {
        plan = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(plan), scan.table_name.clone())?);
    }
    let filters = scan.filters.iter().map(|filter| normalize_col(filter.clone(), &plan)).collect::<Result<Vec<_>>>()?;
    if let Some(condition) = conjunction(filters) {
        plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?);
    }
    if shown != used {
        let column = |place: &usize| Expr::Column(Column::new(Some(scan.table_name.clone()), schema.field(*place).name()));
        plan = LogicalPlan::Projection(Projection::try_new(shown.iter().map(column).collect(), Arc::new(plan))?);
    }
    match scan.fetch {
        Some(rows) => limited(plan, rows),
        None => Ok(plan),
    }
}

pub(super) fn limited(plan: LogicalPlan, rows: usize) -> Result<LogicalPlan> {
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    Ok(LogicalPlan::Limit(Limit { skip: None, fetch: Some(Box::new(lit(rows))), input: Arc::new(plan) }))
}

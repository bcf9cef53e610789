//! Expands `*` and merged columns: the columns that a SELECT reads are found by planning its FROM alone, and then written out.
//!
//! Of the columns that USING and NATURAL merge, DataFusion keeps the one whose table sorts first and does not find it in WHERE; it also
//! ignores the pattern of `* ILIKE`, and accepts any name in `* REPLACE`. A statement without any of these is left alone.

mod columns;
mod from;
mod items;
mod merged;
mod rewrite_needed;
mod selects;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Select;

use self::columns::Columns;
use self::from::{FromElements, PlanRecorder};
use self::selects::each_select;
use common::error::EngineError;
use sql::rewrite::rewrite;
use table::catalog::StatementTables;

/// The maximum nesting of SELECTs whose `*` is rewritten.
const ROUNDS_MAX: usize = 64;

/// Rewrites the statement; `plan` plans it.
pub async fn expand_wildcards(
    tables: &mut StatementTables<'_>,
    statement: &mut Statement,
    plan: fn(&StatementTables<'_>, &Statement) -> Result<LogicalPlan>,
) -> Result<()> {
    if !rewrite_needed::has_concerned(statement) {
        return Ok(());
    }
    let mut done = HashSet::new();
    for _ in 0..ROUNDS_MAX {
        let mut marked = statement.clone();
        if !each_select(&mut marked, |number, select, _| Ok(!done.contains(&number) && from::mark(number, select)))? {
            return Ok(());
        }
        let recorder = Arc::<PlanRecorder>::default();
        rewrite(&mut marked)?;
        tables.resolve(&marked).await?;
        let planned = plan(&tables.with_relation_planner(Arc::<PlanRecorder>::clone(&recorder)), &marked);
        let elements = recorder.take();
        // Later SELECTs may read from one whose columns change, so they are planned again.
        let mut has_changed = false;
        let is_more = each_select(statement, |number, select, order_by| match of_select(&elements, number, select) {
            Some(columns) if !has_changed => {
                merged::expand_merged_columns(select, order_by, &columns);
                has_changed = items::expand_wildcards(select, &columns)?;
                Ok(done.insert(number))
            }
            _ => Ok(false),
        })?;
        if !is_more {
            // The error of the statement comes before anything else is found.
            return planned.map(|_| ());
        }
    }
    Err(EngineError::unsupported("a statement with so many * of joins USING columns", Some("name the columns instead of *")).into())
}

/// The columns of each of its tables; `None` if not all are known.
fn of_select(elements: &HashMap<FromElements, Columns>, number: usize, select: &Select) -> Option<Vec<Columns>> {
    let tables = 0..select.from.len();
    let columns: Vec<Columns> =
        tables.map(|table| elements.get(&FromElements { select: number, table }).cloned()).collect::<Option<_>>()?;
    (!columns.is_empty()).then_some(columns)
}

//! `*` and what joins make one: of which tables which columns a SELECT reads is found by planning its FROM alone, and then said in so many words.
//!
//! DataFusion keeps of the columns that USING and NATURAL make one that whose table comes first in the alphabet, does not find it in WHERE,
//! knows no pattern behind `* ILIKE`, and takes any name behind `* REPLACE`. Where nothing of that can be, nothing is done here.

mod columns;
mod from;
mod items;
mod merged;
mod rewrite_needed;
mod selects;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Select;

use self::columns::Columns;
use self::from::{FromElements, PlanRecorder};
use self::selects::each_select;
use crate::catalog;
use common::error::EngineError;

/// So many SELECTs may read from each other and have a `*` that is said in other words.
const ROUNDS_MAX: usize = 64;

/// What plans a statement.
pub async fn expand_wildcards<F>(state: &SessionState, statement: &mut Statement, plan: impl Fn(SessionState, Statement) -> F) -> Result<()>
where
    F: Future<Output = Result<LogicalPlan>>,
{
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
        let mut planning = state.clone();
        planning.register_relation_planner(Arc::<PlanRecorder>::clone(&recorder))?;
        let planned = catalog::plan_with_whole_tables(plan(planning, marked)).await;
        let found = recorder.take();
        // Those that come later may read from one whose columns change, and are planned again.
        let mut has_changed = false;
        let is_more = each_select(statement, |number, select, order_by| match of_select(&found, number, select) {
            Some(columns) if !has_changed => {
                merged::expand_merged_columns(select, order_by, &columns);
                has_changed = items::expand_wildcards(select, &columns)?;
                Ok(done.insert(number))
            }
            _ => Ok(false),
        })?;
        if !is_more {
            // What is wrong with the statement is wrong before anything more is found.
            return planned.map(|_| ());
        }
    }
    Err(EngineError::unsupported("a statement with so many * of joins USING columns", Some("name the columns instead of *")).into())
}

/// The columns of each of its tables; None if not all are known.
fn of_select(found: &HashMap<FromElements, Columns>, number: usize, select: &Select) -> Option<Vec<Columns>> {
    let tables = 0..select.from.len();
    let columns: Vec<Columns> = tables.map(|table| found.get(&FromElements { select: number, table }).cloned()).collect::<Option<_>>()?;
    (!columns.is_empty()).then_some(columns)
}

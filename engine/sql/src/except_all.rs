//! INTERSECT ALL and EXCEPT ALL, which DataFusion answers as if ALL were missing. Here the copies of each row are counted on both sides,
//! and the row is repeated as often as the counts require.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Query, SetExpr, SetOperator, SetQuantifier, TableFactor, Values, VisitorMut};
use datafusion::sql::sqlparser::parser::ParserError;

use super::fragments::query_of;
use crate::walk::WalkMut;
use common::error::EngineError;

/// Names that no table or column of a user has.
const LEFT: &str = "\"quiver all: left\"";
const RIGHT: &str = "\"quiver all: right\"";
const IS_LEFT: &str = "\"quiver all: is left\"";
const COPIES: &str = "\"quiver all: copies\"";
const COPY: &str = "\"quiver all: copy\"";

/// Each operator makes the plan several levels deeper.
const OPERATORS_MAX: usize = 100;

/// Rewrites the operators of one query, but not those of nested queries.
pub fn rewrite_set_all(body: &mut SetExpr) -> Result<(), EngineError> {
    let mut found = 0;
    rewrite(body, &mut found)?;
    if found > OPERATORS_MAX {
        let feature = format!("a query with {found} INTERSECT ALL and EXCEPT ALL");
        return Err(EngineError::unsupported(feature, Some("combine fewer queries at a time")));
    }
    Ok(())
}

fn rewrite(body: &mut SetExpr, found: &mut usize) -> Result<(), EngineError> {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return Ok(()) };
    rewrite(left, found)?;
    rewrite(right, found)?;
    let copies = match (*set_quantifier, *op) {
        (SetQuantifier::All, SetOperator::Intersect) => format!("least(sum({IS_LEFT}), count(*) - sum({IS_LEFT}))"),
        // The copies on the left side minus those on the right.
        (SetQuantifier::All, SetOperator::Except | SetOperator::Minus) => format!("2 * sum({IS_LEFT}) - count(*)"),
        _ => return Ok(()),
    };
    *found += 1;
    let nothing = || SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: Vec::new() });
    let sides = [left, right].map(|side| std::mem::replace(side.as_mut(), nothing()));
    *body = counted(&copies, sides)?;
    Ok(())
}

/// For zero copies the range is empty, so there is no row.
fn counted(copies: &str, sides: [SetExpr; 2]) -> Result<SetExpr, EngineError> {
    let sql = format!(
        "SELECT * EXCLUDE ({COPIES}, {COPY}) FROM (SELECT *, unnest(range(0, {COPIES})) AS {COPY} FROM (\
           SELECT * EXCLUDE ({IS_LEFT}), {copies} AS {COPIES} FROM (\
             SELECT *, 1 AS {IS_LEFT} FROM {LEFT} UNION ALL SELECT *, 0 AS {IS_LEFT} FROM {RIGHT}) GROUP BY ALL))"
    );
    let broken = |error: ParserError| EngineError::internal(format!("INTERSECT ALL became no query: {error}"));
    let mut query = query_of(&sql).map_err(broken)?;
    let [left, right] = sides.map(as_query);
    let mut sides = SetOperands { left: left.map_err(broken)?.into(), right: right.map_err(broken)?.into() };
    let _ = query.walk_mut(&mut sides);
    Ok(*query.body)
}

fn as_query(side: SetExpr) -> Result<Box<Query>, ParserError> {
    match side {
        SetExpr::Query(query) => Ok(query),
        body => Ok(Box::new(Query { body: Box::new(body), ..query_of("SELECT 1")? })),
    }
}

/// Inserts the two queries at their positions.
struct SetOperands {
    left: Option<Box<Query>>,
    right: Option<Box<Query>>,
}

impl VisitorMut for SetOperands {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, .. } = factor else { return ControlFlow::Continue(()) };
        let side = match name.to_string().as_str() {
            LEFT => self.left.take(),
            RIGHT => self.right.take(),
            _ => None,
        };
        if let Some(subquery) = side {
            *factor = TableFactor::Derived { lateral: false, subquery, alias: None, sample: None };
        }
        ControlFlow::Continue(())
    }
}

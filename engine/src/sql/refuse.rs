//! Clauses that DataFusion reads and then forgets, or answers wrongly. Each would change the answer, so
//! each is an error.

use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Join, JoinConstraint, JoinOperator, ObjectType, Query, Select, SetExpr, SetOperator, SetQuantifier,
    Statement as SqlStatement, TableFactor, Visit, Visitor,
};

use super::merged_columns::is_merging;
use crate::error::EngineError;

/// An error for the first clause that would be ignored.
pub fn refuse_ignored(statement: &Statement) -> Result<(), EngineError> {
    match statement {
        Statement::Statement(statement) => refuse(statement.as_ref()),
        Statement::Explain(explain) => match explain.statement.as_ref() {
            Statement::CopyTo(_) => Err(EngineError::unsupported("EXPLAIN of COPY", Some("explain the query it copies"))),
            inner => refuse_ignored(inner),
        },
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => refuse(query.as_ref()),
            CopyToSource::Relation(_) => Ok(()),
        },
        Statement::CreateExternalTable(_) | Statement::Reset(_) => Ok(()),
    }
}

/// The same for a part of a statement.
pub fn refuse(part: &impl Visit) -> Result<(), EngineError> {
    match part.visit(&mut Ignored::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((feature, hint)) => Err(EngineError::unsupported(feature, (!hint.is_empty()).then_some(hint))),
    }
}

#[derive(Default)]
struct Ignored {
    /// The next query is the whole statement.
    is_whole: bool,
}

/// `WITH … UPDATE` is parsed so, and so is an UPDATE where a query should be.
fn changes_rows(body: &SetExpr) -> bool {
    matches!(body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// DataFusion answers these as if ALL were not there.
fn counts_by_name(body: &SetExpr) -> bool {
    match body {
        SetExpr::SetOperation { op, set_quantifier, left, right } => {
            let is_counted = *set_quantifier == SetQuantifier::AllByName && !matches!(op, SetOperator::Union);
            is_counted || counts_by_name(left) || counts_by_name(right)
        }
        _ => false,
    }
}

/// DataFusion shows only the left side's column, NULL for rows of the right side alone. With USING it is
/// rewritten, see `merged_columns`.
fn is_natural(join: &Join) -> bool {
    let (JoinOperator::FullOuter(on) | JoinOperator::Right(on) | JoinOperator::RightOuter(on)) = &join.join_operator else {
        return false;
    };
    *on == JoinConstraint::Natural
}

/// What is not supported, and what to do instead.
type Refusal = ControlFlow<(String, &'static str)>;

fn no(feature: &str, hint: &'static str) -> Refusal {
    ControlFlow::Break((feature.to_string(), hint))
}

impl Visitor for Ignored {
    type Break = (String, &'static str);

    fn pre_visit_query(&mut self, query: &Query) -> Refusal {
        if !std::mem::take(&mut self.is_whole) && changes_rows(&query.body) {
            return no("a statement that changes rows inside a query", "run it by itself, before the query");
        }
        if let Some(lock) = query.locks.first() {
            return no(&lock.to_string(), "queries lock nothing: each sees the last version that was committed");
        }
        if query.for_clause.is_some() {
            return no("FOR XML and FOR JSON", "leave it out");
        }
        if counts_by_name(&query.body) {
            return no("INTERSECT ALL BY NAME and EXCEPT ALL BY NAME", "name the columns in the same order, and leave BY NAME out");
        }
        if query.settings.is_some() || query.format_clause.is_some() {
            return no("SETTINGS and FORMAT of a query", "use SET, and the client's format");
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> Refusal {
        if select.into.is_some() {
            return no("INTO in a part of a statement", "write INTO into the first SELECT of a statement of its own");
        }
        if select.prewhere.is_some() {
            return no("PREWHERE", "use WHERE: the engine reads filtered columns first by itself");
        }
        if !select.connect_by.is_empty() {
            return no("CONNECT BY", "use WITH RECURSIVE");
        }
        if !select.distribute_by.is_empty() {
            return no("DISTRIBUTE BY", "leave it out");
        }
        if select.value_table_mode.is_some() {
            return no("SELECT AS STRUCT", "use struct(…)");
        }
        if select.from.iter().flat_map(|from| &from.joins).any(is_natural) {
            return no("NATURAL FULL and NATURAL RIGHT JOIN", "name the columns with USING");
        }
        match &select.group_by {
            GroupByExpr::Expressions(_, modifiers) | GroupByExpr::All(modifiers) if !modifiers.is_empty() => {
                no(&format!("GROUP BY … {}", modifiers[0]), "write GROUP BY ROLLUP (…) or CUBE (…)")
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Refusal {
        match factor {
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                no("TABLESAMPLE", "filter with random() < 0.01 to see one row in a hundred")
            }
            TableFactor::Table { version: Some(_), .. } => no("a version of a table said so", "write FOR VERSION AS OF 3 or FOR SYSTEM_TIME AS OF '…' behind its name"),
            TableFactor::Table { with_hints, index_hints, .. } if !with_hints.is_empty() || !index_hints.is_empty() => {
                no("hints for a table", "leave them out")
            }
            TableFactor::Table { partitions, .. } if !partitions.is_empty() => no("PARTITION of a table", "use WHERE"),
            TableFactor::Table { with_ordinality: true, .. } | TableFactor::Function { with_ordinality: true, .. } => {
                no("WITH ORDINALITY", "use row_number() OVER ()")
            }
            TableFactor::NestedJoin { table_with_joins, .. }
                if table_with_joins.joins.iter().any(|join| is_merging(&join.join_operator)) =>
            {
                no("FULL or RIGHT JOIN … USING in parentheses", "join ON the columns, and select coalesce(a.x, b.x)")
            }
            TableFactor::Pivot { .. } => no("PIVOT", "use an aggregate with FILTER (WHERE …) for each column"),
            TableFactor::Unpivot { .. } => no("UNPIVOT", "use UNION ALL with a SELECT for each column"),
            TableFactor::MatchRecognize { .. } => no("MATCH_RECOGNIZE", "use windows"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Refusal {
        match expr {
            Expr::Collate { .. } => no("COLLATE", "texts are compared by their bytes; use lower(…) or upper(…)"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_statement(&mut self, statement: &SqlStatement) -> Refusal {
        self.is_whole = matches!(statement, SqlStatement::Query(_));
        match statement {
            SqlStatement::Drop { names, .. } if names.len() > 1 => no("DROP of several names at once", "use a DROP for each"),
            SqlStatement::Drop { object_type, .. } if !matches!(object_type, ObjectType::Table | ObjectType::View | ObjectType::Schema) => {
                no(&format!("DROP {object_type}"), "tables, views and schemas can be dropped, and users and roles")
            }
            SqlStatement::DropFunction(_) | SqlStatement::CreateFunction(_) => no("functions of one's own", "make a view of what is computed"),
            SqlStatement::Drop { purge: true, .. } => no("DROP … PURGE", "leave PURGE out"),
            SqlStatement::Drop { temporary: true, .. } => no("DROP TEMPORARY of what is no table", "leave TEMPORARY out"),
            SqlStatement::CreateSchema { with: Some(_), .. }
            | SqlStatement::CreateSchema { options: Some(_), .. }
            | SqlStatement::CreateSchema { default_collate_spec: Some(_), .. }
            | SqlStatement::CreateSchema { clone: Some(_), .. } => no("options of CREATE SCHEMA", "leave them out"),
            SqlStatement::CreateView(view) if view.secure || view.or_alter || view.params.is_some() => {
                no("options of CREATE VIEW", "leave them out")
            }
            SqlStatement::Explain { estimate: true, .. } | SqlStatement::Explain { query_plan: true, .. } => {
                no("this kind of EXPLAIN", "use EXPLAIN or EXPLAIN ANALYZE")
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

//! Checks the clauses around SELECT and VALUES.

use datafusion::sql::sqlparser::ast::{
    Cte, ExprWithAlias, ExprWithAliasAndOrderBy, Fetch, LimitClause, Offset, OrderBy, OrderByExpr, OrderByKind, OrderByOptions,
    PipeOperator, Query, SetExpr, SetOperator, SetQuantifier, Table, Values, With,
};

use super::relation::{check_alias, check_join};
use super::select::{check_constant, check_items};
use super::{Refusal, YES, no, unless};

pub fn check(query: &Query, is_whole: bool) -> Refusal {
    let Query { with, body, order_by, limit_clause, fetch, locks, for_clause, settings, format_clause, pipe_operators } = query;
    with.iter().try_for_each(check_with)?;
    check_body(body, is_whole)?;
    if let Some(order_by) = order_by {
        check_order_by(order_by)?;
    }
    if let Some(limit) = limit_clause {
        check_limit(limit)?;
    }
    if let Some(Fetch { with_ties, percent, quantity: _ }) = fetch {
        unless(!with_ties, "FETCH … WITH TIES", "use QUALIFY rank() OVER (ORDER BY …) <= 10")?;
        unless(!percent, "FETCH … PERCENT", "use QUALIFY percent_rank() OVER (ORDER BY …) <= 0.1")?;
    }
    if let Some(lock) = locks.first() {
        return no(&lock.to_string(), "queries lock nothing: each sees the last version that was committed");
    }
    unless(for_clause.is_none(), "FOR XML and FOR JSON", "leave it out")?;
    unless(settings.is_none() && format_clause.is_none(), "SETTINGS and FORMAT of a query", "use SET, and the client's format")?;
    pipe_operators.iter().try_for_each(check_pipe)
}

fn check_with(with: &With) -> Refusal {
    let With { with_token: _, recursive: _, cte_tables } = with;
    cte_tables.iter().try_for_each(|table| {
        // Materialization does not change the answer.
        let Cte { alias, query: _, from, materialized: _, closing_paren_token: _ } = table;
        check_alias(alias)?;
        unless(from.is_none(), "FROM behind a query of WITH", "leave it out")
    })
}

fn check_body(body: &SetExpr, is_whole: bool) -> Refusal {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) => YES,
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            check_set(*op, *set_quantifier)?;
            check_body(left, false)?;
            check_body(right, false)
        }
        SetExpr::Values(Values { explicit_row: _, value_keyword: _, rows: _ }) => YES,
        // The parser accepts `WITH … UPDATE` in this form, and also an UPDATE instead of a query.
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            unless(is_whole, "a statement that changes rows inside a query", "run it by itself, before the query")
        }
        SetExpr::Table(table) => {
            let Table { table_name: _, schema_name: _ } = table.as_ref();
            no("TABLE t as a query", "write SELECT * FROM t")
        }
    }
}

fn check_set(op: SetOperator, quantifier: SetQuantifier) -> Refusal {
    let is_counted = match quantifier {
        SetQuantifier::AllByName => true,
        SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::ByName | SetQuantifier::DistinctByName | SetQuantifier::None => false,
    };
    match op {
        SetOperator::Union => YES,
        // DataFusion answers these as if ALL were missing.
        SetOperator::Except | SetOperator::Intersect => {
            unless(!is_counted, "INTERSECT ALL BY NAME and EXCEPT ALL BY NAME", "name the columns in the same order, and leave BY NAME out")
        }
        SetOperator::Minus => no("MINUS", "write EXCEPT"),
    }
}

fn check_order_by(order_by: &OrderBy) -> Refusal {
    let OrderBy { kind, interpolate } = order_by;
    unless(interpolate.is_none(), "INTERPOLATE of ORDER BY", "join a series of all values, as of generate_series()")?;
    match kind {
        OrderByKind::Expressions(keys) => keys.iter().try_for_each(check_key_of_query),
        OrderByKind::All(OrderByOptions { asc: _, nulls_first: _ }) => YES,
    }
}

fn check_key_of_query(key: &OrderByExpr) -> Refusal {
    check_key(key)?;
    check_constant(&key.expr)
}

/// Checks a key of any ORDER BY.
pub fn check_key(key: &OrderByExpr) -> Refusal {
    let OrderByExpr { expr: _, options: OrderByOptions { asc: _, nulls_first: _ }, with_fill } = key;
    unless(with_fill.is_none(), "WITH FILL of ORDER BY", "join a series of all values, as of generate_series()")
}

fn check_limit(limit: &LimitClause) -> Refusal {
    match limit {
        LimitClause::LimitOffset { limit: _, offset, limit_by } => {
            if let Some(Offset { value: _, rows: _ }) = offset {}
            unless(limit_by.is_empty(), "LIMIT … BY", "use QUALIFY row_number() OVER (PARTITION BY … ORDER BY …) <= 3")
        }
        LimitClause::OffsetCommaLimit { offset: _, limit: _ } => YES,
    }
}

fn check_pipe(pipe: &PipeOperator) -> Refusal {
    match pipe {
        PipeOperator::Limit { expr: _, offset: _ } | PipeOperator::Where { expr: _ } | PipeOperator::As { alias: _ } => YES,
        PipeOperator::OrderBy { exprs } => exprs.iter().try_for_each(check_key_of_query),
        PipeOperator::Select { exprs } | PipeOperator::Extend { exprs } => check_items(exprs),
        PipeOperator::Aggregate { full_table_exprs, group_by_expr } => full_table_exprs.iter().chain(group_by_expr).try_for_each(|item| {
            let ExprWithAliasAndOrderBy { expr: ExprWithAlias { expr: _, alias: _ }, order_by: OrderByOptions { asc, nulls_first } } = item;
            unless(asc.is_none() && nulls_first.is_none(), "an order in |> AGGREGATE", "use |> ORDER BY")
        }),
        PipeOperator::Union { set_quantifier, queries: _ } => check_set(SetOperator::Union, *set_quantifier),
        PipeOperator::Intersect { set_quantifier, queries: _ } => check_set(SetOperator::Intersect, *set_quantifier),
        PipeOperator::Except { set_quantifier, queries: _ } => check_set(SetOperator::Except, *set_quantifier),
        PipeOperator::Join(join) => check_join(join),
        PipeOperator::Set { .. }
        | PipeOperator::Drop { .. }
        | PipeOperator::TableSample { .. }
        | PipeOperator::Rename { .. }
        | PipeOperator::Call { .. }
        | PipeOperator::Pivot { .. }
        | PipeOperator::Unpivot { .. } => no(&format!("|> {pipe}"), "use |> SELECT, or a query with SELECT … FROM"),
    }
}

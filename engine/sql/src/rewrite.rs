//! Rewrites clauses that DataFusion answers wrongly to others that it answers correctly.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, Select, TableFactor, VisitMut, VisitorMut};

use super::arrays::select_region;
use super::at_time_zone::move_to_zone;
use super::balanced_operators::balance;
use super::defined_functions::{expand, name_defined_item};
use super::distinct_on::find_places;
use super::except_all::rewrite_set_all;
use super::fetch::rewrite_fetch;
use super::grouping::spread_columns;
use super::intervals::read_interval;
use super::merged_columns::merge_columns;
use super::named_arguments::pack_named_arguments;
use super::named_windows::inline_named_windows;
use super::order_all::number_all;
use super::power::{rewrite_power, sign_first};
use super::quantified::{keep_unknown, name_quantified, name_quantified_item};
use super::recursive_ctes::keep_clauses;
use super::select_width::check_select_width;
use super::similar::{replace_escape, replace_similar};
use super::unique_names::name_branches;
use crate::walk::{WalkMut, each_select_mut, into_flow, into_result, walk_statement_mut};
use common::error::EngineError;

/// Changes the statement in place.
pub fn rewrite(statement: &mut Statement) -> Result<(), EngineError> {
    into_result(walk_statement_mut(statement, &mut Rewriting))
}

/// The same for an expression by itself.
pub fn rewrite_part(part: &mut impl VisitMut) -> Result<(), EngineError> {
    into_result(part.walk_mut(&mut Rewriting))
}

struct Rewriting;

/// Inner queries are rewritten before the queries around them.
impl VisitorMut for Rewriting {
    type Break = EngineError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<EngineError> {
        let checked = check_select_width(select);
        let placed = find_places(select);
        spread_columns(&mut select.group_by);
        select.projection.iter_mut().for_each(name_quantified_item);
        select.projection.iter_mut().for_each(name_defined_item);
        into_flow(checked.and(placed))
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<EngineError> {
        let spelt = each_select_mut(&mut query.body, query.order_by.as_mut(), &mut inline_named_windows);
        let limited = spelt.and_then(|()| rewrite_fetch(query)).and_then(|()| number_all(query));
        into_flow(limited.and_then(|()| query.with.as_mut().map_or(Ok(()), keep_clauses)))
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<EngineError> {
        let merged = each_select_mut(&mut query.body, query.order_by.as_mut(), &mut merge_columns);
        name_branches(query);
        into_flow(merged.and_then(|()| rewrite_set_all(&mut query.body)))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<EngineError> {
        into_flow(pack_named_arguments(factor))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<EngineError> {
        sign_first(expr);
        balance(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<EngineError> {
        name_quantified(expr);
        read_interval(expr);
        divide_whole(expr);
        let replaced = expand(expr)
            .and_then(|()| keep_unknown(expr))
            .and_then(|()| replace_similar(expr))
            .and_then(|()| replace_escape(expr))
            .and_then(|()| rewrite_power(expr));
        into_flow(replaced.and_then(|()| move_to_zone(expr)).and_then(|()| select_region(expr)))
    }
}

/// `a // b` divides as `a / b` does of whole numbers.
fn divide_whole(expr: &mut Expr) {
    if let Expr::BinaryOp { op: op @ (BinaryOperator::DuckIntegerDivide | BinaryOperator::MyIntegerDivide), .. } = expr {
        *op = BinaryOperator::Divide;
    }
}

//! Finds the SELECTs that DataFusion might interpret wrongly.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Join, JoinConstraint, Select, SelectItem, TableFactor, TableWithJoins, Visitor, WildcardAdditionalOptions,
};

use sql::walk::{Walk, walk_statement};
use table::catalog::constraint_of;

pub fn needs_rewrite(select: &Select) -> bool {
    let has_wildcard = select.projection.iter().any(|item| options_of(item).is_some());
    let has_options = select.projection.iter().filter_map(options_of).any(is_more);
    has_options || select.from.iter().any(makes_one) || has_wildcard && has_leak(select)
}

/// Whether the tables include a subquery without an alias that exposes columns of its own tables.
pub fn has_leak(select: &Select) -> bool {
    select.from.iter().any(|table| leaks(&table.relation) || table.joins.iter().any(|join| leaks(&join.relation)))
}

/// Whether the statement contains such a SELECT.
pub fn has_concerned(statement: &Statement) -> bool {
    walk_statement(statement, &mut RewriteNeeded).is_break()
}

struct RewriteNeeded;

impl Visitor for RewriteNeeded {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if needs_rewrite(select) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

pub fn options_of(item: &SelectItem) -> Option<&WildcardAdditionalOptions> {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => Some(options),
        _ => None,
    }
}

/// DataFusion itself handles `* EXCLUDE`.
fn is_more(options: &WildcardAdditionalOptions) -> bool {
    options.opt_ilike.is_some() || options.opt_replace.is_some()
}

/// Whether a join merges columns.
fn makes_one(table: &TableWithJoins) -> bool {
    let nested = |factor: &TableFactor| matches!(factor, TableFactor::NestedJoin { table_with_joins, .. } if makes_one(table_with_joins));
    nested(&table.relation) || table.joins.iter().any(|join| is_merging(join) || nested(&join.relation))
}

fn is_merging(join: &Join) -> bool {
    matches!(constraint_of(&join.join_operator), Some(JoinConstraint::Using(_) | JoinConstraint::Natural))
}

/// A subquery without an alias exposes the names of its tables, and so which of their columns a join in it has merged.
fn leaks(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::Derived { alias: None, subquery, .. } if subquery.walk(&mut MergingJoin).is_break())
}

struct MergingJoin;

impl Visitor for MergingJoin {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if select.from.iter().any(makes_one) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

//! Suggests the alias that a misspelled name in HAVING may have meant: DataFusion accepts aliases there, but suggests only columns.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Select, SelectItem, Visitor};
use datafusion::sql::sqlparser::parser::Parser;

use crate::QuiverDialect;
use crate::walk::Walk;
use common::error::nearest;

/// Longer statements are not typed by hand.
const TEXT_BYTES_MAX: usize = 64 << 10;

pub fn similar_alias(sql: &str, name: &str) -> Option<String> {
    if sql.len() > TEXT_BYTES_MAX {
        return None;
    }
    let statements = Parser::parse_sql(&QuiverDialect, sql).ok()?;
    match statements.walk(&mut Selects { name }) {
        ControlFlow::Break(alias) => Some(alias),
        ControlFlow::Continue(()) => None,
    }
}

struct Selects<'a> {
    name: &'a str,
}

impl Visitor for Selects<'_> {
    type Break = String;

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<String> {
        let is_named = select.having.as_ref().is_some_and(|having| having.walk(&mut NameFinder { name: self.name }).is_break());
        let aliases = select.projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.as_str()),
            _ => None,
        });
        match nearest(self.name, aliases).filter(|_| is_named) {
            Some(alias) => ControlFlow::Break(alias.to_string()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Whether the name occurs in an expression.
struct NameFinder<'a> {
    name: &'a str,
}

impl Visitor for NameFinder<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) if ident.value.eq_ignore_ascii_case(self.name) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

//! `SELECT price * 2 AS double, double + 1 FROM t WHERE double > 5`: an alias of the SELECT list in the list itself, in WHERE and in QUALIFY,
//! as in DuckDB. A column of FROM comes first, and only the planner knows those. So an alias is used where it found no column of the name.

use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, Result, SchemaError};
use datafusion::logical_expr::{LogicalPlan, Volatility};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, OneOrManyWithParens, Query, Select, SelectItem, Visitor, VisitorMut};
use datafusion::sql::sqlparser::tokenizer::Location;

use sql::merged_names::normalized;
use sql::walk::{Walk, WalkMut, walk_statement_mut};
use table::catalog::StatementTables;

/// Each alias is replaced by itself, and the statement is planned again.
const ALIASES_MAX: usize = 32;
/// The parts of all expressions that take the place of an alias: aliases of aliases would double them each time.
const PARTS_MAX: usize = 4_000;

/// Plans the statement, and again with the expressions of aliases in their place while columns of their names are missing. If that does
/// not help, the error is of the statement as it was written.
pub fn with_select_aliases(
    tables: &StatementTables<'_>,
    statement: &Statement,
    plan: impl Fn(&Statement) -> Result<LogicalPlan>,
) -> Result<LogicalPlan> {
    let error = match plan(statement) {
        Err(error) => error,
        planned => return planned,
    };
    let mut changed = statement.clone();
    let mut missing = missing_name(&error);
    let mut parts = 0;
    for _ in 0..ALIASES_MAX {
        let Some((name, place)) = missing else { break };
        let mut aliases = Aliases { tables, name: &name, place, parts: 0 };
        let _: ControlFlow<()> = walk_statement_mut(&mut changed, &mut aliases);
        parts += aliases.parts;
        if aliases.parts == 0 || parts > PARTS_MAX {
            break;
        }
        match plan(&changed) {
            Err(next) => missing = missing_name(&next),
            planned => return planned,
        }
    }
    Err(error)
}

/// The name without a table that no column has, and where it stands.
fn missing_name(error: &DataFusionError) -> Option<(String, Location)> {
    let DataFusionError::SchemaError(root, _) = error.find_root() else { return None };
    let SchemaError::FieldNotFound { field, .. } = root.as_ref() else { return None };
    let span = field.spans().first().or_else(|| error.diagnostic()?.span)?;
    field.relation.is_none().then(|| (field.name.clone(), Location { line: span.start.line, column: span.start.column }))
}

/// Changes the SELECT in which the name stands.
struct Aliases<'a> {
    tables: &'a StatementTables<'a>,
    name: &'a str,
    place: Location,
    parts: usize,
}

impl VisitorMut for Aliases<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let is_it = |item: &SelectItem| matches!(item, SelectItem::ExprWithAlias { alias, .. } if normalized(alias) == self.name);
        let Some(at) = select.projection.iter().position(is_it) else { return ControlFlow::Continue(()) };
        let SelectItem::ExprWithAlias { expr, .. } = select.projection[at].clone() else { return ControlFlow::Continue(()) };
        let mut parts = Parts { tables: self.tables, name: self.name, count: 0 };
        // An alias of itself is none, and a random number would be another one each time.
        if expr.walk(&mut parts).is_break() {
            return ControlFlow::Continue(());
        }
        let mut changed = select.clone();
        let mut uses = Uses { name: self.name, place: self.place, expr: &expr, depth: 0, count: 0, is_there: false };
        for (item, part) in changed.projection.iter_mut().enumerate() {
            if item != at {
                let _ = part.walk_mut(&mut uses);
            }
        }
        let _ = changed.selection.as_mut().map(|condition| condition.walk_mut(&mut uses));
        let _ = changed.qualify.as_mut().map(|condition| condition.walk_mut(&mut uses));
        let (count, is_there) = (uses.count, uses.is_there);
        if !is_there {
            return ControlFlow::Continue(());
        }
        *select = changed;
        self.parts = count * parts.count;
        ControlFlow::Break(())
    }
}

/// Counts the parts of an expression, which must not mention the name or call a function whose results differ.
struct Parts<'a> {
    tables: &'a StatementTables<'a>,
    name: &'a str,
    count: usize,
}

impl Visitor for Parts<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.count += 1;
        let is_refused = match expr {
            Expr::Identifier(ident) => normalized(ident) == self.name,
            Expr::Function(call) => {
                let name = call.name.0.last().and_then(|part| part.as_ident()).map(normalized).unwrap_or_default();
                let function = self.tables.state.scalar_functions().get(&name);
                function.is_some_and(|function| function.signature().volatility == Volatility::Volatile)
            }
            _ => false,
        };
        if is_refused { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Puts the expression in the place of its alias, outside of subqueries and of lambdas with a parameter of the name.
struct Uses<'a> {
    name: &'a str,
    place: Location,
    expr: &'a Expr,
    depth: usize,
    count: usize,
    is_there: bool,
}

impl Uses<'_> {
    fn hides(&self, expr: &Expr) -> bool {
        let Expr::Lambda(lambda) = expr else { return false };
        match &lambda.params {
            OneOrManyWithParens::One(parameter) => normalized(&parameter.name) == self.name,
            OneOrManyWithParens::Many(parameters) => parameters.iter().any(|parameter| normalized(&parameter.name) == self.name),
        }
    }
}

impl VisitorMut for Uses<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.depth += usize::from(self.hides(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.depth -= usize::from(self.hides(expr));
        if let Expr::Identifier(ident) = expr
            && self.depth == 0
            && normalized(ident) == self.name
        {
            self.is_there |= ident.span.start == self.place;
            *expr = Expr::Nested(Box::new(self.expr.clone()));
            self.count += 1;
        }
        ControlFlow::Continue(())
    }
}

//! Expressions of CHECK and DEFAULT, from SQL to a physical expression.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{EmptyRelation, Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::sql::sqlparser::ast::{self, ExprWithAlias, Ident, Visitor};
use datafusion::sql::sqlparser::parser::Parser;

use super::context::RuleContext;
use super::declare::identifier;
use common::error::EngineError;
use common::type_names::quoted;
use semantics::optimizer;
use sql::walk::{Walk, each_expr_mut};
use sql::{QuiverDialect, rewrite_part};

/// Whatever was parsed as part of a statement can be parsed alone.
const DEPTH_MAX: usize = 1_000;

/// A planned expression over the columns of a schema.
pub struct PlannedExpr {
    pub expr: Expr,
    schema: DFSchemaRef,
}

impl PlannedExpr {
    /// `what` says which kind of expression this is: CHECK or DEFAULT.
    pub fn of(context: &RuleContext, text: &str, schema: &Schema, what: &str) -> Result<PlannedExpr> {
        let schema = Arc::new(DFSchema::try_from(schema.clone())?);
        let mut expr = parsed(text)?;
        if expr.walk(&mut Queries).is_break() {
            return Err(refused("a subquery", what));
        }
        rewrite_part(&mut expr)?;
        let expr = context.planner().create_logical_expr_from_sql_expr(ExprWithAlias { expr, alias: None }, &schema)?;
        refuse_parts(&expr, what)?;
        Ok(PlannedExpr { expr, schema })
    }

    /// The positions of the columns that it reads, ascending.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> =
            self.expr.column_refs().into_iter().filter_map(|column| self.schema.maybe_index_of_column(column)).collect();
        columns.sort_unstable();
        columns
    }

    /// With the rules that the engine applies to every expression of a statement.
    pub fn physical(&self, context: &RuleContext) -> Result<Arc<dyn PhysicalExpr>> {
        let state = context.planner();
        let expr = self.analyzed(state)?;
        let mut now = ExecutionProps::new();
        now.mark_start_execution(Arc::clone(state.config_options()));
        let simplify = SimplifyContext::builder()
            .with_schema(Arc::clone(&self.schema))
            .with_config_options(Arc::clone(state.config_options()))
            .with_query_execution_start_time(now.query_execution_start_time)
            .build();
        let expr = optimizer::with_exact_comparisons(expr, &simplify)?.data;
        // This evaluates functions such as now().
        let expr = ExprSimplifier::new(simplify).simplify(expr)?;
        state.create_physical_expr(expr, &self.schema)
    }

    fn analyzed(&self, state: &SessionState) -> Result<Expr> {
        let input = LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema: Arc::clone(&self.schema) });
        let plan = LogicalPlanBuilder::from(input).project([self.expr.clone().alias("value")])?.build()?;
        let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
        match plan {
            LogicalPlan::Projection(projection) if projection.expr.len() == 1 => Ok(projection.expr[0].clone().unalias()),
            other => datafusion::common::internal_err!("an expression became {}", other.display()),
        }
    }
}

fn refuse_parts(expr: &Expr, what: &str) -> Result<()> {
    let mut part = None;
    expr.apply(|node| {
        part = match node {
            Expr::AggregateFunction(_) => Some("an aggregate"),
            Expr::WindowFunction(_) => Some("a window function"),
            Expr::Placeholder(_) => Some("a parameter"),
            Expr::Unnest(_) => Some("UNNEST"),
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        Ok(TreeNodeRecursion::Stop)
    })?;
    match part {
        Some(part) => Err(refused(part, what)),
        None => Ok(()),
    }
}

fn refused(part: &str, what: &str) -> DataFusionError {
    let hint = Some("use constants and functions, and in CHECK the columns of the row");
    EngineError::unsupported(format!("{part} in {what}"), hint).into_datafusion()
}

/// Stops at a subquery, before its tables are resolved.
struct Queries;

impl Visitor for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

pub fn parsed(text: &str) -> Result<ast::Expr, EngineError> {
    let mut parser = Parser::new(&QuiverDialect).with_recursion_limit(DEPTH_MAX).try_with_sql(text);
    let parsed = parser.as_mut().map(|parser| parser.parse_expr());
    match parsed {
        Ok(Ok(expr)) => Ok(expr),
        _ => Err(EngineError::internal(format!("an expression of the catalog cannot be read again: {text}"))),
    }
}

/// The expression with the column `old` renamed to `new`.
pub fn renamed(text: &str, old: &str, new: &str) -> Result<String, EngineError> {
    let mut expr = parsed(text)?;
    let rename = |ident: &mut Ident| {
        if identifier(ident) == old {
            *ident = if quoted(new) == new { Ident::new(new) } else { Ident::with_quote('"', new) };
        }
    };
    each_expr_mut(&mut expr, &mut |node| match node {
        ast::Expr::Identifier(ident) => rename(ident),
        // A field of a struct, possibly nested.
        ast::Expr::CompoundIdentifier(parts) => parts.iter_mut().take(1).for_each(rename),
        _ => {}
    });
    Ok(expr.to_string())
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn a_column_is_renamed_wherever_it_is_and_nothing_else_is() {
        let renamed = |text| renamed(text, "a", "B c").unwrap();
        assert_eq!(renamed("a > 0 AND b < A"), "\"B c\" > 0 AND b < \"B c\"");
        assert_eq!(renamed("\"a\" IN (1, 2) OR lower(s) = 'a'"), "\"B c\" IN (1, 2) OR lower(s) = 'a'");
        assert_eq!(renamed("\"A\" > 0"), "\"A\" > 0");
        assert_eq!(renamed("a.x > s.a"), "\"B c\".x > s.a");
        assert_eq!(super::renamed("a > 0", "a", "b").unwrap(), "b > 0");
    }
}

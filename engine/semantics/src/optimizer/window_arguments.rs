//! Evaluates expensive expressions of window functions below the window, and also keys that cast a sort column.
//!
//! A window evaluates them for all rows of a partition that it holds, and again when more rows come. In a projection below it each row is
//! evaluated once, and a cancelled query stops between two slices of rows (`cancel/operators.rs`).
//!
//! When DataFusion removes sorts, it knows that rows in the order of `ts::date, ts` are in that of `ts`; when it checks the plan, it does
//! not. `avg(v) OVER (PARTITION BY ts::date ORDER BY ts), row_number() OVER (ORDER BY ts)` was an error if `ts` is NOT NULL.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Projection, Window};
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::cancel::may_be_expensive_in_plan;

pub fn window_arguments(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Window(window) => with_arguments_below(window),
        plan => Ok(Transformed::no(plan)),
    })
    .data()
}

fn with_arguments_below(window: Window) -> Result<Transformed<LogicalPlan>> {
    let mut below = ArgumentProjection { schema: window.input.schema(), expensive: Vec::new() };
    let names = NamePreserver::new_for_projection();
    let exprs = window.window_expr.iter().map(|expr| {
        let name = names.save(expr);
        Ok(name.restore(below.rewritten(expr.clone())?))
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    if below.expensive.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let known = below.schema.columns().into_iter().map(Expr::Column);
    let computed = below.expensive.iter().map(|(expr, name)| expr.clone().alias(name));
    let input = Projection::try_new(known.chain(computed).collect(), Arc::clone(&window.input))?;
    let new = Window::try_new(exprs, Arc::new(LogicalPlan::Projection(input)))?;
    // The columns that the window had before.
    let output = Projection::new_from_schema(Arc::new(LogicalPlan::Window(new)), Arc::clone(&window.schema));
    Ok(Transformed::yes(LogicalPlan::Projection(output)))
}

struct ArgumentProjection<'a> {
    schema: &'a DFSchema,
    /// The expressions that the projection computes, each with its name.
    expensive: Vec<(Expr, String)>,
}

impl ArgumentProjection<'_> {
    fn rewritten(&mut self, expr: Expr) -> Result<Expr> {
        let new = expr.transform_down(|expr| {
            let Expr::WindowFunction(mut function) = expr else { return Ok(Transformed::no(expr)) };
            let params = &mut function.params;
            let plain: HashSet<Column> = params.order_by.iter().filter_map(|sort| sort.expr.try_as_col().cloned()).collect();
            let keys = params.partition_by.iter_mut().chain(params.order_by.iter_mut().map(|sort| &mut sort.expr));
            let filter = params.filter.iter_mut().map(AsMut::as_mut);
            let parts = params.args.iter_mut().chain(filter).map(|part| (part, false)).chain(keys.map(|key| (key, true)));
            for (part, is_key) in parts {
                if self.may_be_below(part) && (may_be_expensive_in_plan(part, self.schema) || is_key && has_cast_of(part, &plain)) {
                    *part = self.column(part.clone());
                }
            }
            Ok(Transformed::new(Expr::WindowFunction(function), true, TreeNodeRecursion::Jump))
        });
        new.data()
    }

    /// Constants stay, because some arguments must be constant. Expressions with columns of an outer query stay too.
    fn may_be_below(&self, expr: &Expr) -> bool {
        expr.any_column_refs()
            && !expr.is_volatile()
            && !expr.contains_outer()
            && !expr.exists(|part| Ok(is_subquery(part))).unwrap_or(true)
    }

    fn column(&mut self, expr: Expr) -> Expr {
        let known = self.expensive.iter().position(|(expensive, _)| *expensive == expr);
        let at = known.unwrap_or_else(|| {
            let free = (self.expensive.len()..).map(|number| format!("__window_argument_{number}"));
            let name = free.into_iter().find(|name| self.is_free(name)).unwrap_or_default();
            self.expensive.push((expr, name));
            self.expensive.len() - 1
        });
        Expr::Column(Column::new_unqualified(&self.expensive[at].1))
    }

    fn is_free(&self, name: &str) -> bool {
        !self.schema.has_column_with_unqualified_name(name) && self.expensive.iter().all(|(_, used)| used != name)
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_))
}

fn has_cast_of(expr: &Expr, columns: &HashSet<Column>) -> bool {
    // The walk itself cannot fail.
    expr.exists(|part| Ok(matches!(part, Expr::Cast(cast) if cast.expr.column_refs().iter().any(|column| columns.contains(*column)))))
        .unwrap_or(true)
}

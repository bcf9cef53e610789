//! Names within a plan. Substrait counts columns; DataFusion finds them by name, and finds the wrong one, or none, where two have the
//! same. So every column that the consumer computes gets a name that nothing else in the plan has; one that is only passed on keeps its own,
//! the first time. Every table that is read twice gets another name the second time.

use std::collections::HashSet;

use datafusion::common::{Column, DFSchema, Result as DfResult};
use datafusion::logical_expr::builder::project;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::consume::Consumer;
use crate::error::PlanError;

/// The columns of a projection, each with a name of its own.
pub struct Columns<'c, 'a> {
    consumer: &'c Consumer<'a>,
    exprs: Vec<Expr>,
    passed: HashSet<Column>,
}

impl<'c, 'a> Columns<'c, 'a> {
    pub fn new(consumer: &'c Consumer<'a>) -> Columns<'c, 'a> {
        Columns { consumer, exprs: Vec::new(), passed: HashSet::new() }
    }

    /// A column that is passed on keeps its name the first time.
    pub fn push(&mut self, expr: Expr) {
        match &expr {
            Expr::Column(column) if self.passed.insert(column.clone()) => self.exprs.push(expr),
            _ => self.anew(expr),
        }
    }

    /// Under a name that nothing has.
    pub fn anew(&mut self, expr: Expr) {
        let name = self.consumer.fresh.column();
        self.consumer.lengths.carry(&expr, &name);
        self.exprs.push(expr.alias(name));
    }

    /// An expression that has its name.
    pub fn named(&mut self, expr: Expr) {
        self.exprs.push(expr);
    }

    /// The `index`-th column of a schema.
    pub fn pass(&mut self, schema: &DFSchema, index: usize) -> DfResult<()> {
        self.push(column(schema, index)?);
        Ok(())
    }

    pub fn over(self, input: LogicalPlan) -> DfResult<LogicalPlan> {
        project(input, self.exprs)
    }
}

/// The `index`-th column of a schema.
pub fn column(schema: &DFSchema, index: usize) -> DfResult<Expr> {
    if index >= schema.fields().len() {
        let what = format!("a reference to field {index} of {}", schema.fields().len());
        return Err(PlanError::invalid(what, "an expression").into());
    }
    Ok(Expr::Column(Column::from(schema.qualified_field(index))))
}

//! Names within a plan. Substrait refers to columns by position. DataFusion refers to them by name, and finds the wrong one or none if two
//! have the same name. So every computed column gets a unique name. A column that is only passed on keeps its name the first time, and a
//! table that is read twice gets another name the second time.

use std::collections::HashSet;

use datafusion::common::{Column, DFSchema, Result as DfResult};
use datafusion::logical_expr::builder::project;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::consume::Consumer;
use crate::error::PlanError;

/// The columns of a projection, each with a unique name.
pub struct Columns<'c, 'a> {
    consumer: &'c Consumer<'a>,
    exprs: Vec<Expr>,
    passed: HashSet<Column>,
}

impl<'c, 'a> Columns<'c, 'a> {
    pub fn new(consumer: &'c Consumer<'a>) -> Columns<'c, 'a> {
        Columns { consumer, exprs: Vec::new(), passed: HashSet::new() }
    }

    /// Adds a column. If it is only passed on, it keeps its name the first time.
    pub fn push(&mut self, expr: Expr) {
        match &expr {
            Expr::Column(column) if self.passed.insert(column.clone()) => self.exprs.push(expr),
            _ => self.anew(expr),
        }
    }

    /// Adds a column under a unique name.
    pub fn anew(&mut self, expr: Expr) {
        let name = self.consumer.fresh.column();
        self.consumer.lengths.carry(&expr, &name);
        self.exprs.push(expr.alias(name));
    }

    /// Adds an expression under the name that it has.
    pub fn named(&mut self, expr: Expr) {
        self.exprs.push(expr);
    }

    /// Adds the `index`-th column of a schema.
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

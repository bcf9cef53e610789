//! Names within a plan. Substrait counts columns; DataFusion finds them by name, and finds the wrong one, or none, where two have the
//! same. So every column that the consumer computes gets a name that nothing else in the plan has; one that is only passed on keeps its own,
//! the first time. Every table that is read twice gets another name the second time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{Column, DFSchema, Result as DfResult, TableReference};
use datafusion::logical_expr::builder::project;
use datafusion::logical_expr::{Expr, LogicalPlan};
use parking_lot::Mutex;

use super::consume::Consumer;
use crate::error::PlanError;
use crate::proto::rel::RelType;
use crate::proto::{Plan, Rel};
use crate::walk::{PlanPart, each};

/// What the names of columns begin with that are made here.
const PREFIX: &str = "__quiver_c";

/// Names that were not given before.
#[derive(Debug)]
pub struct NameGenerator {
    columns: AtomicUsize,
    /// Columns of the plan's tables that are called like one that is made here, in small letters.
    taken: HashSet<String>,
    tables: Mutex<HashSet<String>>,
}

impl NameGenerator {
    /// Of a table come the columns that the plan names, in letters of any case, and no others.
    pub fn of(plan: &Plan) -> NameGenerator {
        let mut taken = HashSet::new();
        each(plan, &mut |part| {
            if let PlanPart::Rel(Rel { rel_type: Some(RelType::Read(read)) }) = part {
                let names = read.base_schema.iter().flat_map(|schema| &schema.names).map(|name| name.to_lowercase());
                taken.extend(names.filter(|name| name.starts_with(PREFIX)));
            }
        });
        NameGenerator { columns: AtomicUsize::default(), taken, tables: Mutex::default() }
    }

    pub fn column(&self) -> String {
        loop {
            let name = format!("{PREFIX}{}", self.columns.fetch_add(1, Ordering::Relaxed));
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    /// Another name for a table whose name was taken; None the first time. The schema in front of a name does not count: DataFusion
    /// takes `t` for `s.t`.
    pub fn table(&self, name: &str) -> Option<TableReference> {
        let mut tables = self.tables.lock();
        if tables.insert(name.to_string()) {
            return None;
        }
        let other = (2_usize..).map(|number| format!("{name}_{number}")).find(|other| tables.insert(other.clone()));
        other.map(TableReference::bare)
    }
}

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

//! The entries of the tables of functions.

use datafusion::common::Result as DfResult;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::call::Call;
use super::options::Accepted;

/// A function that a plan may call.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    values: (usize, usize),
    enums: (usize, usize),
    pub options: &'static [Accepted],
    form: Form,
}

#[derive(Debug)]
enum Form {
    Operator(Operator),
    One(fn(Expr) -> Expr),
    /// DataFusion's function of this name.
    Named(&'static str),
    Built(fn(Call<'_>) -> DfResult<Expr>),
}

pub const ANY: usize = usize::MAX;

const fn entry(name: &'static str, values: (usize, usize), form: Form) -> Entry {
    Entry { name, values, enums: (0, 0), options: &[], form }
}

/// An operator between two values.
pub const fn operator(name: &'static str, operator: Operator) -> Entry {
    entry(name, (2, 2), Form::Operator(operator))
}

/// A form of one value.
pub const fn one(name: &'static str, form: fn(Expr) -> Expr) -> Entry {
    entry(name, (1, 1), Form::One(form))
}

/// DataFusion's function, with its arguments in the same order.
pub const fn named(name: &'static str, values: (usize, usize), function: &'static str) -> Entry {
    entry(name, values, Form::Named(function))
}

pub const fn built(name: &'static str, values: (usize, usize), form: fn(Call<'_>) -> DfResult<Expr>) -> Entry {
    entry(name, values, Form::Built(form))
}

impl Entry {
    pub const fn with(mut self, options: &'static [Accepted]) -> Entry {
        self.options = options;
        self
    }

    pub const fn enums(mut self, least: usize, most: usize) -> Entry {
        self.enums = (least, most);
        self
    }

    /// Counts enumerations and values.
    pub fn arity(&self) -> (usize, usize) {
        (self.values.0 + self.enums.0, self.values.1.saturating_add(self.enums.1))
    }

    /// Whether it compares two values for order or equality.
    pub fn compares(&self) -> bool {
        use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        matches!(self.form, Form::Operator(Eq | NotEq | Lt | LtEq | Gt | GtEq))
    }

    pub fn expression(&self, mut call: Call<'_>) -> DfResult<Expr> {
        call.check(self.values, self.enums)?;
        match &self.form {
            Form::Operator(op) => {
                let (left, right) = call.two()?;
                Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), *op, Box::new(right))))
            }
            Form::One(form) => Ok(form(call.one()?)),
            Form::Named(function) => {
                let values = std::mem::take(&mut call.values);
                call.function(function, values)
            }
            Form::Built(form) => form(call),
        }
    }
}

//! A call of a function, with everything that is needed to translate it.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable};
use datafusion::scalar::ScalarValue;

use super::options::Options;
use crate::error::PlanError;

/// In every supported function of the standard the enumerations come before the values, so their order is enough.
#[derive(Debug, Default)]
pub struct Arguments {
    /// In upper case.
    pub enums: Vec<String>,
    pub values: Vec<Expr>,
}

impl Arguments {
    /// Whether an argument is a floating-point number.
    pub fn are_floats(&self, schema: &DFSchema) -> bool {
        self.values.iter().any(|value| value.get_type(schema).is_ok_and(|data_type| data_type.is_floating()))
    }

    /// Casts doubles to DataFusion's type for comparing a double with a decimal: it has this scale, whatever the decimal's is.
    pub fn doubles_as_decimals(&mut self, schema: &DFSchema) {
        let type_of = |value: &Expr| value.get_type(schema).unwrap_or(DataType::Null);
        if !self.values.iter().any(|value| matches!(type_of(value), DataType::Decimal128(..) | DataType::Decimal256(..))) {
            return;
        }
        for value in &mut self.values {
            let decimal = match type_of(value) {
                DataType::Float64 => DataType::Decimal128(30, 15),
                DataType::Float32 => DataType::Decimal128(14, 7),
                _ => continue,
            };
            *value = cast(std::mem::take(value), decimal);
        }
    }

    /// For a function without enumerations.
    pub fn values_only(self, place: &str) -> Result<Vec<Expr>, PlanError> {
        match self.enums.first() {
            None => Ok(self.values),
            Some(name) => Err(PlanError::invalid(format!("the enumeration {} as an argument", name.escape_default()), place)),
        }
    }
}

pub struct Call<'c> {
    pub state: &'c SessionState,
    pub schema: &'c DFSchema,
    /// The position for error messages.
    pub place: String,
    pub enums: Vec<String>,
    pub values: Vec<Expr>,
    pub options: Options,
}

impl<'c> Call<'c> {
    pub fn new(state: &'c SessionState, schema: &'c DFSchema, place: String, arguments: Arguments, options: Options) -> Call<'c> {
        Call { state, schema, place, enums: arguments.enums, values: arguments.values, options }
    }

    /// Checks that the numbers of enumerations and values fit the function.
    pub fn check(&self, values: (usize, usize), enums: (usize, usize)) -> Result<(), PlanError> {
        let is_in = |(least, most): (usize, usize), found: usize| (least..=most).contains(&found);
        match is_in(values, self.values.len()) && is_in(enums, self.enums.len()) {
            true => Ok(()),
            false => {
                let what = format!("{} values and {} enumerations as arguments", self.values.len(), self.enums.len());
                Err(self.invalid(what))
            }
        }
    }

    pub fn invalid(&self, what: impl Into<String>) -> PlanError {
        PlanError::invalid(what, &self.place)
    }

    pub fn unsupported(&self, what: impl Into<String>) -> PlanError {
        PlanError::unsupported(what, &self.place)
    }

    /// Returns the only value.
    pub fn one(&mut self) -> Result<Expr, PlanError> {
        self.values.pop().ok_or_else(|| self.invalid("no value as an argument"))
    }

    /// Returns the only two values.
    pub fn two(&mut self) -> Result<(Expr, Expr), PlanError> {
        let (second, first) = (self.values.pop(), self.values.pop());
        first.zip(second).ok_or_else(|| self.invalid("fewer than two values as arguments"))
    }

    /// A call of DataFusion's function.
    pub fn function(&self, name: &str, values: Vec<Expr>) -> DfResult<Expr> {
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(self.state.udf(name)?, values)))
    }

    pub fn type_of(&self, expr: &Expr) -> DfResult<DataType> {
        expr.get_type(self.schema)
    }
}

pub fn cast(expr: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), to))
}

/// The text, if it is a constant.
pub fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

pub fn null() -> Expr {
    Expr::Literal(ScalarValue::Null, None)
}

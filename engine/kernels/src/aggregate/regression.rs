//! `linear_regression`: fits a column as a linear combination of others.

use std::sync::Arc;

use arrow::array::StructArray;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Signature, Volatility};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::function::{documented, refuse_distinct};
use super::summary::{Summing, double, list_of_doubles, state_types};
use crate::numeric::regression::{Regression, RegressionError};
use crate::scalar::types::{as_number_type, as_vector_type, check_number_type, check_vector_type};
use common::messages::counted;
use common::tensors::{Vectors, refused};
use semantics::cancel::CancellableExpr;
use semantics::functions::cast_operand;

const NAME: &str = "linear_regression";
/// DataFusion's name prefix for common subexpressions that are computed once.
const COMMON_EXPRESSION: &str = "__common_expr";

pub fn linear_regression() -> AggregateUDF {
    let documentation = documented(
        "The least squares fit of a number by others: STRUCT(intercept, coefficients, r2, n). r2 is the part of the variance that is \
         explained, n the number of rows.",
        "linear_regression(y, x1, x2, …)",
    )
    .with_alternative_syntax("linear_regression(y, vector)")
    .with_argument("y", "The number that is explained. Rows with a NULL are left out.")
    .with_argument("x1, x2, …", "The numbers that explain it. None may be a combination of the others.")
    .with_argument("vector", "Vectors of one length; their elements stand for the columns.")
    .build();
    AggregateUDF::from(LinearRegression { signature: Signature::user_defined(Volatility::Immutable), documentation })
}

/// NULL without rows. NaN and infinities make all results NaN. Errors: fewer rows than coefficients, and a column that is constant or a
/// linear combination of others.
#[derive(Debug, PartialEq, Eq, Hash)]
struct LinearRegression {
    signature: Signature,
    documentation: Documentation,
}

fn result_fields() -> Fields {
    let list = DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)));
    let types = [("intercept", DataType::Float64), ("coefficients", list), ("r2", DataType::Float64), ("n", DataType::Int64)];
    types.into_iter().map(|(name, data_type)| Field::new(name, data_type, true)).collect()
}

impl AggregateUDFImpl for LinearRegression {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(match types {
            [y, vector] if Vectors::element(vector).is_some() => vec![as_number_type(y), as_vector_type(vector)],
            columns => columns.iter().map(as_number_type).collect(),
        })
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [] | [_] => {
                let count = counted(types.len(), "argument");
                return Err(refused(format!("{NAME} takes a number and those that explain it, and was given {count}"), None));
            }
            [y, vector] if Vectors::element(vector).is_some() => {
                check_number_type(NAME, "the first argument", y)?;
                check_vector_type(NAME, vector)?;
            }
            columns => columns.iter().try_for_each(|column| check_number_type(NAME, "each argument", column))?,
        }
        Ok(DataType::Struct(result_fields()))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |(what, data_type)| Arc::new(Field::new(format_state_name(args.name, what), data_type, true));
        Ok(state_types().map(field).to_vec())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        refuse_distinct(NAME, &args)?;
        let columns = Explaining::of(&args);
        Ok(Box::new(Summing::new(NAME, move |summary: Option<&Regression>| fitted(summary, &columns))))
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}

/// The names of the independent columns for messages.
struct Explaining {
    names: Vec<String>,
    /// The name of the vector for elements without their own name.
    vector: String,
}

impl Explaining {
    fn of(args: &AccumulatorArgs<'_>) -> Explaining {
        let is_vector = args.expr_fields.last().is_some_and(|field| Vectors::element(field.data_type()).is_some());
        let (Some(vector), true) = (args.exprs.last(), is_vector) else {
            // The first argument is the dependent column.
            let named = |(at, expression)| name_of(expression).unwrap_or_else(|| format!("its argument {}", at + 2));
            let names = args.exprs.iter().skip(1).enumerate().map(named).collect();
            return Explaining { names, vector: String::new() };
        };
        let vector_name = name_of(vector).unwrap_or_else(|| "the vector".to_string());
        let named = |(at, element)| name_of(element).unwrap_or_else(|| element_of(&vector_name, at));
        Explaining { names: elements(vector).iter().enumerate().map(named).collect(), vector: vector_name }
    }

    fn name(&self, column: usize) -> String {
        self.names.get(column).cloned().unwrap_or_else(|| element_of(&self.vector, column))
    }
}

fn element_of(vector: &str, at: usize) -> String {
    format!("element {} of {vector}", at + 1)
}

/// The name of a column or of a cast column; `None` for names that planners generate.
fn name_of(expression: &Arc<dyn PhysicalExpr>) -> Option<String> {
    let column = bare(expression).downcast_ref::<Column>()?;
    (!column.name().starts_with(COMMON_EXPRESSION)).then(|| format!("\"{}\"", column.name()))
}

/// The elements of a list `[a, b]`; empty for any other vector.
fn elements(vector: &Arc<dyn PhysicalExpr>) -> &[Arc<dyn PhysicalExpr>] {
    match bare(vector).downcast_ref::<ScalarFunctionExpr>() {
        Some(call) if call.fun().name() == "make_array" => call.args(),
        _ => &[],
    }
}

/// Removes casts and cancellation checks around an expression.
fn bare(expression: &Arc<dyn PhysicalExpr>) -> &Arc<dyn PhysicalExpr> {
    let watched = || expression.is::<CancellableExpr>().then(|| expression.children().into_iter().next()).flatten();
    match cast_operand(expression).or_else(watched) {
        Some(operand) => bare(operand),
        None => expression,
    }
}

fn fitted(summary: Option<&Regression>, columns: &Explaining) -> Result<ScalarValue> {
    let fields = result_fields();
    let Some(summary) = summary.filter(|summary| summary.rows() > 0) else { return ScalarValue::try_from(&DataType::Struct(fields)) };
    let fit = summary.fit().map_err(|error| match error {
        RegressionError::TooFewRows { found, needed } => {
            let they_do = if found == 1 { "it does" } else { "they do" };
            let rows = counted(usize::try_from(found).unwrap_or(usize::MAX), "row");
            let hint = "leave groups of few rows out, or explain by fewer columns";
            refused(format!("{NAME} of {rows}: {they_do} not determine {needed} coefficients"), Some(hint))
        }
        RegressionError::Singular { column, is_constant: true } => {
            refused(format!("{NAME}: {} is constant, and so is the intercept", columns.name(column)), Some("leave it out"))
        }
        RegressionError::Singular { column, .. } => refused(
            format!("{NAME}: {} is a combination of the columns before it", columns.name(column)),
            Some("leave it out: what it explains, they explain"),
        ),
    })?;
    let rows = i64::try_from(fit.rows).unwrap_or(i64::MAX);
    let values = [double(fit.intercept), list_of_doubles(&fit.coefficients), double(fit.r2), rows.into()];
    let arrays = values.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?;
    Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(fields, arrays, None)?)))
}

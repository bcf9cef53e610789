//! `+`, `-` and `*` of integers, and their negation, as functions that fail when the result does not fit.
//!
//! The rule in `rule.rs` replaces the operators by them; no statement can call them by name.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Datum};
use arrow::compute::kernels::numeric::{add, mul, neg, sub};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;

use super::overflow::kernel_error;

static ADD: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| checked(Operation::Add));
static SUB: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| checked(Operation::Sub));
static MUL: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| checked(Operation::Mul));
static NEG: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| checked(Operation::Neg));

/// The function for an operator that could wrap.
pub fn checked_operator(operator: Operator) -> Option<&'static Arc<ScalarUDF>> {
    match operator {
        Operator::Plus => Some(&ADD),
        Operator::Minus => Some(&SUB),
        Operator::Multiply => Some(&MUL),
        _ => None,
    }
}

pub fn checked_negation() -> &'static Arc<ScalarUDF> {
    &NEG
}

/// Whether a function is one of these; then its result is an integer.
pub fn is_checked(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<Checked>().is_some()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    Add,
    Sub,
    Mul,
    Neg,
}

fn checked(operation: Operation) -> Arc<ScalarUDF> {
    let arguments = if operation == Operation::Neg { 1 } else { 2 };
    let signature = Signature::any(arguments, Volatility::Immutable);
    Arc::new(ScalarUDF::from(Checked { operation, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operation: Operation,
    signature: Signature,
}

impl Checked {
    /// Writes into one text: DataFusion names a long chain again for each of its types, and one text for each part would take quadratic
    /// time.
    fn write_name(&self, args: &[Expr], name: &mut String) -> Result<()> {
        let operator = match (self.operation, args) {
            (Operation::Add, [_, _]) => Operator::Plus,
            (Operation::Sub, [_, _]) => Operator::Minus,
            (Operation::Mul, [_, _]) => Operator::Multiply,
            (Operation::Neg, [arg]) => {
                name.push_str("(- ");
                write_argument(arg, name)?;
                name.push(')');
                return Ok(());
            }
            _ => return internal_err!("{} of {} arguments", self.name(), args.len()),
        };
        write_argument(&args[0], name)?;
        write!(name, " {operator} ")?;
        write_argument(&args[1], name)
    }
}

fn write_argument(arg: &Expr, name: &mut String) -> Result<()> {
    match arg {
        // A cast has the name of its operand.
        Expr::Cast(cast) => write_argument(&cast.expr, name),
        Expr::ScalarFunction(call) if let Some(checked) = call.func.inner().downcast_ref::<Checked>() => {
            checked.write_name(&call.args, name)
        }
        arg => Ok(write!(name, "{}", arg.schema_name())?),
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Add => "checked_add",
            Operation::Sub => "checked_sub",
            Operation::Mul => "checked_mul",
            Operation::Neg => "checked_neg",
        }
    }

    /// Columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let mut name = String::new();
        self.write_name(args, &mut name)?;
        Ok(name)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), args.arg_fields[0].data_type().clone(), nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let data_type = args.return_type().clone();
        let overflowed = |error: DataFusionError| match error {
            DataFusionError::ArrowError(error, _) => kernel_error(*error, &data_type),
            other => other,
        };
        let binary = |kernel: fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>| {
            apply(&args.args[0], &args.args[1], kernel).map_err(overflowed)
        };
        match self.operation {
            Operation::Add => binary(add),
            Operation::Sub => binary(sub),
            Operation::Mul => binary(mul),
            Operation::Neg => match &args.args[0] {
                ColumnarValue::Array(array) => Ok(ColumnarValue::Array(neg(array).map_err(|error| kernel_error(error, &data_type))?)),
                ColumnarValue::Scalar(value) => {
                    let array = neg(&value.to_array()?).map_err(|error| kernel_error(error, &data_type))?;
                    Ok(ColumnarValue::Scalar(datafusion::scalar::ScalarValue::try_from_array(&array, 0)?))
                }
            },
        }
    }

    /// Like the operators: `a + 1` does not wrap, so it is ordered as `a` is.
    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(match (self.operation, inputs) {
            (Operation::Add, [left, right]) => left.sort_properties.add(&right.sort_properties),
            (Operation::Sub, [left, right]) => left.sort_properties.sub(&right.sort_properties),
            (Operation::Neg, [input]) => -input.sort_properties,
            _ => SortProperties::Unordered,
        })
    }
}

//! Columns that a plan declares as NOT NULL although they may hold NULL. The producer may have left out operations that matter only for
//! NULL, so the plan fails if it reads one.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};

/// The value, or an error if it is NULL.
pub fn required(value: Expr, column: &str) -> Expr {
    let signature = Signature::any(2, Volatility::Immutable);
    ScalarUDF::from(Required { signature }).call(vec![value, lit(column)])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Required {
    signature: Signature,
}

impl ScalarUDFImpl for Required {
    fn name(&self) -> &str {
        "quiver_required"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [of, _] => Ok(of.clone()),
            _ => internal_err!("{} of {} arguments", self.name(), arg_types.len()),
        }
    }

    /// The result is nullable: otherwise checks for NULL would be optimized away.
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [of, _] => Ok(Arc::new(Field::new(self.name(), of.data_type().clone(), true))),
            fields => internal_err!("{} of {} arguments", self.name(), fields.len()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut values = args.args.into_iter();
        let (Some(value), Some(column)) = (values.next(), values.next()) else {
            return internal_err!("{} of too few arguments", self.name());
        };
        let has_null = match &value {
            ColumnarValue::Array(array) => array.null_count() > 0,
            ColumnarValue::Scalar(value) => value.is_null(),
        };
        if !has_null {
            return Ok(value);
        }
        let name = match &column {
            ColumnarValue::Scalar(name) => name.try_as_str().flatten().unwrap_or_default(),
            ColumnarValue::Array(_) => "",
        };
        exec_err!("the column \"{name}\" has NULLs, and the plan was made for one that has none")
    }
}

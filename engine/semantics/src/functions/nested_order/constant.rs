//! A nested constant as a call without arguments: operators assume no order and no minimum for the result of a function.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

pub fn of(value: ScalarValue) -> Expr {
    ScalarUDF::from(Constant { value, signature: Signature::nullary(Volatility::Immutable) }).call(Vec::new())
}

/// The constant that a call of the function returns.
pub fn value(function: &ScalarUDF) -> Option<&ScalarValue> {
    function.inner().downcast_ref::<Constant>().map(|constant| &constant.value)
}

/// Only physical plans have it; no statement can name it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Constant {
    value: ScalarValue,
    signature: Signature,
}

impl ScalarUDFImpl for Constant {
    fn name(&self) -> &str {
        "nested_constant"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(self.value.data_type())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), self.value.data_type(), self.value.is_null())))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.value.clone()))
    }
}

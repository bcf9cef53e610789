//! The function that replaces a cast.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion::physical_expr::expressions::CastExpr;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::convert::{converted, with_floats};
use common::tensor_shape::{EXTENSION_METADATA, EXTENSION_NAME};
use common::type_names::column_type_name;

pub fn nearest_floats(source: Expr, wanted: DataType) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(function_to(wanted), vec![source]))
}

fn function_to(wanted: DataType) -> Arc<ScalarUDF> {
    let field = Arc::new(Field::new("nearest_floats", wanted, true));
    Arc::new(ScalarUDF::from(NearestFloats { field, signature: Signature::any(1, Volatility::Immutable) }))
}

pub fn is_nearest_floats(function: &ScalarUDF) -> bool {
    nearest_of(function).is_some()
}

/// The result field of a call of the function.
pub fn nearest_of(function: &ScalarUDF) -> Option<&FieldRef> {
    function.inner().downcast_ref::<NearestFloats>().map(|function| &function.field)
}

/// The operand of a physical cast of any kind.
pub fn cast_operand(expr: &Arc<dyn PhysicalExpr>) -> Option<&Arc<dyn PhysicalExpr>> {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        return Some(cast.expr());
    }
    let call = expr.downcast_ref::<ScalarFunctionExpr>().filter(|call| is_nearest_floats(call.fun()))?;
    call.args().first()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NearestFloats {
    field: FieldRef,
    signature: Signature,
}

impl NearestFloats {
    fn convert(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match with_floats(array.data_type(), self.field.data_type()) {
            Some(wanted) if wanted == *self.field.data_type() => Ok(converted(array, &wanted)?),
            _ => internal_err!("{} has no decimals where {} has floats", array.data_type(), self.field),
        }
    }
}

impl ScalarUDFImpl for NearestFloats {
    fn name(&self) -> &str {
        self.field.name()
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let args = args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Ok(format!("CAST({args} AS {})", column_type_name(&self.field)))
    }

    /// Not the name of the operand, as a cast has: join keys become columns next to the operand.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args = args.iter().map(|arg| arg.schema_name().to_string()).collect::<Vec<_>>().join(", ");
        Ok(format!("CAST({args} AS {})", column_type_name(&self.field)))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    /// The same field as that of the cast.
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        let mut metadata = args.arg_fields.first().map(|field| field.metadata().clone()).unwrap_or_default();
        metadata.remove(EXTENSION_NAME);
        metadata.remove(EXTENSION_METADATA);
        Ok(Arc::new(Field::new(self.name(), self.field.data_type().clone(), nullable).with_metadata(metadata)))
    }

    /// The conversion is monotonic.
    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        let is_number = self.field.data_type().is_floating();
        Ok(input.first().filter(|_| is_number).map_or(SortProperties::Unordered, |input| input.sort_properties))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(array)] => Ok(ColumnarValue::Array(self.convert(array)?)),
            [ColumnarValue::Scalar(value)] => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&self.convert(&value.to_array()?)?, 0)?))
            }
            _ => internal_err!("{} of {} arguments", self.name(), args.args.len()),
        }
    }
}

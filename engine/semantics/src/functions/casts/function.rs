//! The function that replaces a cast.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::nested::cast_shown;
use common::tensor_shape::{EXTENSION_METADATA, EXTENSION_NAME};
use common::type_names::column_type_name;

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct OwnCast {
    /// The field of the operand.
    source: FieldRef,
    pub field: FieldRef,
    pub safe: bool,
    signature: Signature,
}

impl OwnCast {
    pub fn new(source: FieldRef, field: FieldRef, safe: bool) -> OwnCast {
        OwnCast { source, field, safe, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn said(&self, args: impl Iterator<Item = String>) -> String {
        let cast = if self.safe { "TRY_CAST" } else { "CAST" };
        format!("{cast}({} AS {})", args.collect::<Vec<_>>().join(", "), column_type_name(&self.field))
    }

    fn convert(&self, array: &ArrayRef) -> Result<ArrayRef> {
        cast_shown(array, &self.source, &self.field, self.safe)
    }
}

impl ScalarUDFImpl for OwnCast {
    fn name(&self) -> &str {
        if self.safe { "try_cast" } else { "cast" }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.said(args.iter().map(ToString::to_string)))
    }

    /// Not the name of the operand, as a cast has: join keys become columns next to the operand.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.said(args.iter().map(|arg| arg.schema_name().to_string())))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    /// The same field as that of the cast.
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = self.safe || args.arg_fields.iter().any(|field| field.is_nullable());
        let mut metadata = self.field.metadata().clone();
        if metadata.is_empty()
            && let [source] = args.arg_fields
        {
            metadata = source.metadata().clone();
            metadata.remove(EXTENSION_NAME);
            metadata.remove(EXTENSION_METADATA);
        }
        Ok(Arc::new(Field::new(self.name(), self.field.data_type().clone(), nullable).with_metadata(metadata)))
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

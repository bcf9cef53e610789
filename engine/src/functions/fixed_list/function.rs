//! The function that stands for such a cast.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::convert::FixedLists;
use super::deeper::DeeperLists;
use crate::kernels::arrays::{EXTENSION_METADATA, EXTENSION_NAME};
use crate::sql::column_type_name;

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FixedList {
    /// Of what is cast.
    source: FieldRef,
    pub field: FieldRef,
    pub safe: bool,
    signature: Signature,
}

impl FixedList {
    pub fn new(source: FieldRef, field: FieldRef, safe: bool) -> FixedList {
        FixedList { source, field, safe, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn convert(&self, lists: &ArrayRef) -> Result<ArrayRef> {
        if let Some(wanted) = FixedLists::new(&self.field, self.safe) {
            return wanted.convert(lists);
        }
        match DeeperLists::new(&self.source, &self.field, self.safe) {
            Some(wanted) => wanted.convert(lists),
            None => internal_err!("{} is neither a list of fixed size nor one of lists", self.field),
        }
    }
}

impl ScalarUDFImpl for FixedList {
    fn name(&self) -> &str {
        if self.safe { "try_fixed_list" } else { "fixed_list" }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let args = args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let cast = if self.safe { "TRY_CAST" } else { "CAST" };
        Ok(format!("{cast}({args} AS {})", column_type_name(&self.field)))
    }

    /// Columns keep the names they had.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.iter().map(|arg| arg.schema_name().to_string()).collect::<Vec<_>>().join(", "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    /// As of the cast.
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = self.safe || args.arg_fields.iter().any(|field| field.is_nullable());
        let mut metadata = self.field.metadata().clone();
        if metadata.is_empty() && let [source] = args.arg_fields {
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
            [ColumnarValue::Array(lists)] => Ok(ColumnarValue::Array(self.convert(lists)?)),
            [ColumnarValue::Scalar(list)] => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&self.convert(&list.to_array()?)?, 0)?))
            }
            _ => internal_err!("{} of {} arguments", self.name(), args.args.len()),
        }
    }
}

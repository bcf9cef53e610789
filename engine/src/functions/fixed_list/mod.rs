//! CAST of lists to lists of a fixed size and to tensors, as a function in its place.

mod convert;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::kernels::arrays::{EXTENSION_METADATA, EXTENSION_NAME, shape_of, tensor_field};
use crate::sql::column_type_name;
pub(crate) use convert::FixedLists;
use convert::list_levels;

/// The function that does what the cast says; None where Arrow's cast does.
pub fn fixed_list_cast(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (source, field, safe) = match expr {
        Expr::Cast(cast) => (&cast.expr, &cast.field, false),
        Expr::TryCast(cast) => (&cast.expr, &cast.field, true),
        _ => return None,
    };
    let DataType::FixedSizeList(_, width) = field.data_type() else { return None };
    let from = source.get_type(schema).ok()?;
    let is_alike = matches!(&from, DataType::FixedSizeList(_, size) if size == width) && list_levels(&from) == list_levels(field.data_type());
    if list_levels(&from) == 0 || is_alike {
        return None;
    }
    let function = FixedList { field: Arc::clone(field), safe, signature: Signature::any(1, Volatility::Immutable) };
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::from(function)), vec![source.as_ref().clone()])))
}

/// See [`function_as_cast`](super::function_as_cast).
pub fn cast_of_lists(function: &ScalarUDF) -> Option<(&FieldRef, bool)> {
    function.inner().downcast_ref::<FixedList>().map(|function| (&function.field, function.safe))
}

/// Lists within each other as one list of their elements, where they stand for a tensor of so many dimensions; None for other values.
pub(crate) fn flat_scalar(value: &ScalarValue, field: &Field) -> Result<Option<ScalarValue>> {
    let (mut element, levels) = (value.data_type(), list_levels(&value.data_type()));
    let Some(shape) = shape_of(field).filter(|shape| levels > 1 && levels == shape.len()) else { return Ok(None) };
    while let DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) = element {
        element = item.data_type().clone();
    }
    // Of the elements' own type, so that whether they fit is asked of them as of others.
    let flat = tensor_field(field.name(), element, &shape, true)?;
    let wanted = FixedLists::new(&flat, false).filter(|_| !value.is_null());
    wanted.map(|wanted| ScalarValue::try_from_array(&wanted.convert(&value.to_array()?)?, 0)).transpose()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FixedList {
    field: FieldRef,
    safe: bool,
    signature: Signature,
}

impl FixedList {
    fn convert(&self, lists: &ArrayRef) -> Result<ArrayRef> {
        match FixedLists::new(&self.field, self.safe) {
            Some(wanted) => wanted.convert(lists),
            None => internal_err!("{} is no list of fixed size", self.field),
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

//! CAST of lists to lists of a fixed size and to tensors, and to lists of lists, as a function in its place.

mod convert;
mod deeper;
mod function;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF};

use crate::kernels::arrays::{shape_of, tensor_field};
pub(crate) use convert::FixedLists;
use convert::list_levels;
use deeper::DeeperLists;
use function::FixedList;

/// The function that does what the cast says; None where Arrow's cast does.
pub fn fixed_list_cast(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (source, field, safe) = match expr {
        Expr::Cast(cast) => (&cast.expr, &cast.field, false),
        Expr::TryCast(cast) => (&cast.expr, &cast.field, true),
        _ => return None,
    };
    if list_levels(field.data_type()) == 0 {
        return None;
    }
    let (_, from) = source.to_field(schema).ok()?;
    let levels = list_levels(from.data_type());
    let is_done_here = match field.data_type() {
        DataType::FixedSizeList(_, width) => {
            let is_alike = matches!(from.data_type(), DataType::FixedSizeList(_, size) if size == width);
            levels > 0 && !(is_alike && levels == list_levels(field.data_type()))
        }
        _ => DeeperLists::new(&from, field, safe).is_some(),
    };
    if !is_done_here {
        return None;
    }
    let function = FixedList::new(from, Arc::clone(field), safe);
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::from(function)), vec![source.as_ref().clone()])))
}

/// See [`function_as_cast`](super::function_as_cast).
pub fn cast_of_lists(function: &ScalarUDF) -> Option<(&FieldRef, bool)> {
    function.inner().downcast_ref::<FixedList>().map(|function| (&function.field, function.safe))
}

/// Lists as those that are wanted, where Arrow's cast would make something else of them; None where it does what it should.
pub(crate) fn lists_as(lists: &ArrayRef, source: &Field, field: &Field) -> Option<Result<ArrayRef>> {
    FixedLists::of(lists, field).or_else(|| Some(DeeperLists::new(source, field, false)?.convert(lists)))
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

/// A tensor, or a list, as the lists of lists that are wanted; None for other values.
pub(crate) fn deeper_scalar(value: &ScalarValue, source: &Field, field: &Field) -> Result<Option<ScalarValue>> {
    let wanted = DeeperLists::new(source, field, false).filter(|_| !value.is_null());
    wanted.map(|wanted| ScalarValue::try_from_array(&wanted.convert(&value.to_array()?)?, 0)).transpose()
}

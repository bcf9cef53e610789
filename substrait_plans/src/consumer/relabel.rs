//! Renames the fields inside of a column. A cast would match fields by name, find none of the new names, and return NULL for each, as the
//! library's does.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;

/// The value with a type that differs only in names.
pub fn relabelled(value: Expr, data_type: DataType) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::from(Relabel { data_type, signature }).call(vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Relabel {
    data_type: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Relabel {
    fn name(&self) -> &str {
        "quiver_names"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.data_type.clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(ColumnarValue::Array(array)) => Ok(ColumnarValue::Array(as_type(&array, &self.data_type)?)),
            Some(ColumnarValue::Scalar(value)) => {
                let array = as_type(&value.to_array()?, &self.data_type)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
            }
            None => internal_err!("{} of no argument", self.name()),
        }
    }
}

fn as_type(array: &ArrayRef, target_type: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == target_type {
        return Ok(Arc::clone(array));
    }
    let wrong = || ArrowError::InvalidArgumentError(format!("{} cannot be called {target_type}", array.data_type()));
    Ok(match (array.data_type(), target_type) {
        (DataType::Struct(of), DataType::Struct(fields)) if of.len() == fields.len() => Arc::new(of_struct(array.as_struct(), fields)?),
        (DataType::List(_), DataType::List(item)) => list::<i32>(array, item)?,
        (DataType::LargeList(_), DataType::LargeList(item)) => list::<i64>(array, item)?,
        (DataType::FixedSizeList(..), DataType::FixedSizeList(item, length)) => {
            let list = array.as_fixed_size_list();
            let values = as_type(list.values(), item.data_type())?;
            Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *length, values, list.nulls().cloned())?)
        }
        (DataType::Map(..), DataType::Map(field, is_sorted)) => {
            let map = array.as_map();
            let DataType::Struct(fields) = field.data_type() else { return Err(wrong()) };
            let entries = of_struct(map.entries(), fields)?;
            Arc::new(MapArray::try_new(Arc::clone(field), map.offsets().clone(), entries, map.nulls().cloned(), *is_sorted)?)
        }
        _ => return Err(wrong()),
    })
}

fn of_struct(array: &StructArray, fields: &arrow::datatypes::Fields) -> Result<StructArray, ArrowError> {
    let columns = array.columns().iter().zip(fields).map(|(column, field)| as_type(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    match columns.is_empty() {
        true => Ok(StructArray::new_empty_fields(array.len(), array.nulls().cloned())),
        false => StructArray::try_new(fields.clone(), columns, array.nulls().cloned()),
    }
}

fn list<O: OffsetSizeTrait>(array: &ArrayRef, item: &FieldRef) -> Result<ArrayRef, ArrowError> {
    let list = array.as_list::<O>();
    let values = as_type(list.values(), item.data_type())?;
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned())?))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListArray};
    use arrow::buffer::OffsetBuffer;

    use super::*;

    #[test]
    fn fields_in_a_list_get_other_names_and_keep_their_values() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let named = |name: &str| vec![Field::new(name, DataType::Int64, true)].into();
        let points = StructArray::try_new(named("c0"), vec![numbers], None).unwrap();
        let item = |name: &str| Arc::new(Field::new("item", DataType::Struct(named(name)), true));
        let list = ListArray::try_new(item("c0"), OffsetBuffer::new(vec![0, 1, 3].into()), Arc::new(points), None).unwrap();
        let list: ArrayRef = Arc::new(list);
        let target_type = DataType::List(item("x"));
        let relabelled = as_type(&list, &target_type).unwrap();
        assert_eq!(relabelled.data_type(), &target_type);
        let values = relabelled.as_list::<i32>().values();
        assert_eq!(values.as_struct().column(0).as_ref(), &Int64Array::from(vec![Some(1), None, Some(3)]));
        assert!(as_type(&list, &DataType::Int64).is_err());
    }
}

//! `map_extract`: a list of the value of a key, and an empty one if the map does not have the key. DataFusion's list has a NULL then. It
//! also takes what lies beneath a NULL map for its entries, and makes the key 1 of 1.5.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_nested::map_extract::map_extract_udf;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::described_by_function;
use super::get_field::entries_of_keys;

pub fn map_extract() -> ScalarUDF {
    ScalarUDF::from(MapExtract { inner: map_extract_udf() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MapExtract {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for MapExtract {
    described_by_function!();

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let mut own_types = self.inner.coerce_types(types)?;
        // The call itself finds out whether it is one of the keys. Only a text is read as a key of another type.
        if let ([_, given], [_, key]) = (types, own_types.as_mut_slice())
            && (given.is_primitive() || *given == DataType::Boolean || given.is_nested() && !key.is_nested())
        {
            *key = given.clone();
        }
        Ok(own_types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let [maps, keys] = take_function_args(self.name(), ColumnarValue::values_to_arrays(&args.args)?)?;
        let (Some(map), DataType::List(item)) = (maps.as_map_opt(), args.return_field.data_type()) else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Null));
        };
        let entries = entries_of_keys(map, &keys)?;
        let offsets = OffsetBuffer::from_lengths(entries.iter().map(|entry| usize::from(entry.is_some())));
        let values = take(map.values(), &entries.iter().flatten().collect::<UInt64Array>(), None)?;
        let lists: ArrayRef = Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, map.nulls().cloned())?);
        match is_constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&lists, 0)?)),
            false => Ok(ColumnarValue::Array(lists)),
        }
    }
}

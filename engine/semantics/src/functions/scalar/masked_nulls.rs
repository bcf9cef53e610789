//! `array_repeat`: DataFusion's uses what lies beneath a NULL list or map as its elements.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, GenericListArray, MapArray, OffsetSizeTrait};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::functions_nested::repeat::array_repeat_udf;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::described_by_function;
use common::masked_values::shown_elements;

pub fn array_repeat() -> ScalarUDF {
    ScalarUDF::from(MaskedNulls { inner: array_repeat_udf() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MaskedNulls {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for MaskedNulls {
    described_by_function!();

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        for arg in &mut args.args {
            if let ColumnarValue::Array(array) = arg {
                *array = mask_nulls(array)?;
            }
        }
        self.inner.invoke_with_args(args)
    }
}

/// Empties the elements beneath NULL lists and maps.
fn mask_nulls(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::List(item) => list::<i32>(array, item),
        DataType::LargeList(item) => list::<i64>(array, item),
        DataType::Map(entry, is_sorted) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let (offsets, entries) = shown_elements(map.offsets(), &entries, map.nulls())?;
            let entries = entries.as_struct().clone();
            Ok(Arc::new(MapArray::try_new(Arc::clone(entry), offsets, entries, map.nulls().cloned(), *is_sorted)?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn list<O: OffsetSizeTrait>(array: &ArrayRef, item: &FieldRef) -> Result<ArrayRef> {
    let lists = array.as_list::<O>();
    let (offsets, elements) = shown_elements(lists.offsets(), lists.values(), lists.nulls())?;
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(item), offsets, elements, lists.nulls().cloned())?))
}

//! Encodes a nested value as bytes of the same order. Code that compares single values, such as aggregates with an ORDER BY, has no order
//! for lists of structs, and treats a NULL inside of a struct as equal to everything.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, BinaryArray};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use datafusion::common::utils::take_function_args;
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::OPTIONS;
use crate::functions::interval_lengths;

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::from(SortKey { signature }))
});

/// NULL stays NULL.
pub fn of(value: Expr) -> Expr {
    FUNCTION.call(vec![value])
}

/// Only plans have it; no statement can name it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SortKey {
    signature: Signature,
}

impl ScalarUDFImpl for SortKey {
    fn name(&self) -> &str {
        "nested_sort_key"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = take_function_args(self.name(), args.args)?;
        let values = interval_lengths(&value.into_array(args.number_rows)?)?;
        let nulls = values.logical_nulls();
        let converter = RowConverter::new(vec![SortField::new_with_options(values.data_type().clone(), OPTIONS)])?;
        let rows = converter.convert_columns(&[values])?;
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let keys: BinaryArray = rows.iter().enumerate().map(|(at, row)| (!is_null(at)).then_some(row)).collect();
        Ok(ColumnarValue::Array(Arc::new(keys)))
    }
}

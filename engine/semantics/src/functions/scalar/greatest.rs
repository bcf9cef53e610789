//! `greatest` and `least`: lists, structs and maps compare in the order of ORDER BY, and intervals by length. DataFusion's put NULL inside
//! first, and compare the months of intervals before their days.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::functions::core::{greatest, least};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::described_by_function;
use crate::functions::intervals::is_interval;
use crate::functions::nested_order::comparator;

pub fn all() -> [ScalarUDF; 2] {
    [(greatest(), true), (least(), false)].map(|(inner, is_greatest)| ScalarUDF::from(Best { inner, is_greatest }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Best {
    inner: Arc<ScalarUDF>,
    is_greatest: bool,
}

impl Best {
    fn better(&self, best: ArrayRef, other: ArrayRef) -> Result<ArrayRef> {
        let order = comparator(&best, &other)?;
        let (nulls, other_nulls) = (best.logical_nulls(), other.logical_nulls());
        let is_valid = |nulls: &Option<NullBuffer>, row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let takes_over = |row: usize| {
            let is_better = || if self.is_greatest { order(row, row).is_lt() } else { order(row, row).is_gt() };
            is_valid(&other_nulls, row) && (!is_valid(&nulls, row) || is_better())
        };
        let takes_over: BooleanArray = (0..best.len()).map(|row| Some(takes_over(row))).collect();
        Ok(zip(&takes_over, &other, &best)?)
    }
}

impl ScalarUDFImpl for Best {
    described_by_function!();

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let data_type = args.return_field.data_type();
        if !data_type.is_nested() && !is_interval(data_type) {
            return self.inner.invoke_with_args(args);
        }
        let mut values = args.args.iter().map(|value| value.to_array(args.number_rows));
        match values.next() {
            Some(first) => Ok(ColumnarValue::Array(values.try_fold(first?, |best, other| self.better(best, other?))?)),
            None => self.inner.invoke_with_args(args),
        }
    }
}

//! The values of a quantile that are not numbers in memory: texts, bytes, booleans.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeListArray, UInt32Array, make_comparator, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, concat, filter, is_not_null, sort_to_indices, take};
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use super::fractions::Fractions;

/// Only for `quantile_disc`: there is no interpolation.
#[derive(Debug)]
pub struct Ranked {
    fractions: Fractions,
    data_type: DataType,
    is_distinct: bool,
    values: Vec<ArrayRef>,
}

impl Ranked {
    pub fn new(fractions: Fractions, data_type: DataType, is_distinct: bool) -> Ranked {
        Ranked { fractions, data_type, is_distinct, values: Vec::new() }
    }

    fn all(&mut self) -> Result<ArrayRef> {
        if self.values.is_empty() {
            return Ok(new_empty_array(&self.data_type));
        }
        let arrays: Vec<&dyn Array> = self.values.iter().map(AsRef::as_ref).collect();
        let all = concat(&arrays)?;
        self.values = vec![Arc::clone(&all)];
        Ok(all)
    }

    fn in_order(&mut self) -> Result<ArrayRef> {
        let all = self.all()?;
        let indices = sort_to_indices(&all, None, None)?;
        if !self.is_distinct {
            return Ok(take(&all, &indices, None)?);
        }
        let compare = make_comparator(&all, &all, SortOptions::default())?;
        let mut firsts: Vec<u32> = indices.values().to_vec();
        firsts.dedup_by(|one, other| compare(*one as usize, *other as usize) == Ordering::Equal);
        Ok(take(&all, &UInt32Array::from(firsts), None)?)
    }
}

impl Accumulator for Ranked {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        // Copies the values, because a view would keep a large batch in memory.
        self.values.push(filter(&values[0], &is_not_null(&values[0])?)?);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = states[0].as_list::<i64>();
        self.values.extend((0..lists.len()).filter(|row| lists.is_valid(*row)).map(|row| lists.value(row)));
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let all = self.all()?;
        let item = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        let list = LargeListArray::try_new(item, OffsetBuffer::from_lengths([all.len()]), all, None)?;
        Ok(vec![ScalarValue::LargeList(Arc::new(list))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.in_order()?;
        let places = self.fractions.places(values.len())?;
        let at = |row: usize| ScalarValue::try_from_array(&values, row);
        match (values.is_empty(), self.fractions.is_list) {
            (true, false) => ScalarValue::try_from(&self.data_type),
            (true, true) => ScalarValue::try_from(&DataType::List(Arc::new(Field::new_list_field(self.data_type.clone(), true)))),
            (false, false) => at(places[0].low),
            (false, true) => {
                let elements = places.iter().map(|place| at(place.low)).collect::<Result<Vec<_>>>()?;
                Ok(ScalarValue::List(ScalarValue::new_list_nullable(&elements, &self.data_type)))
            }
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.iter().map(|values| values.get_array_memory_size()).sum::<usize>()
    }
}

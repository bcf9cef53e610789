//! Splits rows of lists for an operator that makes a row of each element (UNNEST). From a row with a list of millions of elements it would
//! make all rows at once, each with a copy of the other columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, GenericListArray, OffsetSizeTrait, RecordBatch};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::physical_plan::unnest::UnnestExec;

use crate::functions::values_bytes;
use common::error::EngineError;

/// The bytes that the rows made of one piece should have.
const PIECE_BYTES: usize = 16 << 20;
/// The fixed bytes of a column in a row that is made.
const VALUE_BYTES: usize = 16;

/// The list columns that are unnested.
#[derive(Debug)]
pub struct Elements {
    lists: Vec<usize>,
}

impl Elements {
    /// An error for lists of different depths: each element of one would be combined with all elements of the other.
    pub fn of(node: &UnnestExec) -> Result<Elements> {
        let lists = node.list_column_indices();
        if lists.len() > 1 && lists.iter().any(|list| list.depth != 1) {
            let hint = Some("unnest the inner lists in a query around it");
            return Err(EngineError::unsupported("unnest() of unnest() beside another unnest()", hint).into());
        }
        Ok(Elements { lists: lists.iter().map(|list| list.index_in_input_schema).collect() })
    }

    /// Splits the batch into the first piece and the remaining parts.
    pub fn cut(&self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let (mut rows, mut bytes) = (0, 0_usize);
        while rows < batch.num_rows() {
            bytes = bytes.saturating_add(self.elements(batch, rows).saturating_mul(self.element_bytes(batch, rows)));
            if bytes > PIECE_BYTES && rows > 0 {
                break;
            }
            rows += 1;
        }
        let mut parts = match rows {
            1 if bytes > PIECE_BYTES => self.cut_row(&batch.slice(0, 1))?,
            rows => vec![batch.slice(0, rows)],
        };
        if rows < batch.num_rows() {
            parts.push(batch.slice(rows, batch.num_rows() - rows));
        }
        Ok(parts)
    }

    /// The length of the longest list in the row.
    fn elements(&self, batch: &RecordBatch, row: usize) -> usize {
        self.lists.iter().map(|list| length(batch.column(*list), row)).max().unwrap_or(0)
    }

    /// About how many bytes a row has that is made of one element.
    fn element_bytes(&self, batch: &RecordBatch, row: usize) -> usize {
        let others = batch.columns().iter().enumerate().filter(|(column, _)| !self.lists.contains(column));
        let copied = others.map(|(_, column)| match column.data_type() {
            DataType::Utf8View | DataType::BinaryView => 0,
            _ => values_bytes(column, row, 1),
        });
        batch.num_columns() * VALUE_BYTES + copied.fold(0, usize::saturating_add)
    }

    /// Splits a row: the first elements of its lists, and the others.
    fn cut_row(&self, row: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let (all, at) = (self.elements(row, 0), (PIECE_BYTES / self.element_bytes(row, 0)).max(1));
        if at >= all || self.lists.iter().any(|list| !matches!(row.column(*list).data_type(), DataType::List(_) | DataType::LargeList(_))) {
            return Ok(vec![row.clone()]);
        }
        let part = |from: usize, to: usize| -> Result<RecordBatch> {
            let mut columns = row.columns().to_vec();
            for list in &self.lists {
                columns[*list] = match row.column(*list).data_type() {
                    DataType::List(field) => elements_of::<i32>(row.column(*list), field, from, to)?,
                    DataType::LargeList(field) => elements_of::<i64>(row.column(*list), field, from, to)?,
                    _ => Arc::clone(row.column(*list)),
                };
            }
            Ok(RecordBatch::try_new(row.schema(), columns)?)
        };
        Ok(vec![part(0, at)?, part(at, all)?])
    }
}

fn length(list: &ArrayRef, row: usize) -> usize {
    match list.data_type() {
        _ if list.is_null(row) => 0,
        DataType::List(_) => list.as_list::<i32>().value_length(row) as usize,
        DataType::LargeList(_) => list.as_list::<i64>().value_length(row) as usize,
        _ => 0,
    }
}

/// The elements of one list.
fn elements_of<O: OffsetSizeTrait>(list: &ArrayRef, field: &FieldRef, from: usize, to: usize) -> Result<ArrayRef> {
    if list.is_null(0) {
        return Ok(Arc::clone(list));
    }
    let elements = list.as_list::<O>().value(0);
    let (from, to) = (from.min(elements.len()), to.min(elements.len()));
    let offsets = OffsetBuffer::from_lengths([to - from]);
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(field), offsets, elements.slice(from, to - from), None)?))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn the_parts_of_a_batch_have_all_elements_in_their_order() {
        let long: Vec<Option<i64>> = (0..3_000_000).map(Some).collect();
        let lists = [Some(vec![Some(-1)]), None, Some(long), Some(vec![]), Some(vec![Some(-2), None])];
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
        let numbers = Int64Array::from_iter_values(0..5);
        let whole = RecordBatch::try_from_iter([("l", Arc::new(lists) as ArrayRef), ("n", Arc::new(numbers) as ArrayRef)]).unwrap();
        let (elements, mut rest, mut seen) = (Elements { lists: vec![0] }, vec![whole], Vec::new());
        let mut pieces = 0;
        while let Some(batch) = rest.pop() {
            let mut parts = elements.cut(&batch).unwrap();
            let piece = parts.remove(0);
            rest.extend(parts.into_iter().rev());
            pieces += 1;
            for row in 0..piece.num_rows() {
                let number = piece.column(1).as_primitive::<Int64Type>().value(row);
                let list = piece.column(0).as_list::<i32>();
                seen.push((number, list.is_null(row)));
                seen.extend(list.value(row).as_primitive::<Int64Type>().iter().map(|element| (element.unwrap_or(7), true)));
            }
        }
        assert!((5..40).contains(&pieces), "{pieces} pieces");
        let others: Vec<_> = seen.iter().filter(|(number, is_element)| !is_element || *number < 0 || *number == 7).copied().collect();
        assert!(others.starts_with(&[(0, false), (-1, true)]), "{others:?}");
        assert!(others.ends_with(&[(3, false), (4, false), (-2, true), (7, true)]), "{others:?}");
        let long = seen.iter().skip(3).filter(|(number, is_element)| *is_element && *number >= 0);
        let long: Vec<i64> = long.map(|(number, _)| *number).collect();
        assert!(long[..3_000_000].iter().copied().eq(0..3_000_000));
    }
}

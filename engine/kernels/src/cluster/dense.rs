//! The vectors of a column as DOUBLE, one after the other: read in place, or copied in tiles.

use arrow::array::Array;
use arrow::datatypes::ArrowNativeType;
use datafusion::common::Result;

use super::listed::different_widths;
use common::tensors::{Vectors, VectorsOf};

/// So many numbers are copied at once if vectors are not read in place.
const TILE_NUMBERS: usize = 1 << 15;

/// Passes all vectors of `width` numbers in their order, and the rows they come from; `None`: all rows. Vectors that are NULL or have a
/// NULL element are left out.
pub fn for_each_dense(vectors: &dyn Array, width: usize, function: &str, mut take: impl FnMut(&[f64], Option<&[usize]>)) -> Result<()> {
    match Vectors::of(vectors, function)? {
        Vectors::F64(rows) => match rows.dense().filter(|(_, found)| *found == width) {
            Some((values, _)) => take(values, None),
            None => copied(rows, width, function, take)?,
        },
        Vectors::F32(rows) => copied(rows, width, function, take)?,
    }
    Ok(())
}

fn copied<T: ArrowNativeType + Into<f64>>(
    vectors: VectorsOf<'_, T>,
    width: usize,
    function: &str,
    mut take: impl FnMut(&[f64], Option<&[usize]>),
) -> Result<()> {
    let (mut tile, mut rows) = (Vec::new(), Vec::new());
    for row in 0..vectors.len() {
        let Some(vector) = vectors.row(row) else { continue };
        if vector.len() != width {
            return Err(different_widths(function, width, vector.len()));
        }
        tile.extend(vector.iter().map(|number| -> f64 { (*number).into() }));
        rows.push(row);
        if tile.len() >= TILE_NUMBERS {
            take(&tile, Some(&rows));
            tile.clear();
            rows.clear();
        }
    }
    take(&tile, Some(&rows));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{FixedSizeListArray, Float32Array, Float64Array};
    use arrow::buffer::NullBuffer;
    use arrow::datatypes::Field;

    use super::*;

    fn pairs(values: Arc<dyn Array>, nulls: Option<NullBuffer>) -> FixedSizeListArray {
        let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        FixedSizeListArray::new(item, 2, values, nulls)
    }

    fn collected(vectors: &dyn Array) -> Vec<(Vec<f64>, Option<Vec<usize>>)> {
        let mut collected = Vec::new();
        for_each_dense(vectors, 2, "f", |values, rows| collected.push((values.to_vec(), rows.map(<[usize]>::to_vec)))).unwrap();
        collected
    }

    #[test]
    fn vectors_that_lie_end_to_end_are_given_at_once_and_others_with_their_rows() {
        let values: Arc<dyn Array> = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(collected(&pairs(Arc::clone(&values), None)), [(vec![1.0, 2.0, 3.0, 4.0], None)]);
        let second = NullBuffer::from(vec![false, true]);
        assert_eq!(collected(&pairs(values, Some(second))), [(vec![3.0, 4.0], Some(vec![1]))]);
    }

    #[test]
    fn every_vector_is_in_one_tile() {
        let rows = TILE_NUMBERS + 5;
        let values = Float32Array::from_iter_values((0..rows * 2).map(|at| (at / 2) as f32));
        let tiles = collected(&pairs(Arc::new(values), None));
        assert_eq!(tiles.len(), 3);
        let all_rows: Vec<usize> = tiles.iter().flat_map(|(_, rows)| rows.clone().unwrap()).collect();
        assert_eq!(all_rows, (0..rows).collect::<Vec<_>>());
        for (values, rows) in tiles {
            let expected = rows.unwrap().into_iter().flat_map(|row| [row as f64; 2]).collect::<Vec<_>>();
            assert_eq!(values, expected);
        }
    }
}

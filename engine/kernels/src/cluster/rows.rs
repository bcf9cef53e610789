//! The result: a row for each cluster.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};

use super::lloyd::Clusters;
use common::names::KMEANS;
use common::tensors::refused;

/// - `cluster`: from 0;
/// - `centroid`: the mean of the points that were nearest to the cluster in the last iteration;
/// - `size`: the number of these points;
/// - `inertia`: the sum of their squared distances to the centroid before that iteration;
/// - `inertias`: that sum over all clusters, for each iteration; the same in each row.
static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let numbers = DataType::List(item());
    Arc::new(Schema::new(vec![
        Field::new("cluster", DataType::Int64, false),
        Field::new("centroid", numbers.clone(), false),
        Field::new("size", DataType::Int64, false),
        Field::new("inertia", DataType::Float64, false),
        Field::new("inertias", numbers, false),
    ]))
});

pub fn schema() -> SchemaRef {
    Arc::clone(&SCHEMA)
}

fn item() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Float64, true))
}

pub fn rows(clusters: &Clusters) -> Result<RecordBatch> {
    let k = clusters.centroids.k();
    let iterations = clusters.inertias.len();
    let inertias = clusters.inertias.iter().copied().cycle().take(k * iterations);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(0..k as i64)),
        lists(clusters.centroids.values().to_vec(), clusters.centroids.d())?,
        Arc::new(Int64Array::from_iter_values(clusters.last.sizes.iter().map(|size| *size as i64))),
        Arc::new(Float64Array::from(clusters.last.inertias.clone())),
        lists(inertias.collect(), iterations)?,
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// Lists of so many numbers each.
pub fn lists(values: Vec<f64>, width: usize) -> Result<ArrayRef> {
    let rows = values.len() / width.max(1);
    if i32::try_from(values.len()).is_err() {
        return Err(too_many(values.len()));
    }
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(width, rows));
    Ok(Arc::new(ListArray::try_new(item(), offsets, Arc::new(Float64Array::from(values)), None)?))
}

fn too_many(numbers: usize) -> DataFusionError {
    refused(format!("a result of {KMEANS} has {numbers} numbers in one column, more than {}", i32::MAX), None)
}

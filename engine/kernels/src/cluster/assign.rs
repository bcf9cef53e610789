//! `kmeans_assign(v, centroids)`: the index of the centroid that is nearest to a vector.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, DocSection, Documentation, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::dense::for_each_dense;
use super::listed::{Listed, as_argument_types, check_argument_types};
use crate::numeric::centroids::Centroids;

pub const NAME: &str = "kmeans_assign";

/// The index counts from 0 in the order of the list; among equally near centroids the first one wins. The result is NULL if the vector,
/// an element of it or the list is NULL, or an element is NaN, because no centroid is nearest then.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct KMeansAssign {
    signature: Signature,
    documentation: Documentation,
}

impl Default for KMeansAssign {
    fn default() -> Self {
        let section = DocSection { include: true, label: "Vector and matrix functions", description: None };
        let description = "The number of the nearest centroid, from 0; the lowest of those that are as near.";
        let documentation = Documentation::builder(section, description, "kmeans_assign(v, centroids)")
            .with_argument("v", "A vector: a list of DOUBLE or REAL.")
            .with_argument("centroids", "A list of lists of numbers, each as long as v.")
            .build();
        KMeansAssign { signature: Signature::user_defined(Volatility::Immutable), documentation }
    }
}

impl ScalarUDFImpl for KMeansAssign {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(as_argument_types(types))
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        check_argument_types(NAME, types)?;
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let vectors = args.args[0].to_array(rows)?;
        let nearest = match &args.args[1] {
            ColumnarValue::Scalar(lists) => {
                let lists = lists.to_array()?;
                match lists.is_null(0) {
                    true => Int64Array::new_null(rows),
                    false => nearest_of_all(&vectors, Listed::new(NAME).at(&lists, 0)?)?,
                }
            }
            ColumnarValue::Array(lists) => nearest_of_each(&vectors, lists)?,
        };
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&nearest, 0)?),
            false => ColumnarValue::Array(Arc::new(nearest)),
        })
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}

fn nearest_of_each(vectors: &ArrayRef, lists: &ArrayRef) -> Result<Int64Array> {
    let mut listed = Listed::new(NAME);
    let mut nearest = Vec::with_capacity(vectors.len());
    for row in 0..vectors.len() {
        nearest.push(match lists.is_null(row) {
            true => None,
            false => nearest_of_all(&vectors.slice(row, 1), listed.at(lists, row)?)?.iter().next().flatten(),
        });
    }
    Ok(nearest.into())
}

fn nearest_of_all(vectors: &ArrayRef, centroids: &Centroids) -> Result<Int64Array> {
    let mut nearest = vec![None; vectors.len()];
    for_each_dense(vectors.as_ref(), centroids.d(), NAME, |points, rows| {
        assign(points, centroids, |at, cluster| nearest[rows.map_or(at, |rows| rows[at])] = cluster);
    })?;
    Ok(nearest.into())
}

fn assign(points: &[f64], centroids: &Centroids, mut found: impl FnMut(usize, Option<i64>)) {
    let rows = points.len() / centroids.d();
    let (mut nearest, mut squared) = (vec![0; rows], vec![0.0; rows]);
    centroids.assign(points, &mut nearest, &mut squared);
    for (row, (point, cluster)) in points.chunks_exact(centroids.d()).zip(nearest).enumerate() {
        let is_near = !point.iter().any(|number| number.is_nan());
        found(row, is_near.then_some(i64::from(cluster)));
    }
}

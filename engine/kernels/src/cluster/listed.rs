//! Centroids in SQL: a list of lists of numbers, `[[0.5, 1.0], [2.0, 3.5]]`, or `array_agg(centroid ORDER BY cluster)`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;

use crate::lists_of_lists::matrix_of_lists;
use crate::numeric::centroids::Centroids;
use crate::scalar::types::{as_vector_type, check_vector_type};
use common::messages::counted;
use common::tensors::refused;
use common::type_names::declared_name;

/// The centroids that a function has read last.
#[derive(Debug)]
pub struct Listed {
    function: &'static str,
    last: Option<(ArrayRef, Centroids)>,
}

impl Listed {
    pub fn new(function: &'static str) -> Listed {
        Listed { function, last: None }
    }

    /// Whether the row has the centroids that were read last.
    pub fn has(&self, lists: &ArrayRef, row: usize) -> bool {
        self.last.as_ref().is_some_and(|(last, _)| **last == *lists.slice(row, 1))
    }

    /// The centroids of a row that is not NULL. Lists of different lengths, NULLs and numbers that are not finite are errors.
    pub fn at(&mut self, lists: &ArrayRef, row: usize) -> Result<&Centroids> {
        let entry = match self.last.take() {
            Some((last, centroids)) if *last == *lists.slice(row, 1) => (last, centroids),
            _ => {
                let (values, k, d) = matrix_of_lists(lists.as_ref(), row, self.function)?;
                if let Some(number) = values.iter().find(|number| !number.is_finite()) {
                    return Err(refused(format!("{} takes finite centroids, and one has {number}", self.function), None));
                }
                (lists.slice(row, 1), Centroids::new(values, k, d))
            }
        };
        Ok(&self.last.insert(entry).1)
    }

    pub fn last(&self) -> Option<&Centroids> {
        self.last.as_ref().map(|(_, centroids)| centroids)
    }
}

/// The argument types of functions that take a vector and a list of centroids.
pub fn as_argument_types(found: &[DataType]) -> Vec<DataType> {
    match found {
        [vector, centroids] => vec![as_vector_type(vector), as_centroids_type(centroids)],
        others => others.to_vec(),
    }
}

pub fn check_argument_types(function: &str, found: &[DataType]) -> Result<()> {
    let [vector, centroids] = found else {
        let message = format!("{function} takes a vector and a list of centroids, and was given {}", counted(found.len(), "argument"));
        return Err(refused(message, None));
    };
    check_vector_type(function, vector)?;
    check_centroids_type(function, centroids)
}

/// Lists of lists stay as they are; NULL becomes a list of lists.
fn as_centroids_type(found: &DataType) -> DataType {
    let list_of = |element| DataType::List(Arc::new(Field::new_list_field(element, true)));
    match found {
        DataType::Null => list_of(list_of(DataType::Float64)),
        other => other.clone(),
    }
}

fn check_centroids_type(function: &str, found: &DataType) -> Result<()> {
    let element = |found: &DataType| match found {
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => Some(element.data_type().clone()),
        _ => None,
    };
    let number = element(found).and_then(|list| element(&list));
    match number.is_some_and(|number| number.is_numeric() || number.is_null()) {
        true => Ok(()),
        false => {
            let message = format!("{function} takes centroids as a list of lists of numbers, and not {}", declared_name(found));
            Err(refused(message, Some("array_agg(centroid ORDER BY cluster) makes one of the rows of kmeans")))
        }
    }
}

pub fn different_widths(function: &str, centroids: usize, point: usize) -> datafusion::common::DataFusionError {
    refused(format!("{function} was given centroids of {} and a vector of {point}", counted(centroids, "number")), None)
}

//! `kmeans_step(v, centroids)`: one iteration of k-means as an aggregate. The next centroids are sums / sizes. States are sums too, so
//! that results of parts of a table, or of nodes, can be added.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, ListArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowNativeType, DataType, Field, FieldRef, Fields, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, DocSection, Documentation, Signature, Volatility};

use super::dense::for_each_dense;
use super::listed::{Listed, as_argument_types, check_argument_types};
use super::rows::lists;
use crate::aggregate::Argument;
use crate::lists_of_lists::matrix_of_lists;
use crate::numeric::clusters::Step;
use common::error::EngineError;
use common::messages::{counted, have};
use common::tensors::{Vectors, VectorsOf, refused};

pub const NAME: &str = "kmeans_step";

/// STRUCT(sums DOUBLE[][], sizes BIGINT[], inertia DOUBLE): for each centroid the sum of the vectors that are nearest to it and their
/// number, and the sum of all squared distances. A NULL vector, or one with a NULL element, is left out; NaN and infinity are
/// errors. Without rows all are 0, or NULL if the centroids come from a column and so are not known.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct KMeansStep {
    signature: Signature,
    documentation: Documentation,
}

impl Default for KMeansStep {
    fn default() -> Self {
        let section = DocSection { include: true, label: "Statistics", description: None };
        let description =
            "One iteration of k-means: for each centroid the sum of the vectors nearest to it and their number, and the inertia.";
        let documentation = Documentation::builder(section, description, "kmeans_step(v, centroids)")
            .with_argument("v", "A vector: a list of DOUBLE or REAL.")
            .with_argument("centroids", "A list of lists of numbers, each as long as v; the same for all rows.")
            .build();
        KMeansStep { signature: Signature::user_defined(Volatility::Immutable), documentation }
    }
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// The fields of the result, and of the states.
fn fields() -> Fields {
    Fields::from(vec![
        Field::new("sums", list_of(list_of(DataType::Float64)), true),
        Field::new("sizes", list_of(DataType::Int64), true),
        Field::new("inertia", DataType::Float64, true),
    ])
}

impl AggregateUDFImpl for KMeansStep {
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
        Ok(DataType::Struct(fields()))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let named = |field: &FieldRef| Arc::new(field.as_ref().clone().with_name(format_state_name(args.name, field.name())));
        Ok(fields().iter().map(named).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            let hint = "sum over (SELECT DISTINCT v …)";
            return Err(EngineError::unsupported(format!("DISTINCT in {NAME}"), Some(hint)).into());
        }
        Ok(Box::new(Summing { argument: Argument::of(&args.exprs[1]), listed: Listed::new(NAME), sums: None }))
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}

#[derive(Debug)]
struct Summing {
    argument: Argument,
    listed: Listed,
    /// `None` before the first row.
    sums: Option<Sums>,
}

#[derive(Debug)]
struct Sums {
    width: usize,
    /// `width` numbers for each centroid.
    values: Vec<f64>,
    sizes: Vec<i64>,
    inertia: f64,
}

impl Sums {
    fn new(k: usize, width: usize) -> Sums {
        Sums { width, values: vec![0.0; k * width], sizes: vec![0; k], inertia: 0.0 }
    }

    fn add(&mut self, values: &[f64], sizes: impl Iterator<Item = i64>, inertia: f64) {
        self.values.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        self.sizes.iter_mut().zip(sizes).for_each(|(sum, size)| *sum += size);
        self.inertia += inertia;
    }
}

impl Summing {
    /// Reads the centroids, which must be the same for all rows; false if they are NULL.
    fn read_centroids(&mut self, column: &ArrayRef, rows: usize) -> Result<bool> {
        if let Some(constant) = self.argument.value()? {
            if !constant.is_null(0) {
                self.listed.at(&constant, 0)?;
            }
            return Ok(!constant.is_null(0));
        }
        for row in 0..rows {
            let is_first = self.listed.last().is_none();
            if column.is_null(row) || !is_first && !self.listed.has(column, row) {
                return Err(refused(
                    format!("{NAME} takes the same centroids for all rows"),
                    Some("group by them, or name them by a subquery"),
                ));
            }
            if is_first {
                self.listed.at(column, row)?;
            }
        }
        Ok(true)
    }

    fn result(&self) -> Result<Vec<ArrayRef>> {
        let Some(sums) = &self.sums else {
            return Ok(fields().iter().map(|field| arrow::array::new_null_array(field.data_type(), 1)).collect());
        };
        let one_list = |values: ArrayRef| -> Result<ArrayRef> {
            let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
            Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths([values.len()]), values, None)?))
        };
        Ok(vec![
            one_list(lists(sums.values.clone(), sums.width)?)?,
            one_list(Arc::new(Int64Array::from(sums.sizes.clone())))?,
            Arc::new(Float64Array::from(vec![sums.inertia])),
        ])
    }
}

impl Accumulator for Summing {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [vectors, centroids] = values else { return internal_err!("{NAME} has {} arguments", values.len()) };
        if vectors.is_empty() || !self.read_centroids(centroids, vectors.len())? {
            return Ok(());
        }
        let Some(centroids) = self.listed.last() else { return Ok(()) };
        let mut step = Step::new(centroids.k(), centroids.d());
        for_each_dense(vectors.as_ref(), centroids.d(), NAME, |points, _| step.add(centroids, points))?;
        if !step.sums.iter().chain(&step.inertias).all(|number| number.is_finite()) {
            return Err(not_finite(vectors)?);
        }
        let sums = self.sums.get_or_insert_with(|| Sums::new(centroids.k(), centroids.d()));
        sums.add(&step.sums, step.sizes.iter().map(|size| *size as i64), step.inertias.iter().sum());
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, sizes, inertias] = states else { return internal_err!("{NAME} has {} states", states.len()) };
        for row in (0..values.len()).filter(|row| values.is_valid(*row)) {
            let (values, k, width) = matrix_of_lists(values.as_ref(), row, NAME)?;
            let sums = self.sums.get_or_insert_with(|| Sums::new(k, width));
            if (sums.sizes.len(), sums.width) != (k, width) {
                let (expected_k, expected) = (sums.sizes.len(), sums.width);
                let of = |k, width| format!("{} of {}", counted(k, "centroid"), counted(width, "number"));
                let message = format!("{NAME} cannot add sums of {} to those of {}", of(k, width), of(expected_k, expected));
                return Err(refused(message, None));
            }
            let sizes = sizes.as_list::<i32>().value(row);
            sums.add(
                &values,
                sizes.as_primitive::<Int64Type>().values().iter().copied(),
                inertias.as_primitive::<Float64Type>().value(row),
            );
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.result()?.iter().map(|part| ScalarValue::try_from_array(part, 0)).collect()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.sums.is_none()
            && let Some(constant) = self.argument.value()?
            && !constant.is_null(0)
        {
            let centroids = self.listed.at(&constant, 0)?;
            self.sums = Some(Sums::new(centroids.k(), centroids.d()));
        }
        match &self.sums {
            Some(_) => ScalarValue::try_from_array(&StructArray::try_new(fields(), self.result()?, None)?, 0),
            None => ScalarValue::try_new_null(&DataType::Struct(fields())),
        }
    }

    fn size(&self) -> usize {
        let numbers = self.sums.as_ref().map_or(0, |sums| sums.values.capacity() + sums.sizes.capacity() + 1);
        let centroids = self.listed.last().map_or(0, |centroids| centroids.values().len() * 2);
        size_of_val(self) + (numbers + centroids) * size_of::<f64>()
    }
}

fn not_finite(vectors: &ArrayRef) -> Result<datafusion::common::DataFusionError> {
    fn count<T: ArrowNativeType + Into<f64>>(rows: VectorsOf<'_, T>) -> usize {
        let is_bad = |row: &[T]| row.iter().any(|number| !Into::<f64>::into(*number).is_finite());
        (0..rows.len()).filter_map(|row| rows.row(row)).filter(|row| is_bad(row)).count()
    }
    let rows = match Vectors::of(vectors.as_ref(), NAME)? {
        Vectors::F64(rows) => count(rows),
        Vectors::F32(rows) => count(rows),
    };
    Ok(match rows {
        0 => refused(format!("the numbers are too large for {NAME}: squares of their distances are beyond DOUBLE"), None),
        rows => refused(
            format!("{NAME} takes finite numbers, and {rows} of {} {} NaN or infinity", counted(vectors.len(), "row"), have(rows)),
            Some("leave these rows out with WHERE"),
        ),
    })
}

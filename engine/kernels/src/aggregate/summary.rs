//! Accumulators that summarize rows of numbers in one pass, with partial states that can be merged.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::filter;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use crate::numeric::moments::Moments;
use crate::numeric::regression::Regression;
use common::error::EngineError;
use common::messages::counted;
use common::tensors::{Vectors, refused};

/// A summary of rows with `width` numbers each.
pub trait Summary: Send + Sync + Sized + 'static {
    /// Whether the first argument is the dependent one; it is moved to the end of a row.
    const IS_EXPLAINED: bool;
    fn new(width: usize) -> Self;
    fn add_rows(&mut self, rows: &[f64]);
    fn add_columns(&mut self, columns: &[&[f64]]);
    fn merge(&mut self, other: &Self);
    fn state(&self) -> (u64, Vec<f64>);
    fn from_state(width: usize, rows: u64, numbers: &[f64]) -> Option<Self>;
    fn size_bytes(&self) -> usize;
}

macro_rules! summary {
    ($summary:ty, $beside:expr) => {
        impl Summary for $summary {
            const IS_EXPLAINED: bool = $beside > 0;

            fn new(width: usize) -> Self {
                <$summary>::new(width - $beside)
            }

            fn add_rows(&mut self, rows: &[f64]) {
                self.add_rows(rows);
            }

            fn add_columns(&mut self, columns: &[&[f64]]) {
                self.add_columns(columns);
            }

            fn merge(&mut self, other: &Self) {
                self.merge(other);
            }

            fn state(&self) -> (u64, Vec<f64>) {
                self.state()
            }

            fn from_state(width: usize, rows: u64, numbers: &[f64]) -> Option<Self> {
                <$summary>::from_state(width.checked_sub($beside)?, rows, numbers)
            }

            fn size_bytes(&self) -> usize {
                self.size_bytes()
            }
        }
    };
}

summary!(Moments, 0);
// Its width counts only the independent columns.
summary!(Regression, 1);

/// The state of an accumulator: how many numbers a row has, how many rows there were, and the summary of them.
pub fn state_types() -> [(&'static str, DataType); 3] {
    let numbers = DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)));
    [("width", DataType::Int64), ("rows", DataType::Int64), ("numbers", numbers)]
}

pub struct Summing<S: Summary, F> {
    function: &'static str,
    summary: Option<(usize, S)>,
    /// A buffer for rows that are not contiguous.
    buffer: Vec<f64>,
    /// Computes the result; there may have been no rows.
    result: F,
}

impl<S: Summary, F> Summing<S, F> {
    pub fn new(function: &'static str, result: F) -> Self {
        Summing { function, summary: None, buffer: Vec::new(), result }
    }

    fn of_width(&mut self, width: usize) -> Result<&mut S> {
        let (first_width, summary) = self.summary.get_or_insert_with(|| (width, S::new(width)));
        match *first_width == width {
            true => Ok(summary),
            false => {
                let (one, other) = (*first_width - usize::from(S::IS_EXPLAINED), width - usize::from(S::IS_EXPLAINED));
                let other = counted(other, "element");
                Err(refused(format!("{} takes vectors of one length, and these have {one} and {other}", self.function), None))
            }
        }
    }

    /// Adds one column per number. Rows with a NULL are skipped.
    fn add_columns(&mut self, values: &[ArrayRef]) -> Result<()> {
        let nulls = values.iter().fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.nulls()));
        let mut columns = match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => values.to_vec(),
            Some(nulls) => {
                let there = BooleanArray::new(nulls.into_inner(), None);
                values.iter().map(|column| filter(column, &there)).collect::<std::result::Result<_, _>>()?
            }
        };
        if S::IS_EXPLAINED {
            columns.rotate_left(1);
        }
        let columns: Vec<&[f64]> = columns.iter().map(|column| &**column.as_primitive::<Float64Type>().values()).collect();
        let summary = self.of_width(columns.len())?;
        if !columns[0].is_empty() {
            summary.add_columns(&columns);
        }
        Ok(())
    }

    /// Adds a column of vectors, after the dependent column.
    fn add_vectors(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [explained @ .., vectors] = values else { return Ok(()) };
        let explained = explained.first().map(|column| column.as_primitive::<Float64Type>());
        let vectors = Vectors::of(vectors, self.function)?;
        if let (None, Vectors::F64(rows)) = (explained, &vectors)
            && let Some((rows, width)) = rows.dense()
            && width > 0
        {
            self.of_width(width)?.add_rows(rows);
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let added = self.add_vectors_by(&mut buffer, vectors, explained);
        self.buffer = buffer;
        added
    }

    fn add_vectors_by(&mut self, buffer: &mut Vec<f64>, vectors: Vectors<'_>, explained: Option<&Float64Array>) -> Result<()> {
        buffer.clear();
        for row in 0..vectors.len() {
            if explained.is_some_and(|column| column.is_null(row)) {
                continue;
            }
            let before = buffer.len();
            match vectors {
                Vectors::F64(rows) => buffer.extend_from_slice(match rows.row(row) {
                    Some(vector) => vector,
                    None => continue,
                }),
                Vectors::F32(rows) => buffer.extend(match rows.row(row) {
                    Some(vector) => vector.iter().map(|number| f64::from(*number)),
                    None => continue,
                }),
            }
            if before == buffer.len() {
                return Err(refused(format!("{} takes vectors with elements, and one is empty", self.function), None));
            }
            buffer.extend(explained.map(|column| column.value(row)));
            self.of_width(buffer.len() - before)?;
        }
        if let Some((_, summary)) = self.summary.as_mut().filter(|_| !buffer.is_empty()) {
            summary.add_rows(buffer);
        }
        Ok(())
    }

    fn broken(&self) -> DataFusionError {
        EngineError::internal(format!("the state of {} is none", self.function)).into_datafusion()
    }
}

impl<S: Summary, F> fmt::Debug for Summing<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Summing({})", self.function)
    }
}

impl<S, F> Accumulator for Summing<S, F>
where
    S: Summary,
    F: Fn(Option<&S>) -> Result<ScalarValue> + Send + Sync + 'static,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match values.last().map(|column| column.data_type()) {
            Some(DataType::Float64) => self.add_columns(values),
            _ => self.add_vectors(values),
        }
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (widths, rows) = (states[0].as_primitive::<Int64Type>(), states[1].as_primitive::<Int64Type>());
        let numbers = states[2].as_list::<i32>();
        for state in (0..widths.len()).filter(|state| widths.is_valid(*state)) {
            let width = usize::try_from(widths.value(state)).map_err(|_| self.broken())?;
            let numbers = numbers.value(state);
            let numbers = numbers.as_primitive::<Float64Type>().values();
            let other = S::from_state(width, rows.value(state).cast_unsigned(), numbers).ok_or_else(|| self.broken())?;
            self.of_width(width)?.merge(&other);
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let Some((width, summary)) = &self.summary else {
            return state_types().iter().map(|(_, data_type)| ScalarValue::try_from(data_type)).collect();
        };
        let (rows, numbers) = summary.state();
        let width = i64::try_from(*width).map_err(|_| self.broken())?;
        Ok(vec![width.into(), rows.cast_signed().into(), list_of_doubles(&numbers)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        (self.result)(self.summary.as_ref().map(|(_, summary)| summary))
    }

    fn size(&self) -> usize {
        let summary_bytes = self.summary.as_ref().map_or(0, |(_, summary)| summary.size_bytes());
        size_of_val(self) + summary_bytes + size_of::<f64>() * self.buffer.capacity()
    }
}

/// Processors make NaNs with a sign; results have the one NaN without it.
pub fn double(number: f64) -> ScalarValue {
    ScalarValue::from(if number.is_nan() { f64::NAN } else { number })
}

pub fn list_of_doubles(numbers: &[f64]) -> ScalarValue {
    let numbers: Vec<ScalarValue> = numbers.iter().map(|number| double(*number)).collect();
    ScalarValue::List(ScalarValue::new_list_nullable(&numbers, &DataType::Float64))
}

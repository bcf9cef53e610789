//! `width_bucket`, in both forms of PostgreSQL: buckets of equal width, and buckets between given edges.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{Documentation, ScalarFunctionArgs};

use super::kernel::{Kernel, documented};
use super::operands::{Operand, Widened};
use super::types::{as_number_type, as_vector_type, check_count, check_number_type, check_vector_type};
use common::tensors::{Vectors, refused};
use common::type_names::declared_name;

const NAME: &str = "width_bucket";

/// `width_bucket(x, low, high, n)`: the number of the bucket, from 1 to n, if the range from `low` to `high` is cut into `n` of
/// equal width; 0 below it and n + 1 above it. With `low` above `high` the buckets are counted downwards.
///
/// `width_bucket(x, edges)`: the number of edges that are not greater than x: 0 before the first, and all from the
/// last on.
///
/// NULL if an argument or an edge is NULL. Among edges NaN is greater than all numbers; in the first form it is an error.
/// The computation is in DOUBLE with the steps of PostgreSQL's `width_bucket_float8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WidthBucket;

impl Kernel for WidthBucket {
    fn name(self) -> &'static str {
        NAME
    }

    fn documentation(self) -> Documentation {
        documented("The number of the bucket that a value falls into.", "width_bucket(x, low, high, n)")
            .with_alternative_syntax("width_bucket(x, edges)")
            .with_argument("x", "A number.")
            .with_argument("low", "Where the first bucket begins.")
            .with_argument("high", "Where the last bucket ends.")
            .with_argument("n", "How many buckets there are between them.")
            .with_argument("edges", "A list of numbers in increasing order.")
            .build()
    }

    fn coerced(self, types: &[DataType]) -> Vec<DataType> {
        let integer = |data_type: &DataType| match data_type.is_integer() || data_type.is_null() {
            true => DataType::Int64,
            false => data_type.clone(),
        };
        match types {
            [x, edges] => vec![as_number_type(x), as_vector_type(edges)],
            [x, low, high, n] => vec![as_number_type(x), as_number_type(low), as_number_type(high), integer(n)],
            others => others.to_vec(),
        }
    }

    fn result(self, arguments: &[FieldRef]) -> Result<Field> {
        check_count(NAME, arguments, "a number with low, high and the number of buckets, or with a list of edges", &[2, 4])?;
        check_number_type(NAME, "the first argument", arguments[0].data_type())?;
        match arguments {
            [_, edges] => check_vector_type(NAME, edges.data_type())?,
            [_, low, high, n] => {
                check_number_type(NAME, "low", low.data_type())?;
                check_number_type(NAME, "high", high.data_type())?;
                if *n.data_type() != DataType::Int64 {
                    let type_name = declared_name(n.data_type());
                    return Err(refused(format!("the number of buckets of {NAME} is an integer, and not {type_name}"), None));
                }
            }
            _ => {}
        }
        Ok(Field::new(NAME, DataType::Int64, true))
    }

    fn compute(self, arguments: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef> {
        let operands = arguments.args.iter().map(Operand::of).collect::<Result<Vec<_>>>()?;
        let numbers = match operands.as_slice() {
            [x, edges] => among_edges(x, edges, rows)?,
            operands => of_one_width(operands, rows)?,
        };
        Ok(Arc::new(numbers))
    }
}

fn number(operand: &Operand, row: usize) -> Option<f64> {
    let numbers = operand.array().as_primitive::<Float64Type>();
    let at = operand.at(row);
    numbers.is_valid(at).then(|| numbers.value(at))
}

fn of_one_width(operands: &[Operand], rows: usize) -> Result<Int64Array> {
    let bucket_of = |row: usize| {
        let counts = operands[3].array().as_primitive::<Int64Type>();
        let at = operands[3].at(row);
        let (Some(x), Some(low), Some(high)) = (number(&operands[0], row), number(&operands[1], row), number(&operands[2], row)) else {
            return Ok(None);
        };
        if counts.is_null(at) {
            return Ok(None);
        }
        bucket(x, low, high, counts.value(at)).map(Some)
    };
    (0..rows).map(bucket_of).collect()
}

fn bucket(x: f64, low: f64, high: f64, count: i64) -> Result<i64> {
    if count <= 0 {
        return Err(refused(format!("{NAME} takes at least one bucket, and not {count}"), None));
    }
    check_bounds(low, high)?;
    if x.is_nan() {
        let hint = "leave NaN out with WHERE, or give edges: NaN is above all of them";
        return Err(refused(format!("{NAME} takes a number, and not NaN"), Some(hint)));
    }
    let after_last = || count.checked_add(1).ok_or_else(|| refused(format!("{NAME} takes less than {} buckets", i64::MAX), None));
    let (before, after) = if low < high { (x < low, x >= high) } else { (x > low, x <= high) };
    if before {
        return Ok(0);
    }
    if after {
        return after_last();
    }
    let share = match (high - low).is_finite() {
        true => (x - low) / (high - low),
        false => (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
    };
    // A share below 1 may be rounded to it.
    let full = (count as f64 * share) as i64;
    Ok(full.clamp(0, count - 1) + 1)
}

fn check_bounds(low: f64, high: f64) -> Result<()> {
    if !low.is_finite() || !high.is_finite() {
        let message = format!("{NAME} takes two finite bounds, and not {low} and {high}");
        return Err(refused(message, Some("give edges instead, of which the first may be -inf and the last inf")));
    }
    if low == high {
        let message = format!("{NAME} takes two different bounds, and both are {low}");
        return Err(refused(message, Some("give a low and a high between which the buckets are; no bucket fits between equal ones")));
    }
    Ok(())
}

fn among_edges(x: &Operand, edges: &Operand, rows: usize) -> Result<Int64Array> {
    let mut of_rows = Widened::new(Vectors::of(edges.array(), NAME)?);
    let mut checked = None;
    let bucket_of = |row: usize| {
        let at = edges.at(row);
        let (Some(edges), Some(x)) = (of_rows.row(at), number(x, row)) else { return Ok(None) };
        if checked.replace(at) != Some(at) {
            check_increasing(edges)?;
        }
        Ok(Some(edges.partition_point(|edge| *edge <= x || x.is_nan()) as i64))
    };
    (0..rows).map(bucket_of).collect()
}

/// Equal edges are allowed: no value is between them.
fn check_increasing(edges: &[f64]) -> Result<()> {
    let follows = |before: f64, after: f64| before <= after || after.is_nan();
    match edges.windows(2).position(|pair| !follows(pair[0], pair[1])) {
        None => Ok(()),
        Some(at) => {
            let (before, after) = (edges[at], edges[at + 1]);
            Err(refused(
                format!("the edges of {NAME} must increase, but {after} at position {} follows {before}", at + 2),
                Some("array_sort(edges) sorts them; array_agg(edge ORDER BY edge) makes a sorted list of a column"),
            ))
        }
    }
}

//! Sums and moments of floats over a frame whose start moves.
//!
//! Nothing is subtracted: what a NaN, an infinity or a large number has done to a sum cannot be taken back. The rows of a frame are two
//! stacks ("two-stacks", Tangwongsan, Hirzel and Schneider: "Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time", DEBS
//! 2017). Rows come to `back`, which has their total. Rows leave `front`, which has for each row the total from it to the end of `front`;
//! when it is empty, the rows of `back` are turned over to it. So each row is merged three times, whatever the length of the frame.

use std::fmt::Debug;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::Call;
use crate::functions::float::scalar_with_one_nan;

/// The accumulator of a call that is computed from sums or moments; `None` for others.
pub fn accumulator(call: &Call) -> Option<Box<dyn Accumulator>> {
    if call.is_distinct || call.return_field.data_type() != &DataType::Float64 {
        return None;
    }
    let call = call.clone();
    Some(match call.function.name() {
        "sum" => MergedAccumulator::<Sum>::boxed(call, |sum, _| Ok(sum.value(sum.sum))),
        "avg" => MergedAccumulator::<Sum>::boxed(call, |sum, _| Ok(sum.value(sum.sum / sum.count as f64))),
        "var" | "var_pop" | "stddev" | "stddev_pop" => {
            MergedAccumulator::<Moments>::boxed(call, |m, call| call.result(m.count, &[m.mean_1, m.squares_1]))
        }
        "covar_samp" | "covar_pop" => {
            MergedAccumulator::<Moments>::boxed(call, |m, call| call.result(m.count, &[m.mean_1, m.mean_2, m.products]))
        }
        "corr" => MergedAccumulator::<Moments>::boxed(call, |m, call| {
            call.result(m.count, &[m.mean_1, m.squares_1, m.mean_2, m.squares_2, m.products])
        }),
        // Their first argument is y, and their state begins with x.
        "regr_slope" | "regr_intercept" | "regr_r2" | "regr_avgx" | "regr_avgy" | "regr_sxx" | "regr_syy" | "regr_sxy" => {
            MergedAccumulator::<Moments>::boxed(call, |m, call| {
                call.result(m.count, &[m.mean_2, m.mean_1, m.squares_2, m.squares_1, m.products])
            })
        }
        _ => return None,
    })
}

impl Call {
    /// What the function makes of a state: a number of rows and what it has of them.
    fn result(&self, count: u64, moments: &[f64]) -> Result<ScalarValue> {
        let mut state = vec![ScalarValue::from(count).to_array()?];
        for moment in moments {
            state.push(ScalarValue::from(*moment).to_array()?);
        }
        let mut accumulator = self.accumulator()?;
        accumulator.merge_batch(&state)?;
        accumulator.evaluate()
    }
}

/// What is known of some rows. The default is that of no row.
trait State: Copy + Default + Debug + Send + Sync + 'static {
    /// One row without NULL; `y` is `x` if the function has one argument.
    fn of_row(x: f64, y: f64) -> Self;

    /// That of both.
    fn merge(self, other: Self) -> Self;
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    sum: f64,
}

impl Sum {
    fn value(&self, value: f64) -> ScalarValue {
        scalar_with_one_nan(ScalarValue::Float64((self.count > 0).then_some(value)))
    }
}

impl State for Sum {
    fn of_row(x: f64, _: f64) -> Self {
        Sum { count: 1, sum: x }
    }

    fn merge(self, other: Self) -> Self {
        Sum { count: self.count + other.count, sum: self.sum + other.sum }
    }
}

/// Means, and sums of squares and products of what is off the mean.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: u64,
    mean_1: f64,
    mean_2: f64,
    squares_1: f64,
    squares_2: f64,
    products: f64,
}

impl State for Moments {
    fn of_row(x: f64, y: f64) -> Self {
        Moments { count: 1, mean_1: x, mean_2: y, ..Moments::default() }
    }

    /// Chan, Golub and LeVeque: "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
    fn merge(self, other: Self) -> Self {
        if self.count == 0 {
            return other;
        }
        if other.count == 0 {
            return self;
        }
        let count = self.count + other.count;
        let part = other.count as f64 / count as f64;
        let weight = self.count as f64 * part;
        let (off_1, off_2) = (other.mean_1 - self.mean_1, other.mean_2 - self.mean_2);
        Moments {
            count,
            mean_1: self.mean_1 + off_1 * part,
            mean_2: self.mean_2 + off_2 * part,
            squares_1: self.squares_1 + other.squares_1 + off_1 * off_1 * weight,
            squares_2: self.squares_2 + other.squares_2 + off_2 * off_2 * weight,
            products: self.products + other.products + off_1 * off_2 * weight,
        }
    }
}

/// The rows of a frame, the first one first.
#[derive(Debug, Default)]
struct TwoStacks<S> {
    /// The totals from a row to the end of this stack; the first row of the frame is the last one here.
    front: Vec<S>,
    back: Vec<S>,
    back_total: S,
}

impl<S: State> TwoStacks<S> {
    fn push(&mut self, row: S) {
        self.back.push(row);
        self.back_total = self.back_total.merge(row);
    }

    /// False if there is no row.
    fn pop(&mut self) -> bool {
        if self.front.is_empty() {
            let mut total = S::default();
            for row in self.back.drain(..).rev() {
                total = row.merge(total);
                self.front.push(total);
            }
            self.back_total = S::default();
        }
        self.front.pop().is_some()
    }

    fn total(&self) -> S {
        self.front.last().copied().unwrap_or_default().merge(self.back_total)
    }
}

/// Makes the result of a frame.
type Evaluate<S> = fn(S, &Call) -> Result<ScalarValue>;

#[derive(Debug)]
struct MergedAccumulator<S> {
    call: Call,
    frame: TwoStacks<S>,
    evaluate: Evaluate<S>,
}

impl<S: State> MergedAccumulator<S> {
    fn boxed(call: Call, evaluate: Evaluate<S>) -> Box<dyn Accumulator> {
        Box::new(MergedAccumulator { call, frame: TwoStacks::default(), evaluate })
    }
}

impl<S: State> Accumulator for MergedAccumulator<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [first, others @ ..] = values else { return internal_err!("{} has no argument", self.call.name) };
        let x = cast(first, &DataType::Float64)?;
        let x = x.as_primitive::<Float64Type>();
        let y = others.first().map(|second| cast(second, &DataType::Float64)).transpose()?;
        let y = y.as_ref().map_or(x, |second| second.as_primitive::<Float64Type>());
        for row in 0..x.len() {
            // A row with NULL is kept because it leaves the frame like others.
            let is_valid = x.is_valid(row) && y.is_valid(row);
            self.frame.push(if is_valid { S::of_row(x.value(row), y.value(row)) } else { S::default() });
        }
        Ok(())
    }

    /// Rows leave the frame in the order in which they came.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |column| column.len());
        match (0..rows).all(|_| self.frame.pop()) {
            true => Ok(()),
            false => internal_err!("more rows leave a frame of {} than it has", self.call.name),
        }
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        (self.evaluate)(self.frame.total(), &self.call)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("frames of {} have no state", self.call.name)
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("frames of {} are not merged", self.call.name)
    }

    fn size(&self) -> usize {
        size_of_val(self) + (self.frame.front.capacity() + self.frame.back.capacity()) * size_of::<S>()
    }
}

//! Aggregates over sliding window frames. Most can retract a row; the others are recomputed from the rows of each frame, which are kept
//! for that.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

pub fn sliding_accumulator(function: &Arc<AggregateUDF>, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
    let call = Call::of(function, &args);
    let accumulator = function.create_sliding_accumulator(args)?;
    // After it has retracted all values, `bit_xor` is 0 and not NULL.
    let forgets = function.name() != "bit_xor";
    match accumulator.supports_retract_batch() && forgets {
        true => Ok(accumulator),
        false => Ok(Box::new(RecomputedAccumulator { call, frame: Vec::new() })),
    }
}

/// A call of an aggregate, from which accumulators are made.
#[derive(Debug)]
struct Call {
    function: Arc<AggregateUDF>,
    return_field: FieldRef,
    schema: Schema,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    is_reversed: bool,
    name: String,
    is_distinct: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
}

impl Call {
    fn of(function: &Arc<AggregateUDF>, args: &AccumulatorArgs<'_>) -> Call {
        Call {
            function: Arc::clone(function),
            return_field: Arc::clone(&args.return_field),
            schema: args.schema.clone(),
            ignore_nulls: args.ignore_nulls,
            order_bys: args.order_bys.to_vec(),
            is_reversed: args.is_reversed,
            name: args.name.to_string(),
            is_distinct: args.is_distinct,
            exprs: args.exprs.to_vec(),
            expr_fields: args.expr_fields.to_vec(),
        }
    }

    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        self.function.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        })
    }
}

#[derive(Debug)]
struct RecomputedAccumulator {
    call: Call,
    /// The arguments of the frame's rows; empty before the first rows.
    frame: Vec<ArrayRef>,
}

impl RecomputedAccumulator {
    fn of_frame(&self) -> Result<Box<dyn Accumulator>> {
        let mut accumulator = self.call.accumulator()?;
        if self.frame.first().is_some_and(|column| !column.is_empty()) {
            accumulator.update_batch(&self.frame)?;
        }
        Ok(accumulator)
    }
}

impl Accumulator for RecomputedAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.frame = match self.frame.is_empty() {
            true => values.to_vec(),
            // Copies the frame, which costs less than computing it.
            false => {
                let grown = self.frame.iter().zip(values).map(|(held, new)| concat(&[held.as_ref(), new.as_ref()]));
                grown.collect::<std::result::Result<_, _>>()?
            }
        };
        Ok(())
    }

    /// Rows leave the frame in the order in which they came.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let gone = values.first().map_or(0, |column| column.len());
        for column in &mut self.frame {
            let Some(rest) = column.len().checked_sub(gone) else {
                return internal_err!("{gone} rows leave a frame of {}", column.len());
            };
            *column = column.slice(gone, rest);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.of_frame()?.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.of_frame()?.state()
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("frames of {} are not merged", self.call.name)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.frame.iter().map(|column| column.get_array_memory_size()).sum::<usize>()
    }
}

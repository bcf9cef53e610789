//! Aggregates over window frames whose start moves. Most can retract a row; sums and moments of floats are merged from those of parts of
//! the frame; the others are computed anew.

mod moments;
mod recomputed;

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

pub fn sliding_accumulator(function: &Arc<AggregateUDF>, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
    let call = Call::of(function, &args);
    if let Some(moments) = moments::accumulator(&call) {
        return Ok(moments);
    }
    // DataFusion has no other sum of distinct values that can retract one.
    let is_refused = call.is_distinct && function.name() == "sum" && call.return_field.data_type() != &DataType::Int64;
    // After it has retracted all values, `bit_xor` is 0 and not NULL.
    let is_recomputed = is_refused || function.name() == "bit_xor";
    let accumulator = if is_recomputed { None } else { Some(function.create_sliding_accumulator(args)?) };
    Ok(match accumulator.filter(|accumulator| accumulator.supports_retract_batch()) {
        Some(accumulator) => accumulator,
        None => Box::new(recomputed::RecomputedAccumulator::new(call)),
    })
}

/// A call of an aggregate, from which accumulators are made.
#[derive(Debug, Clone)]
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

//! Aggregates.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams, NullTreatment};
use datafusion::logical_expr::{Expr, ExprSchemable};
use engine::UserAggregate;

use super::super::functions::kinds::kinds_of;
use super::super::functions::own;
use super::super::functions::standard::{self, AGGREGATES};
use super::super::registry::Function;
use super::super::writer::Writer;
use super::{argument, check_no_metadata, refused, types_of};
use crate::proto::aggregate_function::AggregationInvocation;
use crate::proto::aggregate_rel::Measure;
use crate::proto::{AggregateFunction as Written, AggregationPhase};
use crate::refusal::Refusal;
use crate::types::type_of;

impl Writer {
    /// Writes an aggregate function, with or without an alias.
    pub(in crate::producer) fn measure(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Measure, Refusal> {
        let function = match expr {
            Expr::Alias(alias) => {
                check_no_metadata(alias.metadata.as_ref(), &alias.name)?;
                return self.measure(&alias.expr, schema);
            }
            Expr::AggregateFunction(function) => function,
            other => return Err(refused(other)),
        };
        let AggregateFunction { func, params: AggregateFunctionParams { args, distinct, filter, order_by, null_treatment } } = function;
        if *null_treatment == Some(NullTreatment::IgnoreNulls) {
            return Err(ignores_nulls(func.name()));
        }
        let (_, output) = expr.to_field(schema)?;
        let (named, args) = match UserAggregate::portable_of(func) {
            Some(function) => {
                let types = types_of(args, schema)?;
                let all_types = [types.as_slice(), &[output.data_type().clone()]].concat();
                (self.user_function(function, &types, &all_types)?, args.as_slice())
            }
            None => aggregate_function(func.name(), args, *distinct, output.data_type(), schema)?,
        };
        let arguments = self.exprs(args, schema)?.into_iter().map(argument).collect();
        let measure = Written {
            function_reference: self.registry.function(&named),
            arguments,
            options: named.options,
            output_type: Some(type_of(output.data_type(), output.is_nullable(), &mut self.types)?),
            phase: AggregationPhase::InitialToResult as i32,
            sorts: self.sort_fields(order_by, schema)?,
            invocation: invocation(*distinct),
            ..Written::default()
        };
        let filter = filter.as_ref().map(|filter| self.expr(filter, schema)).transpose()?;
        Ok(Measure { measure: Some(measure), filter })
    }
}

/// The name of an aggregate and its arguments. `count` of a constant has no arguments: it counts rows.
pub(super) fn aggregate_function<'a>(
    name: &str,
    args: &'a [Expr],
    is_distinct: bool,
    output: &DataType,
    schema: &DFSchema,
) -> Result<(Function, &'a [Expr]), Refusal> {
    if let ("count", false, [Expr::Literal(value, _)]) = (name, is_distinct, args)
        && !value.is_null()
    {
        return Ok((Function::new(AGGREGATES, "count", &[]), &[]));
    }
    let types = types_of(args, schema)?;
    let named = standard::aggregate(name, &types, output).or_else(|| own::aggregate(name, &kinds_of(&types)));
    match named {
        Some(named) => Ok((named, args)),
        None => {
            Err(Refusal::new(format!("the aggregate {name}"), "it is not on the list of those that mean the same wherever a plan is read"))
        }
    }
}

pub(super) fn invocation(is_distinct: bool) -> i32 {
    let invocation = if is_distinct { AggregationInvocation::Distinct } else { AggregationInvocation::All };
    invocation as i32
}

pub(super) fn ignores_nulls(name: &str) -> Refusal {
    let why = "a plan cannot say it, and with NULLs the result is another; use FILTER (WHERE … IS NOT NULL)";
    Refusal::new(format!("{name} with IGNORE NULLS"), why)
}

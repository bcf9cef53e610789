//! Translates expressions of plans to expressions of DataFusion. The library dispatches by kind; calls are in `functions/`.
//!
//! - `field.rs` references to columns, to fields and items inside of them, and to columns of an outer query
//! - `literal.rs` constants, `interval.rs` intervals, `nested_literal.rs` lists, maps and structs
//! - `cast.rs` casts
//! - `choice.rs` IF, CASE and lists of choices
//! - `subquery.rs` subqueries
//! - `sorts.rs` sort keys

mod cast;
mod choice;
mod field;
mod interval;
mod literal;
mod nested_literal;
mod sorts;
mod subquery;

use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::Expr;
use datafusion_substrait::logical_plan::consumer::{SubstraitConsumer, from_nested};

pub use cast::cast;
pub use choice::{if_then, multi_or_list, singular_or_list, switch};
pub use field::field_reference;
pub use literal::{literal, literal_named};
pub use sorts::{sort_direction, sorts};
pub use subquery::subquery;

use super::consume::Consumer;
use crate::proto::Expression;
use crate::proto::expression::Nested;
use crate::proto::expression::nested::NestedType;

pub async fn expressions(consumer: &Consumer<'_>, of: &[Expression], schema: &DFSchema) -> DfResult<Vec<Expr>> {
    let mut expressions = Vec::with_capacity(of.len());
    for expression in of {
        expressions.push(consumer.consume_expression(expression, schema).await?);
    }
    Ok(expressions)
}

/// Lists are made by the library; the fields of structs get names if the plan has some.
pub async fn nested(consumer: &Consumer<'_>, of: &Nested, schema: &DFSchema) -> DfResult<Expr> {
    match &of.nested_type {
        Some(NestedType::Struct(nested)) => {
            let fields = expressions(consumer, &nested.fields, schema).await?;
            Ok(consumer.state().udf("struct")?.call(fields))
        }
        _ => from_nested(consumer, of, schema).await,
    }
}

//! References to columns and to fields inside of them. The library supports only columns, and uses indices of the plan unchecked.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, Result as DfResult};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{Expr, ExprSchemable, lit};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::literal::literal;
use crate::consumer::column_names::column;
use crate::consumer::consume::Consumer;
use crate::consumer::relabel::relabelled;
use crate::error::PlanError;
use crate::proto::expression::field_reference::{ReferenceType, RootType};
use crate::proto::expression::reference_segment::ReferenceType as Segment;
use crate::proto::expression::{FieldReference, ReferenceSegment};

const PLACE: &str = "a reference";

pub async fn field_reference(consumer: &Consumer<'_>, of: &FieldReference, schema: &DFSchema) -> DfResult<Expr> {
    let Some(ReferenceType::DirectReference(direct)) = &of.reference_type else {
        return Err(PlanError::unsupported("a reference that is not direct", PLACE).into());
    };
    match &of.root_type {
        None | Some(RootType::RootReference(_)) => {
            let (index, rest) = first(direct)?;
            within(consumer, column(schema, index)?, rest, schema)
        }
        Some(RootType::OuterReference(outer)) => {
            let (index, rest) = first(direct)?;
            let around = consumer.get_outer_schema(outer.steps_out as usize);
            let around = around.ok_or_else(|| PlanError::invalid("a reference out of a subquery that is none", PLACE))?;
            within(consumer, outer_column(&around, index)?, rest, schema)
        }
        Some(RootType::Expression(root)) => {
            let root = consumer.consume_expression(root, schema).await?;
            within(consumer, root, Some(direct), schema)
        }
        Some(RootType::LambdaParameterReference(_)) => Err(PlanError::unsupported("the parameter of a lambda", PLACE).into()),
    }
}

fn outer_column(around: &DFSchema, index: usize) -> DfResult<Expr> {
    column(around, index)?;
    let (qualifier, field) = around.qualified_field(index);
    Ok(Expr::OuterReferenceColumn(Arc::clone(field), Column::from((qualifier, field))))
}

/// The index of the column, and the rest of the path.
fn first(direct: &ReferenceSegment) -> Result<(usize, Option<&ReferenceSegment>), PlanError> {
    match &direct.reference_type {
        Some(Segment::StructField(field)) => match usize::try_from(field.field) {
            Ok(index) => Ok((index, field.child.as_deref())),
            Err(_) => Err(PlanError::invalid(format!("a reference to field {}", field.field), PLACE)),
        },
        _ => Err(PlanError::invalid("a reference into a row that is no field", PLACE)),
    }
}

/// Follows the path: fields by number, items of lists from 0, values of maps by key.
fn within(consumer: &Consumer<'_>, mut value: Expr, mut rest: Option<&ReferenceSegment>, schema: &DFSchema) -> DfResult<Expr> {
    let state = consumer.state();
    while let Some(segment) = rest {
        (value, rest) = match &segment.reference_type {
            Some(Segment::StructField(field)) => {
                let (value, name) = told_apart(value, schema, field.field)?;
                (state.udf("get_field")?.call(vec![value, lit(name)]), field.child.as_deref())
            }
            Some(Segment::ListElement(item)) => {
                let number = i64::from(item.offset) + 1;
                if number < 1 {
                    return Err(PlanError::invalid(format!("a reference to item {} of a list", item.offset), PLACE).into());
                }
                (state.udf("array_element")?.call(vec![value, lit(number)]), item.child.as_deref())
            }
            Some(Segment::MapKey(key)) => {
                let written = key.map_key.as_ref().ok_or_else(|| PlanError::missing("the key", PLACE))?;
                let written = Expr::Literal(literal(&consumer.types(), written, &PLACE)?, None);
                let values = state.udf("map_extract")?.call(vec![value, written]);
                (state.udf("array_element")?.call(vec![values, lit(1_i64)]), key.child.as_deref())
            }
            None => return Err(PlanError::missing("the field", PLACE).into()),
        };
    }
    Ok(value)
}

/// The struct, and the name of its `index`-th field. If several fields share a name, DataFusion would take the first, so they are renamed
/// here.
fn told_apart(of: Expr, schema: &DFSchema, index: i32) -> DfResult<(Expr, String)> {
    let data_type = of.get_type(schema)?;
    let DataType::Struct(fields) = &data_type else {
        return Err(PlanError::invalid(format!("a reference to field {index} of {data_type}, which has none"), PLACE).into());
    };
    let Some(field) = usize::try_from(index).ok().and_then(|index| fields.get(index)) else {
        return Err(PlanError::invalid(format!("a reference to field {index}, where there are {}", fields.len()), PLACE).into());
    };
    if fields.iter().filter(|other| other.name() == field.name()).count() == 1 {
        return Ok((of, field.name().clone()));
    }
    let numbered = fields.iter().enumerate().map(|(number, field)| field.as_ref().clone().with_name(format!("c{number}")));
    let numbered = DataType::Struct(numbered.collect());
    Ok((relabelled(of, numbered), format!("c{index}")))
}

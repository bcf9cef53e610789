//! Rows in the plan. The library takes the types and names of the values as they are; a value whose type differs from the schema would
//! fail when it is read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{DFSchema, DFSchemaRef, Result as DfResult, TableReference};
use datafusion::logical_expr::{EmptyRelation, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Values};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;
use engine::tensor_shape;

use crate::consumer::consume::Consumer;
use crate::consumer::exprs::literal_named;
use crate::error::PlanError;
use crate::proto::NamedStruct;
use crate::proto::expression::{Literal, RexType};
use crate::proto::read_rel::VirtualTable;
use crate::types::{Names, TypeReader};

const PLACE: &str = "rows in the plan";

#[expect(deprecated, reason = "the rows of plans before 0.60")]
pub async fn values(consumer: &Consumer<'_>, table: &VirtualTable, schema: &NamedStruct) -> DfResult<LogicalPlan> {
    let fields = consumer.types().fields(schema, &PLACE)?;
    let rows = table.expressions.len() + table.values.len();
    let schema_of_rows = of_columns(consumer, &fields)?;
    if rows == 0 || fields.is_empty() {
        return empty(schema_of_rows, rows);
    }
    let none = DFSchema::empty();
    let mut values = Vec::with_capacity(rows);
    for row in &table.values {
        values.push(literals(&consumer.types(), row.fields.iter(), schema)?);
    }
    let after = after(schema, &consumer.types())?;
    for row in &table.expressions {
        let mut exprs = Vec::with_capacity(row.fields.len());
        let mut names = Names::of(&schema.names);
        for (index, field) in row.fields.iter().enumerate() {
            exprs.push(match &field.rex_type {
                Some(RexType::Literal(of)) => {
                    names.next(index, &PLACE)?;
                    Expr::Literal(literal_named(&consumer.types(), of, &mut names, &PLACE)?, None)
                }
                _ => {
                    // For an expression that is not a constant the number of names is unknown, but that of the schema is known.
                    if let Some(after) = after.get(index) {
                        names = after.clone();
                    }
                    consumer.consume_expression(field, &none).await?
                }
            });
        }
        values.push(exprs);
    }
    check_casts(&values, &schema_of_rows)?;
    check_shapes(&values, &schema_of_rows)?;
    let plan = with_shapes(LogicalPlanBuilder::values_with_schema(values, &schema_of_rows)?.build()?, &schema_of_rows)?;
    let alias = consumer.fresh.table("values").unwrap_or_else(|| TableReference::bare("values"));
    LogicalPlanBuilder::from(plan).alias(alias)?.build()
}

/// No rows, or one row without columns, which a query of constants reads.
fn empty(schema: DFSchemaRef, rows: usize) -> DfResult<LogicalPlan> {
    match rows {
        0 => Ok(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema })),
        1 => Ok(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, schema })),
        _ => Err(PlanError::unsupported(format!("{rows} rows without columns"), PLACE).into()),
    }
}

/// Columns with unique names; all are nullable.
fn of_columns(consumer: &Consumer<'_>, fields: &Fields) -> DfResult<DFSchemaRef> {
    let columns = fields.iter().map(|field| {
        let column = Field::new(consumer.fresh.column(), nullable(field.data_type()), true);
        column.with_metadata(field.metadata().clone())
    });
    Ok(Arc::new(DFSchema::from_unqualified_fields(columns.collect(), HashMap::new())?))
}

/// The type of a constant, with everything in it nullable.
fn nullable(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| Field::new(field.name(), nullable(field.data_type()), true)).collect())
        }
        DataType::List(item) => DataType::List(Arc::new(Field::new(item.name(), nullable(item.data_type()), true))),
        other => other.clone(),
    }
}

/// A value of another type is cast to that of its column, and a cast matches fields by name: if two share a name it would use the first
/// twice.
fn check_casts(rows: &[Vec<Expr>], schema: &DFSchema) -> DfResult<()> {
    for (index, field) in schema.fields().iter().enumerate().filter(|(_, field)| has_a_name_twice(field.data_type())) {
        for value in rows.iter().filter_map(|row| row.get(index)) {
            let data_type = value.get_type(schema)?;
            if data_type != *field.data_type() && data_type != DataType::Null {
                let what =
                    format!("a value of the type {data_type} for a column of the type {}, which has a name twice,", field.data_type());
                return Err(PlanError::unsupported(what, PLACE).into());
            }
        }
    }
    Ok(())
}

/// Tensors with the same number of elements have the same data type.
fn check_shapes(rows: &[Vec<Expr>], schema: &DFSchema) -> DfResult<()> {
    for (index, column_shape) in schema.fields().iter().enumerate().filter_map(|(index, field)| Some((index, tensor_shape(field)?))) {
        for value in rows.iter().filter_map(|row| row.get(index)) {
            if tensor_shape(&value.to_field(schema)?.1).is_some_and(|shape| shape != column_shape) {
                return Err(PlanError::invalid("a tensor in a column of tensors of another shape", PLACE).into());
            }
        }
    }
    Ok(())
}

/// DataFusion gives rows the types of the schema, but not its metadata.
fn with_shapes(plan: LogicalPlan, schema: &DFSchema) -> DfResult<LogicalPlan> {
    let LogicalPlan::Values(Values { schema: planned, values }) = plan else { return Ok(plan) };
    let fields = planned.iter().zip(schema.fields()).map(|((qualifier, field), column)| {
        (qualifier.cloned(), Arc::new(field.as_ref().clone().with_metadata(column.metadata().clone())))
    });
    let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), HashMap::new())?);
    Ok(LogicalPlan::Values(Values { schema, values }))
}

fn has_a_name_twice(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            let mut names = HashSet::new();
            fields.iter().any(|field| !names.insert(field.name()) || has_a_name_twice(field.data_type()))
        }
        DataType::List(item) | DataType::Map(item, _) => has_a_name_twice(item.data_type()),
        _ => false,
    }
}

fn literals<'l>(reader: &TypeReader<'_>, of: impl Iterator<Item = &'l Literal>, schema: &NamedStruct) -> Result<Vec<Expr>, PlanError> {
    let mut names = Names::of(&schema.names);
    let exprs = of.enumerate().map(|(index, of)| {
        names.next(index, &PLACE)?;
        Ok(Expr::Literal(literal_named(reader, of, &mut names, &PLACE)?, None))
    });
    exprs.collect()
}

/// For each column the names inside of it.
fn after<'s>(schema: &'s NamedStruct, reader: &TypeReader<'_>) -> Result<Vec<Names<'s>>, PlanError> {
    let mut names = Names::of(&schema.names);
    let columns = schema.r#struct.iter().flat_map(|columns| &columns.types).enumerate().map(|(index, column)| {
        names.next(index, &PLACE)?;
        reader.named(column, &mut names, &PLACE)?;
        Ok(names.clone())
    });
    columns.collect()
}

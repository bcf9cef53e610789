//! UNNEST of a struct: DataFusion's operator shows the values beneath a NULL struct, but its fields must be NULL.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, Result, internal_err};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::logical_plan::{Projection, Unnest};
use datafusion::logical_expr::{Expr, LogicalPlan};

pub fn unnested(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    plan.transform_up_with_subqueries(|part| match part {
        LogicalPlan::Unnest(unnest) if !unnest.struct_type_columns.is_empty() => {
            found = true;
            Ok(Transformed::yes(with_fields(unnest)?))
        }
        // Columns above may be nullable now.
        part if found => Ok(Transformed::yes(part.recompute_schema()?)),
        part => Ok(Transformed::no(part)),
    })
    .data()
}

fn with_fields(unnest: Unnest) -> Result<LogicalPlan> {
    let Unnest { input, exec_columns, struct_type_columns, dependency_indices, schema, options, .. } = unnest;
    let before = Arc::clone(input.schema());
    let structs = |column: &Column| Ok(struct_type_columns.contains(&before.index_of_column(column)?));
    let lists = exec_columns.into_iter().filter_map(|column| match structs(&column) {
        Ok(is_struct) => (!is_struct).then_some(Ok(column)),
        Err(error) => Some(Err(error)),
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    let input = if lists.is_empty() { input } else { Arc::new(LogicalPlan::Unnest(Unnest::try_new(input, lists, options)?)) };
    let columns = schema.iter().zip(&dependency_indices).enumerate().map(|(place, ((qualifier, field), source))| {
        if !struct_type_columns.contains(source) {
            return Ok(Expr::Column(Column::from((qualifier, field))));
        }
        let (relation, of) = before.qualified_field(*source);
        let number = dependency_indices[..place].iter().rev().take_while(|other| *other == source).count();
        let DataType::Struct(fields) = of.data_type() else { return internal_err!("a {} is unnested as a struct", of.data_type()) };
        let value = get_field(Expr::Column(Column::from((relation, of))), fields[number].name().as_str());
        Ok(value.alias_qualified(qualifier.cloned(), field.name()))
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect::<Result<Vec<_>>>()?, input)?))
}

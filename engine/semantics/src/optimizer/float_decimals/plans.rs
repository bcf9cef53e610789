//! Coerces the nodes of a plan: their expressions, and the types of inputs that are combined.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::binary::type_union_resolution;
use datafusion::logical_expr::expr_rewriter::{NamePreserver, coerce_plan_expr_for_schema};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, Join, LogicalPlan, RecursiveQuery, Union, Values};
use datafusion::optimizer::analyzer::type_coercion::TypeCoercionRewriter;

use super::Coercion;
use super::exprs::Exprs;
use super::room::{make_room, whole_digits, whole_digits_of_column};
use super::types::meet;

/// The node with matching types; its inputs are coerced already.
pub fn coerced(mut plan: LogicalPlan, walk: &mut Coercion) -> Result<LogicalPlan> {
    if let LogicalPlan::Dml(_) = plan {
        // An INSERT has no expressions.
        return Ok(plan);
    }
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        // A prepared statement has been optimized already, and its filters are here.
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    let schema = Arc::new(schema);
    if let LogicalPlan::Filter(filter) = &mut plan {
        // For WHERE NULL.
        filter.predicate = std::mem::take(&mut filter.predicate).cast_to(&DataType::Boolean, schema.as_ref())?;
    }
    let names = NamePreserver::new(&plan);
    let mut exprs = Exprs::new(walk, &schema);
    let plan = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(expr.rewrite(&mut exprs)?.update_data(|expr| name.restore(expr)))
    });
    let mut plan = plan?.data;
    match &mut plan {
        LogicalPlan::Join(join) => meet_keys(join)?,
        LogicalPlan::Union(union) => meet_inputs(union)?,
        LogicalPlan::Values(values) => meet_rows(values, walk.has_table_types())?,
        LogicalPlan::RecursiveQuery(query) => keep_planned(query)?,
        _ => {}
    }
    TypeCoercionRewriter::new(&schema).coerce_plan(plan)?.recompute_schema()
}

/// Coerces the keys of USING, NATURAL, INTERSECT and EXCEPT.
fn meet_keys(join: &mut Join) -> Result<()> {
    for (left, right) in &mut join.on {
        let (Ok(left_type), Ok(right_type)) = (left.get_type(join.left.schema()), right.get_type(join.right.schema())) else {
            continue;
        };
        let mut types = [left_type, right_type];
        if meet(&mut types) {
            *left = std::mem::take(left).cast_to(&types[0], join.left.schema())?;
            *right = std::mem::take(right).cast_to(&types[1], join.right.schema())?;
        }
    }
    Ok(())
}

fn meet_inputs(union: &mut Union) -> Result<()> {
    let types_of = |input: &Arc<LogicalPlan>| input.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    let mut inputs: Vec<Vec<DataType>> = union.inputs.iter().map(types_of).collect();
    let columns = union.schema.fields().len();
    if inputs.iter().any(|types| types.len() != columns) {
        return Ok(());
    }
    let mut changed = false;
    for column in 0..columns {
        let mut types: Vec<DataType> = inputs.iter().map(|types| types[column].clone()).collect();
        let written = || union.inputs.iter().map(|input| whole_digits_of_column(input, column)).max().unwrap_or_default();
        if meet(&mut types) || make_room(&mut types, &written) {
            changed = true;
            inputs.iter_mut().zip(types).for_each(|(input, data_type)| input[column] = data_type);
        }
    }
    // DataFusion starts from these types, those with which the first input was planned.
    if let Some(first) = inputs.first() {
        union.schema = Arc::new(retyped(&union.schema, first)?);
    }
    for (input, types) in union.inputs.iter_mut().zip(&inputs).filter(|_| changed) {
        let schema = retyped(input.schema(), types)?;
        let plan = Arc::unwrap_or_clone(std::mem::take(input));
        *input = Arc::new(coerce_plan_expr_for_schema(plan, &schema)?);
    }
    Ok(())
}

/// The rows of a recursive query keep the types it was planned with.
fn keep_planned(query: &mut RecursiveQuery) -> Result<()> {
    for term in [&mut query.static_term, &mut query.recursive_term] {
        let plan = Arc::unwrap_or_clone(std::mem::take(term));
        *term = Arc::new(coerce_plan_expr_for_schema(plan, &query.schema)?);
    }
    Ok(())
}

/// Gives the columns types that fit all their rows.
fn meet_rows(values: &mut Values, has_table_types: bool) -> Result<()> {
    let nothing = DFSchema::empty();
    let mut types = Vec::with_capacity(values.schema.fields().len());
    for (column, field) in values.schema.fields().iter().enumerate() {
        let mut exprs: Vec<&mut Expr> = values.values.iter_mut().filter_map(|row| row.get_mut(column)).collect();
        let data_type = if has_table_types { field.data_type().clone() } else { column_type(&mut exprs, field)? };
        for expr in exprs {
            *expr = std::mem::take(expr).cast_to(&data_type, &nothing)?;
        }
        types.push(data_type);
    }
    values.schema = Arc::new(retyped(&values.schema, &types)?);
    Ok(())
}

fn column_type(exprs: &mut [&mut Expr], field: &FieldRef) -> Result<DataType> {
    let nothing = DFSchema::empty();
    let mut types = exprs.iter().map(|expr| expr.get_type(&nothing)).collect::<Result<Vec<_>>>()?;
    let implicit = types.iter().all(|data_type| data_type == field.data_type());
    // The planner has already cast the rows, to the common type of different ones. A cast written in the statement looks the same, but
    // rarely has exactly this type for rows of exactly these types.
    let mut inferred = exprs.iter().map(|expr| uncast(expr, field).get_type(&nothing)).collect::<Result<Vec<_>>>()?;
    let written = |exprs: &[&mut Expr]| exprs.iter().map(|expr| whole_digits(expr)).max().unwrap_or_default();
    if implicit
        && type_union_resolution(&inferred).as_ref() == Some(field.data_type())
        && is_nullable(exprs)? == field.is_nullable()
        && (meet(&mut inferred) || make_room(&mut inferred, &|| written(exprs)))
    {
        exprs.iter_mut().for_each(|expr| **expr = uncast(expr, field).clone());
        types = inferred;
    }
    let _ = meet(&mut types) || make_room(&mut types, &|| written(exprs));
    Ok(type_union_resolution(&types).unwrap_or_else(|| field.data_type().clone()))
}

/// The expression without the cast to the field's type.
fn uncast<'e>(expr: &'e Expr, field: &FieldRef) -> &'e Expr {
    match expr {
        Expr::Cast(cast) if cast.field.data_type() == field.data_type() => &cast.expr,
        other => other,
    }
}

fn is_nullable(exprs: &[&mut Expr]) -> Result<bool> {
    let nothing = DFSchema::empty();
    let nullable = exprs.iter().map(|expr| expr.nullable(&nothing)).collect::<Result<Vec<_>>>()?;
    Ok(nullable.contains(&true))
}

fn retyped(schema: &DFSchema, types: &[DataType]) -> Result<DFSchema> {
    let fields = schema
        .iter()
        .zip(types)
        .map(|((qualifier, field), data_type)| (qualifier.cloned(), Arc::new(field.as_ref().clone().with_data_type(data_type.clone()))));
    DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())
}

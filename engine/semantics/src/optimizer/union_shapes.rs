//! A UNION of tensors with different shapes yields lists of fixed size.
//!
//! In DataFusion, the logical plan of a UNION keeps the metadata that all inputs share, and the physical plan that of any input: tensors
//! of two shapes would all get one of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, Projection, Union};

use common::tensor_shape::{EXTENSION_METADATA, EXTENSION_NAME};
use common::types::is_tensor;

pub fn union_shapes(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(in_plan).map(|plan| plan.data)
}

fn in_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Union(union) = &plan else { return Ok(Transformed::no(plan)) };
    if !union.schema.fields().iter().any(|field| matches!(field.data_type(), DataType::FixedSizeList(..))) {
        return Ok(Transformed::no(plan));
    }
    let inputs = union.inputs.iter().map(|input| fields_of(input)).collect::<Result<Vec<_>>>()?;
    let wanted: Vec<Option<HashMap<String, String>>> = (0..union.schema.fields().len()).map(|column| common(&inputs, column)).collect();
    if wanted.iter().all(Option::is_none) {
        return Ok(Transformed::no(plan));
    }
    let inputs = union.inputs.iter().zip(&inputs).map(|(input, fields)| said_so(input, fields, &wanted)).collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(LogicalPlan::Union(Union::try_new(inputs)?)))
}

/// The fields at run time: coercion has given the inputs the schema of the UNION.
fn fields_of(input: &LogicalPlan) -> Result<Vec<FieldRef>> {
    match input {
        LogicalPlan::Projection(projection) => projection.expr.iter().map(|expr| Ok(expr.to_field(projection.input.schema())?.1)).collect(),
        other => Ok(other.schema().fields().to_vec()),
    }
}

/// The metadata that a column of tensors should have in all inputs; `None` if nothing has to change. An input without metadata, such as
/// NULL, does not count.
fn common(inputs: &[Vec<FieldRef>], column: usize) -> Option<HashMap<String, String>> {
    let fields = inputs.iter().filter_map(|fields| fields.get(column));
    let said: Vec<&FieldRef> = fields.filter(|field| !field.metadata().is_empty()).collect();
    let (first, others) = said.split_first()?;
    if !said.iter().any(|field| is_tensor(field)) || others.iter().all(|other| other.metadata() == first.metadata()) {
        return None;
    }
    let shape = |field: &Field| [EXTENSION_NAME, EXTENSION_METADATA].map(|key| field.metadata().get(key).cloned());
    match others.iter().all(|other| shape(other) == shape(first)) {
        // If the shapes match, other differences are dropped.
        true => {
            let keys = [EXTENSION_NAME, EXTENSION_METADATA].into_iter().zip(shape(first));
            Some(keys.filter_map(|(key, value)| Some((key.to_string(), value?))).collect())
        }
        false => Some(HashMap::new()),
    }
}

fn said_so(input: &Arc<LogicalPlan>, fields: &[FieldRef], wanted: &[Option<HashMap<String, String>>]) -> Result<Arc<LogicalPlan>> {
    let says_other = |real: &FieldRef, wanted: &HashMap<String, String>| !real.metadata().is_empty() && real.metadata() != wanted;
    let columns = fields.iter().zip(wanted);
    let wanted = columns.map(|(real, wanted)| wanted.clone().filter(|wanted| says_other(real, wanted))).collect::<Vec<_>>();
    with_metadata(input, &wanted)
}

/// The plan whose columns have exactly this metadata, where `wanted` has some.
pub fn with_metadata(input: &Arc<LogicalPlan>, wanted: &[Option<HashMap<String, String>>]) -> Result<Arc<LogicalPlan>> {
    let columns = input.schema().iter().zip(wanted).map(|((table, field), wanted)| {
        let column = Expr::Column(Column::from((table, field)));
        match wanted {
            Some(wanted) => {
                // A cast with a named field sets exactly this metadata.
                let field_wanted = Field::new("list", field.data_type().clone(), true).with_metadata(wanted.clone());
                Expr::Cast(Cast::new_from_field(Box::new(column), Arc::new(field_wanted))).alias_qualified(table.cloned(), field.name())
            }
            None => column,
        }
    });
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::clone(input))?)))
}

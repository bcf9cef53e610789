//! The names of the result. Within the plan columns have unique names; here they get the names of the plan.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::column_names::column;
use super::consume::Consumer;
use super::relabel::relabelled;
use crate::error::PlanError;
use crate::proto::{Plan, plan_rel};
use crate::types::Names;

const PLACE: &str = "relations[0].root.names";

pub async fn root(consumer: &Consumer<'_>, plan: &Plan) -> DfResult<LogicalPlan> {
    let root = plan.relations.first().and_then(|relation| match &relation.rel_type {
        Some(plan_rel::RelType::Root(root)) => Some(root),
        _ => None,
    });
    let root = root.ok_or_else(|| PlanError::missing("a root", "relations"))?;
    let input = root.input.as_ref().ok_or_else(|| PlanError::missing("the input", "relations[0].root"))?;
    let plan = consumer.consume_rel(input).await?;
    let columns = named(plan.schema(), &root.names)?;
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// Each column under its name. A result may have a name twice, as in SQL, but the columns of a logical plan must differ. So repeated ones
/// get different table names, which the result does not show.
fn named(schema: &DFSchema, names: &[String]) -> DfResult<Vec<Expr>> {
    let mut names_left = Names::of(names);
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (index, field) in schema.fields().iter().enumerate() {
        let name = names_left.next(index, &PLACE)?;
        let data_type = with_names(field.data_type(), &mut names_left)?;
        let value = column(schema, index)?;
        let value = if data_type == *field.data_type() { value } else { relabelled(value, data_type) };
        columns.push((value, name));
    }
    names_left.finish(&PLACE)?;
    let mut names = HashSet::new();
    let twice: HashSet<String> = columns.iter().map(|(_, name)| name).filter(|name| !names.insert(name.as_str())).cloned().collect();
    let told_apart = columns.into_iter().enumerate().map(|(index, (value, name))| match twice.contains(&name) {
        true => value.alias_qualified(Some(format!("column {index}")), name),
        false => value.alias(name),
    });
    Ok(told_apart.collect())
}

/// The type, with the next names for its fields.
fn with_names(data_type: &DataType, names: &mut Names<'_>) -> Result<DataType, PlanError> {
    Ok(match data_type {
        DataType::Struct(fields) => DataType::Struct(of_fields(fields, names)?),
        DataType::List(item) => DataType::List(within(item, names)?),
        DataType::LargeList(item) => DataType::LargeList(within(item, names)?),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(within(item, names)?, *length),
        DataType::Map(entries, is_sorted) => match entries.data_type() {
            DataType::Struct(fields) => {
                let fields = fields.iter().map(|field| within(field, names)).collect::<Result<Vec<_>, _>>()?;
                let entries = entries.as_ref().clone().with_data_type(DataType::Struct(fields.into()));
                DataType::Map(Arc::new(entries), *is_sorted)
            }
            _ => data_type.clone(),
        },
        other => other.clone(),
    })
}

fn of_fields(fields: &Fields, names: &mut Names<'_>) -> Result<Fields, PlanError> {
    let named = fields.iter().enumerate().map(|(index, field)| {
        let name = names.next(index, &PLACE)?;
        let data_type = with_names(field.data_type(), names)?;
        Ok(Field::new(name, data_type, field.is_nullable()))
    });
    Ok(named.collect::<Result<Vec<_>, PlanError>>()?.into())
}

/// The field itself keeps its name: plans have no names for items, keys and values.
fn within(field: &FieldRef, names: &mut Names<'_>) -> Result<FieldRef, PlanError> {
    let data_type = with_names(field.data_type(), names)?;
    Ok(if data_type == *field.data_type() { Arc::clone(field) } else { Arc::new(field.as_ref().clone().with_data_type(data_type)) })
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::EmptyRelation;

    use super::*;

    #[test]
    fn a_name_may_be_there_twice() {
        let fields: Vec<Field> = (0..3).map(|index| Field::new(format!("c{index}"), DataType::Int64, true)).collect();
        let schema = DFSchema::from_unqualified_fields(fields.into(), Default::default()).unwrap();
        let names = ["a", "b", "a"].map(str::to_string);
        let input = LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema: Arc::new(schema) });
        let columns = named(input.schema(), &names).unwrap();
        let plan = Projection::try_new(columns, Arc::new(input)).unwrap();
        assert_eq!(plan.schema.field_names(), ["column 0.a", "b", "column 2.a"].map(str::to_string));
        assert_eq!(plan.schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["a", "b", "a"]);
    }

    #[test]
    fn names_are_counted_through_structs_and_lists() {
        let point = DataType::Struct(vec![Field::new("c0", DataType::Int64, true)].into());
        let list = DataType::List(Arc::new(Field::new("item", point, true)));
        let schema = DFSchema::from_unqualified_fields(vec![Field::new("p", list, true)].into(), Default::default()).unwrap();
        assert!(named(&schema, &["points".to_string(), "x".to_string()]).is_ok());
        assert!(named(&schema, &["points".to_string()]).is_err());
        assert!(named(&schema, &["points".to_string(), "x".to_string(), "y".to_string()]).is_err());
    }
}

//! Calls of users' functions in FROM.

use std::collections::HashSet;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::logical_expr::UserDefinedLogicalNodeCore;
use engine::UserTable;

use super::super::writer::Writer;
use super::rel;
use crate::proto::Rel;
use crate::proto::rel::RelType;
use crate::refusal::Refusal;
use crate::user_functions::{ColumnNames, TableFunctionCall};

impl Writer {
    pub(super) fn table_function(&mut self, call: &UserTable) -> Result<Rel, Refusal> {
        let Some(portable) = call.function.portable() else { return Err(Refusal::new("a call in FROM", "its definition is not known")) };
        let value_types: Vec<DataType> = call.function.values.iter().map(|field| field.data_type().clone()).collect();
        let inputs = call.inputs();
        let (values, tables) = inputs.split_at(1.min(inputs.len()));
        let mut types = value_types.clone();
        for table in tables {
            let mut names = HashSet::new();
            for field in table.schema().fields() {
                check_column(call, field, names.insert(field.name()))?;
                types.push(field.data_type().clone());
            }
        }
        types.extend(call.schema().fields().iter().map(|field| field.data_type().clone()));
        let function = self.user_function(portable, &value_types, &types)?;
        let names = |fields: &[FieldRef]| ColumnNames { names: fields.iter().map(|field| field.name().clone()).collect() };
        let written = TableFunctionCall {
            function_reference: self.registry.function(&function),
            tables: tables.iter().map(|table| names(table.schema().fields())).collect(),
        };
        let values = values.iter().filter(|_| !value_types.is_empty());
        let inputs = values.chain(tables).map(|input| self.rel(input)).collect::<Result<_, Refusal>>()?;
        Ok(rel(RelType::ExtensionMulti(written.into_rel(inputs))))
    }
}

/// Names of fields inside of columns, and metadata, would be lost on the way to the function.
fn check_column(call: &UserTable, field: &FieldRef, is_new: bool) -> Result<(), Refusal> {
    let has_fields = |data_type: &DataType| matches!(data_type, DataType::Struct(_) | DataType::Map(..) | DataType::Union(..));
    let mut data_type = field.data_type();
    while let DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) = data_type {
        data_type = item.data_type();
    }
    let why = match () {
        () if !is_new => "is there twice",
        () if has_fields(data_type) || !field.metadata().is_empty() => "has names or metadata inside, which a plan does not pass on",
        () => return Ok(()),
    };
    Err(Refusal::new(format!("the function {}", call.function.name), format!("its column {} {why}", field.name())))
}

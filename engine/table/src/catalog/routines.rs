//! The functions of users in `information_schema.routines` and `parameters`, next to those that Quiver brings along.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt8Array, UInt64Array};
use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::datasource::{MemTable, ViewTable, provider_as_source};
use datafusion::logical_expr::LogicalPlanBuilder;

use super::user_functions::UserFunction;
use common::names::CATALOG;
use pmem_store::DEFAULT_NAMESPACE;
use sql::defined_functions::{DefinedFunction, defined_functions};
use sql::functions::FunctionDefinition;

pub const ROUTINES: &str = "routines";
pub const PARAMETERS: &str = "parameters";

/// The rows of DataFusion's table, those of functions that stand for an expression, and those of these functions.
pub fn with_functions(table: Arc<dyn TableProvider>, name: &str, functions: &[UserFunction]) -> Result<Arc<dyn TableProvider>> {
    let rows = match name {
        ROUTINES => vec![defined(table.schema())?, routines(table.schema(), functions)?],
        _ => vec![parameters(table.schema(), functions)?],
    };
    let own = MemTable::try_new(table.schema(), vec![rows])?;
    let own = LogicalPlanBuilder::scan(name, provider_as_source(Arc::new(own)), None)?.build()?;
    let all = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?.union(own)?.build()?;
    Ok(Arc::new(ViewTable::new(all, None)))
}

fn definitions(functions: &[UserFunction]) -> impl Iterator<Item = (&UserFunction, usize, &FunctionDefinition)> {
    functions.iter().flat_map(|function| function.definitions.iter().enumerate().map(move |(at, definition)| (function, at, definition)))
}

fn routines(schema: SchemaRef, functions: &[UserFunction]) -> Result<RecordBatch> {
    let rows: Vec<(&UserFunction, usize, &FunctionDefinition)> = definitions(functions).collect();
    let text = |value: &dyn Fn(&UserFunction, &FunctionDefinition) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(|(function, _, definition)| value(function, definition)).collect::<StringArray>())
    };
    let namespace = text(&|function, _| Some(function.object.namespace.clone()));
    let name = text(&|function, _| Some(function.object.name.clone()));
    let own = [
        text(&|_, definition| Some(if definition.is_procedure() { "PROCEDURE" } else { "FUNCTION" }.into())),
        Arc::new(BooleanArray::from(vec![None; rows.len()])),
        text(&|_, definition| definition.returns_text()),
        text(&|_, definition| Some(definition.kind_word().to_uppercase())),
        text(&|function, _| function.object.comment.clone()),
        text(&|function, definition| Some(format!("{}({})", function.object.name, definition.parameters_text()))),
    ];
    named(schema, namespace, name, own)
}

/// Rows of routines. Each name is there twice, as that of a definition and as that of a routine.
fn named(schema: SchemaRef, namespace: ArrayRef, name: ArrayRef, own: [ArrayRef; 6]) -> Result<RecordBatch> {
    let catalog: ArrayRef = Arc::new(StringArray::from(vec![CATALOG; name.len()]));
    let names = [catalog, namespace, name];
    Ok(RecordBatch::try_new(schema, names.iter().chain(&names).chain(&own).map(Arc::clone).collect())?)
}

fn defined(schema: SchemaRef) -> Result<RecordBatch> {
    // A name with several definitions has the row of the first one.
    let mut names = HashSet::new();
    let rows: Vec<DefinedFunction> = defined_functions().filter(|function| names.insert(function.name)).collect();
    let text =
        |value: &dyn Fn(&DefinedFunction) -> Option<String>| -> ArrayRef { Arc::new(rows.iter().map(value).collect::<StringArray>()) };
    let (namespace, name) = (text(&|_| Some(DEFAULT_NAMESPACE.into())), text(&|function| Some(function.name.into())));
    let own = [
        text(&|_| Some("FUNCTION".into())),
        Arc::new(BooleanArray::from(vec![None; rows.len()])),
        text(&|_| None),
        text(&|function| Some(if function.is_aggregate { "AGGREGATE" } else { "SCALAR" }.into())),
        text(&|function| Some(format!("Stands for `{}`.", function.body))),
        text(&|function| Some(format!("{}({})", function.first_name, function.parameters))),
    ];
    named(schema, namespace, name, own)
}

struct Parameter<'a> {
    function: &'a UserFunction,
    /// Tells the definitions of one name apart.
    definition: usize,
    /// From 1.
    position: u64,
    mode: &'static str,
    name: Option<String>,
    data_type: String,
}

fn parameters(schema: SchemaRef, functions: &[UserFunction]) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    for (function, at, definition) in definitions(functions) {
        let row = |position, mode, name, data_type| Parameter { function, definition: at, position, mode, name, data_type };
        rows.extend(
            definition
                .parameters
                .iter()
                .zip(1..)
                .map(|(parameter, position)| row(position, "IN", Some(parameter.name.clone()), parameter.data_type.to_string())),
        );
        rows.extend(definition.returns_text().map(|returns| row(1, "OUT", None, returns)));
    }
    let text = |value: &dyn Fn(&Parameter<'_>) -> Option<String>| -> ArrayRef { Arc::new(rows.iter().map(value).collect::<StringArray>()) };
    let columns: Vec<ArrayRef> = vec![
        text(&|_| Some(CATALOG.into())),
        text(&|row| Some(row.function.object.namespace.clone())),
        text(&|row| Some(row.function.object.name.clone())),
        Arc::new(rows.iter().map(|row| Some(row.position)).collect::<UInt64Array>()),
        text(&|row| Some(row.mode.into())),
        text(&|row| row.name.clone()),
        text(&|row| Some(row.data_type.clone())),
        text(&|_| None),
        Arc::new(rows.iter().map(|_| Some(false)).collect::<BooleanArray>()),
        Arc::new(rows.iter().map(|row| Some(row.definition.min(u8::MAX.into()) as u8)).collect::<UInt8Array>()),
    ];
    Ok(RecordBatch::try_new(schema, columns)?)
}

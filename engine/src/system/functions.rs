//! `system.functions`: the functions and procedures of users, a row for each definition.

use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::objects::ObjectRecord;

use super::build::{OPTIONAL, REQUIRED, batch, booleans, numbers, texts};
use super::pushed_filters::of_objects;
use super::source::Source;
use common::error::EngineError;
use sql::functions::FunctionDefinition;
use table::catalog::UserFunction;

struct Row {
    object: ObjectRecord,
    definition: FunctionDefinition,
    parameters: String,
    returns: Option<String>,
    /// For who owns the function.
    text: Option<String>,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    if let Some(source) = source {
        rows = of_source(source)?;
    }
    batch(vec![
        ("object_id", numbers(rows.iter().map(|row| Some(row.object.id))), REQUIRED),
        ("schema_name", texts(rows.iter().map(|row| Some(&row.object.namespace))), REQUIRED),
        ("name", texts(rows.iter().map(|row| Some(&row.object.name))), REQUIRED),
        ("kind", texts(rows.iter().map(|row| Some(row.definition.kind_word()))), REQUIRED),
        ("parameters", texts(rows.iter().map(|row| Some(&row.parameters))), REQUIRED),
        ("returns", texts(rows.iter().map(|row| row.returns.as_ref())), OPTIONAL),
        ("is_strict", booleans(rows.iter().map(|row| Some(row.definition.is_strict))), REQUIRED),
        ("is_definer", booleans(rows.iter().map(|row| Some(row.definition.is_definer))), REQUIRED),
        ("language", texts(rows.iter().map(|row| Some(row.definition.language()))), REQUIRED),
        ("owner", texts(rows.iter().map(|row| row.object.owner.as_ref())), OPTIONAL),
        ("comment", texts(rows.iter().map(|row| row.object.comment.as_ref())), OPTIONAL),
        ("definition", texts(rows.iter().map(|row| row.text.as_ref())), OPTIONAL),
    ])
}

fn of_source(source: &Source<'_>) -> Result<Vec<Row>> {
    let found =
        UserFunction::all(source.snapshot, source.options, vec![of_objects(source.filters)]).map_err(EngineError::into_datafusion)?;
    let mut rows = Vec::new();
    for function in found {
        let is_shown = function.is_shown(source.authorization);
        let UserFunction { object, definitions } = function;
        rows.extend(definitions.into_iter().map(|definition| Row {
            object: object.clone(),
            parameters: definition.parameters_text(),
            returns: definition.returns_text(),
            text: is_shown.then(|| definition.text.clone()),
            definition,
        }));
    }
    Ok(rows)
}

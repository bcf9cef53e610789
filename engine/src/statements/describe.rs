//! DESCRIBE: columns as they are declared.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::Schema;
use datafusion::common::TableReference;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use pmem_store::TableSnapshot;

use crate::execution::StatementContext;
use common::error::EngineError;
use common::type_names::column_type_name;
use table::catalog::resolve;
use table::constraints::{Constraint, constraints_of};

/// The answer, if the statement is DESCRIBE of a stored or temporary table; for other tables the plan has all information.
pub fn described_table(ctx: &StatementContext, statement: &Statement) -> Result<Option<RecordBatch>, EngineError> {
    let Statement::Statement(statement) = statement else { return Ok(None) };
    let ast::Statement::ExplainTable { table_name, .. } = statement.as_ref() else { return Ok(None) };
    let reference = TableReference::parse_str(&table_name.to_string());
    if let Some(table) = ctx.catalog.temporary().named(&reference) {
        return described(&table.schema, None).map(Some);
    }
    let Ok((namespace, name)) = resolve(&reference) else { return Ok(None) };
    match ctx.catalog.snapshot().table(&namespace, &name)? {
        Some(table) if !table.record().is_array() => described(table.schema(), Some(&table)).map(Some),
        _ => Ok(None),
    }
}

/// One row for each column of `schema`.
pub fn described(schema: &Schema, table: Option<&TableSnapshot>) -> Result<RecordBatch, EngineError> {
    let fields = schema.fields();
    let names = fields.iter().map(|field| Some(field.name().as_str()));
    let types = fields.iter().map(|field| Some(column_type_name(field)));
    let nullable = fields.iter().map(|field| Some(if field.is_nullable() { "YES" } else { "NO" }));
    let constraints = table.map_or_else(Vec::new, |table| constraints_of(table.record()).unwrap_or_default());
    let info = |column: usize| table.and_then(|table| table.columns().get(column));
    let defaults = (0..fields.len()).map(|column| info(column)?.default_sql.as_deref());
    let keys = (0..fields.len()).map(|column| key_of(&constraints, info(column)?.id));
    let columns: [(&str, ArrayRef); 5] = [
        ("column_name", Arc::new(names.collect::<StringArray>())),
        ("data_type", Arc::new(types.collect::<StringArray>())),
        ("is_nullable", Arc::new(nullable.collect::<StringArray>())),
        ("column_default", Arc::new(defaults.collect::<StringArray>())),
        ("key", Arc::new(keys.collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .map_err(|error| EngineError::internal(error.to_string()))
}

/// The strongest key that contains a column.
fn key_of(constraints: &[Constraint], id: u32) -> Option<&'static str> {
    let is_in = |constraint: &&Constraint| constraint.key().is_some_and(|key| key.contains(&id));
    let mut keys = constraints.iter().filter(is_in).map(Constraint::is_primary_key).collect::<Vec<_>>();
    keys.sort_unstable();
    keys.pop().map(|is_primary| if is_primary { "PRIMARY KEY" } else { "UNIQUE" })
}

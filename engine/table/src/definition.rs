//! The statements that recreate an object: SHOW CREATE TABLE, and the text that is stored for external tables.

use arrays::definition::ArrayDefinition;
use arrow::datatypes::Field;
use datafusion::sql::parser::CreateExternalTable;
use pmem_store::{ARRAY_OPTION, ColumnInfo, ColumnOrder, TableSnapshot};

use crate::constraints::{Constraint, Rule, constraints_of};
use common::error::EngineError;
use common::type_names::{column_type_name, qualified, quoted};

/// An object stored as a statement is one of these two kinds.
pub const VIEW: &str = "view";
pub const EXTERNAL: &str = "external";

/// `None` if it is a table.
pub fn definition_of_array(table: &TableSnapshot) -> Option<Result<ArrayDefinition, EngineError>> {
    let stored = table.record().options.get(ARRAY_OPTION)?;
    Some(ArrayDefinition::of_table(stored, table.schema()))
}

/// The CREATE TABLE of a stored table, or the CREATE ARRAY.
pub fn table_definition(table: &TableSnapshot) -> String {
    let record = table.record();
    // What makes a table an array is in the rest of its statement.
    let options = record.options.iter().filter(|(name, _)| *name != ARRAY_OPTION);
    let options: Vec<String> = options.map(|(name, value)| format!("{name} = '{value}'")).collect();
    let options = if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) };
    if let Some(array) = definition_of_array(table) {
        return match array {
            Ok(array) => array.create_statement(&qualified(&record.namespace, &record.name)) + &options,
            Err(error) => format!("/* {error} */"),
        };
    }
    let fields = table.schema().fields().iter().zip(table.columns());
    let mut lines: Vec<String> = fields.map(|(field, info)| format!("  {}", column_text(field, info))).collect();
    match constraints_of(record) {
        Ok(constraints) => lines.extend(constraints.iter().map(|constraint| format!("  {}", constraint_text(table, constraint)))),
        Err(error) => lines.push(format!("  /* {error} */")),
    }
    let order = match record.cluster_key.as_slice() {
        [] => String::new(),
        key => format!(" ORDER BY ({})", key_text(key)),
    };
    format!("CREATE TABLE {} (\n{}\n){order}{options}", qualified(&record.namespace, &record.name), lines.join(",\n"))
}

fn column_text(field: &Field, info: &ColumnInfo) -> String {
    let not_null = if field.is_nullable() { "" } else { " NOT NULL" };
    let default = info.default_sql.as_ref().map_or_else(String::new, |sql| format!(" DEFAULT {sql}"));
    format!("{} {}{not_null}{default}", quoted(field.name()), column_type_name(field))
}

/// The constraint as CREATE TABLE and ALTER TABLE … ADD take it.
fn constraint_text(table: &TableSnapshot, constraint: &Constraint) -> String {
    let name = |id: &u32| {
        let place = table.columns().iter().position(|column| column.id == *id);
        place.map_or_else(String::new, |place| quoted(table.schema().field(place).name()))
    };
    let list = |columns: &[u32]| columns.iter().map(name).collect::<Vec<_>>().join(", ");
    let rule = match &constraint.rule {
        Rule::PrimaryKey { columns } => format!("PRIMARY KEY ({})", list(columns)),
        Rule::Unique { columns } => format!("UNIQUE ({})", list(columns)),
        Rule::Check { sql, .. } => format!("CHECK ({sql})"),
    };
    format!("CONSTRAINT {} {rule}", quoted(&constraint.name))
}

/// The columns of a key as ORDER BY takes them.
pub fn key_text(key: &[ColumnOrder]) -> String {
    key.iter().map(ordered).collect::<Vec<_>>().join(", ")
}

fn ordered(column: &ColumnOrder) -> String {
    let direction = if column.descending { " DESC" } else { "" };
    let nulls = match (column.nulls_first, column.descending) {
        (true, false) => " NULLS FIRST",
        (false, true) => " NULLS LAST",
        _ => "",
    };
    format!("{}{direction}{nulls}", quoted(&column.column))
}

/// The whole statement; DataFusion's own text omits columns and options.
pub fn external_definition(table: &CreateExternalTable) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut sql = format!("CREATE EXTERNAL TABLE {}", table.name);
    // The table's columns include those declared with PARTITIONED BY.
    if !table.columns.is_empty() {
        sql += &format!(" ({})", list(table.columns.iter().map(ToString::to_string).collect()));
    }
    sql += &format!(" STORED AS {}", table.file_type);
    if !table.table_partition_cols.is_empty() {
        sql += &format!(" PARTITIONED BY ({})", table.table_partition_cols.join(", "));
    }
    for order in &table.order_exprs {
        sql += &format!(" WITH ORDER ({})", list(order.iter().map(ToString::to_string).collect()));
    }
    if !table.options.is_empty() {
        let options = table.options.iter().map(|(name, value)| format!("{} {value}", text(name)));
        sql += &format!(" OPTIONS ({})", list(options.collect()));
    }
    let locations = list(table.locations.iter().map(|location| text(location)).collect());
    sql + &format!(" LOCATION ({locations})")
}

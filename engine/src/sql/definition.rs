//! The statements that would make what is there again: SHOW CREATE TABLE, and the text kept for external tables.

use datafusion::sql::parser::CreateExternalTable;
use pmem_store::{ColumnOrder, DEFAULT_NAMESPACE, TableSnapshot};

use super::type_names::{declared_name, quoted};

/// The CREATE TABLE of a stored table.
pub fn table_definition(table: &TableSnapshot) -> String {
    let record = table.record();
    let column = |field: &std::sync::Arc<arrow::datatypes::Field>| {
        let not_null = if field.is_nullable() { "" } else { " NOT NULL" };
        format!("  {} {}{not_null}", quoted(field.name()), declared_name(field.data_type()))
    };
    let columns: Vec<String> = table.schema().fields().iter().map(column).collect();
    let order = match record.cluster_key.as_slice() {
        [] => String::new(),
        key => format!(" ORDER BY ({})", key.iter().map(ordered).collect::<Vec<_>>().join(", ")),
    };
    format!("CREATE TABLE {} (\n{}\n){order}", qualified(&record.namespace, &record.name), columns.join(",\n"))
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

pub fn qualified(namespace: &str, name: &str) -> String {
    match namespace {
        DEFAULT_NAMESPACE => quoted(name),
        namespace => format!("{}.{}", quoted(namespace), quoted(name)),
    }
}

/// The whole statement; that of DataFusion leaves columns and options out.
pub fn external_definition(table: &CreateExternalTable) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut sql = format!("CREATE EXTERNAL TABLE {}", table.name);
    // Columns that were declared with PARTITIONED BY are among the table's.
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

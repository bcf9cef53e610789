//! Tables and their columns.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::convert::try_schema_from_ipc_buffer;
use arrow_flight::sql::CommandGetTables;
use flight_wire::{WireTypes, wire_schema};

use crate::sql::metadata::tables;
use crate::sql::metadata::tests::{Db, rows};

fn everything() -> CommandGetTables {
    CommandGetTables::default()
}

fn in_main(pattern: &str) -> CommandGetTables {
    CommandGetTables { db_schema_filter_pattern: Some("main".into()), table_name_filter_pattern: Some(pattern.into()), ..everything() }
}

fn table_rows(db: &Db, command: &CommandGetTables) -> Vec<String> {
    rows(&db.wait(tables::batch(&db.session, command, WireTypes::default())).unwrap())
}

/// The columns of one table, as a client reads them.
fn columns(db: &Db, table: &str) -> Schema {
    columns_for(db, table, WireTypes::default())
}

fn columns_for(db: &Db, table: &str, types: WireTypes) -> Schema {
    let command = CommandGetTables { include_schema: true, ..in_main(table) };
    let batch = db.wait(tables::batch(&db.session, &command, types)).unwrap();
    assert_eq!(batch.num_rows(), 1, "{table}");
    try_schema_from_ipc_buffer(batch.column(4).as_binary::<i32>().value(0)).unwrap()
}

fn metadata_value<'a>(field: &'a Field, key: &str) -> Option<&'a str> {
    field.metadata().get(&format!("ARROW:FLIGHT:SQL:{key}")).map(String::as_str)
}

#[test]
fn without_a_filter_every_table_is_listed_in_order() {
    let db = Db::with("CREATE SCHEMA s; CREATE TABLE s.u (a INT); CREATE VIEW v AS SELECT 1 AS a; CREATE TABLE \"T t\" (a INT)");
    let listed = table_rows(&db, &everything());
    let own: Vec<&String> = listed.iter().filter(|row| !row.ends_with("|SYSTEM TABLE")).collect();
    assert_eq!(own, ["quiver|main|T t|TABLE", "quiver|main|v|VIEW", "quiver|s|u|TABLE"]);
    assert!(listed.contains(&"quiver|system|tables|SYSTEM TABLE".to_string()));
    assert!(listed.iter().map(|row| row.split('|').collect::<Vec<_>>()).is_sorted());
    let in_sql = db.run("SELECT table_catalog || '|' || table_schema || '|' || table_name FROM information_schema.tables");
    assert_eq!(listed.len(), in_sql.len());
    assert!(in_sql.iter().all(|name| listed.iter().any(|row| row.starts_with(&format!("{name}|")))));
}

#[test]
fn information_schema_is_listed_as_it_is() {
    let db = Db::new();
    let command = CommandGetTables { db_schema_filter_pattern: Some("information\\_schema".into()), ..everything() };
    let names = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'information_schema' ORDER BY 1";
    let expected: Vec<String> = db.run(names).iter().map(|name| format!("quiver|information_schema|{name}|SYSTEM TABLE")).collect();
    assert_eq!(table_rows(&db, &command), expected);
}

#[test]
fn tables_are_found_by_patterns_of_schema_and_name() {
    let db = Db::with("CREATE SCHEMA s_1; CREATE TABLE s_1.a_b (x INT); CREATE TABLE a_b (x INT); CREATE TABLE axb (x INT)");
    assert_eq!(table_rows(&db, &in_main("a_b")), ["quiver|main|a_b|TABLE", "quiver|main|axb|TABLE"]);
    assert_eq!(table_rows(&db, &in_main("a\\_b")), ["quiver|main|a_b|TABLE"]);
    let anywhere = CommandGetTables { table_name_filter_pattern: Some("a%b".into()), ..everything() };
    assert_eq!(table_rows(&db, &anywhere), ["quiver|main|a_b|TABLE", "quiver|main|axb|TABLE", "quiver|s_1|a_b|TABLE"]);
    let of_schema = CommandGetTables { db_schema_filter_pattern: Some("s\\__".into()), ..everything() };
    assert_eq!(table_rows(&db, &of_schema), ["quiver|s_1|a_b|TABLE"]);
}

#[test]
fn tables_are_found_by_catalog_and_type() {
    let db = Db::with("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t");
    let of_catalog = |name: &str| CommandGetTables { catalog: Some(name.into()), ..in_main("%") };
    assert_eq!(table_rows(&db, &of_catalog("quiver")).len(), 2);
    assert!(table_rows(&db, &of_catalog("")).is_empty());
    let of_type = |types: &[&str]| CommandGetTables { table_types: types.iter().map(|kind| kind.to_string()).collect(), ..in_main("%") };
    assert_eq!(table_rows(&db, &of_type(&["VIEW"])), ["quiver|main|v|VIEW"]);
    assert_eq!(table_rows(&db, &of_type(&["TABLE", "VIEW", "LOCAL TEMPORARY"])), ["quiver|main|t|TABLE", "quiver|main|v|VIEW"]);
    assert!(table_rows(&db, &of_type(&["SEQUENCE"])).is_empty());
}

#[test]
fn types_are_found_as_grafana_spells_them() {
    let db = Db::with("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t");
    let of_type = |types: &[&str]| CommandGetTables { table_types: types.iter().map(|kind| kind.to_string()).collect(), ..everything() };
    assert_eq!(table_rows(&db, &of_type(&["BASE TABLE", "table"])), ["quiver|main|t|TABLE"]);
    assert_eq!(table_rows(&db, &of_type(&["View"])), ["quiver|main|v|VIEW"]);
}

#[test]
fn a_name_in_another_case_is_found_unless_it_is_there_as_it_is_spelled() {
    let db = Db::with("CREATE TABLE t (a INT); CREATE TABLE u (a INT); CREATE TABLE \"U\" (a INT)");
    let anywhere = |schema: &str, name: &str| CommandGetTables {
        catalog: Some("QUIVER".into()),
        db_schema_filter_pattern: Some(schema.into()),
        table_name_filter_pattern: Some(name.into()),
        ..everything()
    };
    assert_eq!(table_rows(&db, &anywhere("MAIN", "T")), ["quiver|main|t|TABLE"]);
    assert_eq!(table_rows(&db, &anywhere("main", "U")), ["quiver|main|U|TABLE"]);
    assert_eq!(table_rows(&db, &anywhere("main", "u")), ["quiver|main|u|TABLE"]);
}

#[test]
fn an_external_table_says_so_and_is_listed_when_its_files_are_gone() {
    let db = Db::with("CREATE TABLE t (a INT)");
    let path = db.file("rows.csv");
    std::fs::write(&path, "a,b\n1,x\n").unwrap();
    db.run(&format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{}' OPTIONS ('format.has_header' 'true')", path.display()));
    assert_eq!(table_rows(&db, &in_main("e")), ["quiver|main|e|EXTERNAL TABLE"]);
    let fields = columns(&db, "e");
    assert_eq!(fields.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["a", "b"]);
    std::fs::remove_file(&path).unwrap();
    let all = CommandGetTables { include_schema: true, ..in_main("%") };
    assert_eq!(table_rows(&db, &all).len(), 2);
}

#[test]
fn a_view_that_cannot_be_used_hides_no_other_table_and_ends_no_transaction() {
    let db = Db::with("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t; DROP TABLE t; CREATE TABLE u (a INT)");
    assert!(columns(&db, "v").fields().is_empty());
    assert_eq!(columns(&db, "u").fields().len(), 1);
    db.run("BEGIN");
    assert!(columns(&db, "v").fields().is_empty());
    assert!(!db.session.is_transaction_failed());
}

#[test]
fn a_table_that_is_dropped_or_rolled_back_is_not_listed() {
    let db = Db::with("CREATE TABLE gone (a INT); DROP TABLE gone; BEGIN; CREATE TABLE undone (a INT)");
    assert_eq!(table_rows(&db, &in_main("%")), ["quiver|main|undone|TABLE"]);
    db.run("ROLLBACK");
    assert!(table_rows(&db, &in_main("%")).is_empty());
}

#[test]
fn texts_and_bytes_are_no_views_in_the_columns_of_a_table() {
    let columns_declared = "a VARCHAR NOT NULL, b BYTEA, c VARCHAR[], d STRUCT(x VARCHAR), e MAP(VARCHAR, VARCHAR), f INT";
    let db = Db::with(&format!("CREATE TABLE t ({columns_declared})"));
    let schema = columns(&db, "t");
    let types: Vec<&DataType> = schema.fields().iter().map(|field| field.data_type()).collect();
    assert_eq!((types[0], types[1], types[5]), (&DataType::Utf8, &DataType::Binary, &DataType::Int32));
    assert!(schema.fields().iter().all(|field| !field.data_type().to_string().contains("View")), "{schema}");
    assert!(!schema.field(0).is_nullable() && schema.field(1).is_nullable());
}

#[test]
fn columns_say_where_they_are_and_what_they_hold() {
    let db = Db::with("CREATE TABLE \"T\"\"t\" (a DECIMAL(9,2) NOT NULL, \"B b\" VARCHAR); CREATE VIEW v AS SELECT now() AS at");
    let schema = columns(&db, "T\"t");
    let (amount, text) = (schema.field(0), schema.field(1));
    let keys = ["TYPE_NAME", "PRECISION", "SCALE", "CATALOG_NAME", "SCHEMA_NAME", "DB_SCHEMA_NAME", "TABLE_NAME"];
    assert_eq!(keys.map(|key| metadata_value(amount, key).unwrap_or("none")), ["DECIMAL", "9", "2", "quiver", "main", "main", "T\"t"]);
    let flags = ["IS_AUTO_INCREMENT", "IS_CASE_SENSITIVE", "IS_READ_ONLY", "IS_SEARCHABLE"];
    assert_eq!(flags.map(|key| metadata_value(amount, key).unwrap_or("none")), ["0", "0", "0", "1"]);
    assert_eq!(flags.map(|key| metadata_value(text, key).unwrap_or("none")), ["0", "1", "0", "1"]);
    assert_eq!(
        (text.name().as_str(), metadata_value(text, "TYPE_NAME"), metadata_value(text, "PRECISION")),
        ("B b", Some("VARCHAR"), None)
    );
    let instant = columns(&db, "v");
    assert_eq!(metadata_value(instant.field(0), "TYPE_NAME"), Some("TIMESTAMP WITH TIME ZONE"));
    assert_eq!((metadata_value(instant.field(0), "SCALE"), metadata_value(instant.field(0), "IS_READ_ONLY")), (Some("9"), Some("1")));
}

#[test]
fn a_column_has_the_type_in_which_its_values_come() {
    let declared = "a TINYINT UNSIGNED, b SMALLINT UNSIGNED, c INTEGER UNSIGNED, d BIGINT UNSIGNED, e INTEGER, f VARCHAR";
    let db = Db::with(&format!("CREATE TABLE t ({declared})"));
    let select = db.wait(db.session.describe("SELECT * FROM t")).unwrap().schema;
    for types in [WireTypes::default(), WireTypes { jdbc: true, ..WireTypes::default() }, WireTypes { views: true, ..WireTypes::default() }]
    {
        let (listed, sent) = (columns_for(&db, "t", types), wire_schema(&select, types));
        for (column, result) in listed.fields().iter().zip(sent.fields()) {
            assert_eq!(column.data_type(), result.data_type(), "{}", column.name());
            assert_eq!(metadata_value(column, "TYPE_NAME"), metadata_value(result, "TYPE_NAME"), "{}", column.name());
        }
    }
    let names = |types| -> Vec<String> {
        columns_for(&db, "t", types).fields().iter().map(|field| metadata_value(field, "TYPE_NAME").unwrap().to_string()).collect()
    };
    assert_eq!(names(WireTypes::default())[2..4], ["INTEGER UNSIGNED", "BIGINT UNSIGNED"]);
    let jdbc = WireTypes { jdbc: true, ..WireTypes::default() };
    assert_eq!(names(jdbc), ["SMALLINT", "INTEGER", "BIGINT", "DECIMAL", "INTEGER", "VARCHAR"]);
}

#[test]
fn the_columns_are_a_message_that_a_stream_could_begin_with() {
    let db = Db::with("CREATE TABLE t (a INT)");
    let command = CommandGetTables { include_schema: true, ..in_main("t") };
    let batch = db.wait(tables::batch(&db.session, &command, WireTypes::default())).unwrap();
    let mut stream = batch.column(4).as_binary::<i32>().value(0).to_vec();
    // What ends a stream.
    stream.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let reader = arrow::ipc::reader::StreamReader::try_new(Cursor::new(stream), None).unwrap();
    assert_eq!(reader.schema().fields().len(), 1);
    assert_eq!(Arc::clone(&reader.schema()).field(0).name(), "a");
    assert_eq!(reader.count(), 0);
}

#[test]
fn every_table_there_is_has_columns() {
    let db = Db::with("CREATE TABLE t (a INT)");
    let command = CommandGetTables { include_schema: true, ..everything() };
    let batch = db.wait(tables::batch(&db.session, &command, WireTypes::default())).unwrap();
    for (message, name) in batch.column(4).as_binary::<i32>().iter().zip(rows(&batch)) {
        assert!(!try_schema_from_ipc_buffer(message.unwrap()).unwrap().fields().is_empty(), "{name}");
    }
}

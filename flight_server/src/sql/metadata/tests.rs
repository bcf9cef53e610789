//! A real store to ask; the columns of every answer; catalogs, schemas and types of tables.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetPrimaryKeys, CommandGetSqlInfo, CommandGetTableTypes, CommandGetTables,
    CommandGetXdbcTypeInfo,
};
use engine::{Engine, EngineError, EngineOptions, MaintenanceOptions, Session};
use flight_wire::WireTypes;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::{ServerFacts, catalogs, db_schemas, foreign_keys, primary_keys, sql_info, table_types, tables, xdbc_types};
use crate::sessions::CATALOG;

/// An engine on a store of its own, with one session.
pub struct Db {
    // Fields drop in this order: the store is closed before its directory goes.
    pub session: Session,
    _engine: Engine,
    runtime: Runtime,
    dir: TempDir,
}

impl Db {
    pub fn new() -> Db {
        let dir = tempfile::tempdir().unwrap();
        let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
        let options = EngineOptions { threads: Some(2), maintenance, ..EngineOptions::default() };
        let engine = Engine::open(&dir.path().join("store"), options).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Db { session: engine.session().unwrap(), _engine: engine, runtime, dir }
    }

    /// After these statements.
    pub fn with(script: &str) -> Db {
        let db = Db::new();
        for statement in Session::split_statements(script) {
            db.run(statement.text);
        }
        db
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    pub fn try_run(&self, sql: &str) -> Result<Vec<String>, EngineError> {
        let (batches, _) = self.wait(async { self.session.execute(sql).await?.collect().await })?;
        Ok(batches.iter().flat_map(rows).collect())
    }

    pub fn run(&self, sql: &str) -> Vec<String> {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

/// Values with bars between them.
pub fn rows(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
    let columns: Vec<_> = columns.collect::<Result<_, _>>().unwrap();
    let line = |row: usize| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|");
    (0..batch.num_rows()).map(line).collect()
}

pub fn column(batch: &RecordBatch, name: &str) -> Vec<String> {
    let values: ArrayRef = Arc::clone(batch.column_by_name(name).unwrap());
    rows(&RecordBatch::try_from_iter([(name, values)]).unwrap())
}

/// As FlightSql.proto writes them.
fn written(schema: &Schema) -> String {
    let field = |field: &Arc<Field>| {
        let name = match field.data_type() {
            DataType::Utf8 => "utf8".to_string(),
            DataType::Binary => "bytes".to_string(),
            DataType::Boolean => "bool".to_string(),
            DataType::List(item) if !item.is_nullable() => {
                format!("list<{} not null>", item.data_type().to_string().to_lowercase())
            }
            other => other.to_string().to_lowercase(),
        };
        format!("{}: {name}{}", field.name(), if field.is_nullable() { "" } else { " not null" })
    };
    schema.fields().iter().map(field).collect::<Vec<_>>().join(", ")
}

const KEY_COLUMNS: &str = "pk_catalog_name: utf8, pk_db_schema_name: utf8, pk_table_name: utf8 not null, \
    pk_column_name: utf8 not null, fk_catalog_name: utf8, fk_db_schema_name: utf8, fk_table_name: utf8 not null, \
    fk_column_name: utf8 not null, key_sequence: int32 not null, fk_key_name: utf8, pk_key_name: utf8, \
    update_rule: uint8 not null, delete_rule: uint8 not null";

const TYPE_COLUMNS: &str = "type_name: utf8 not null, data_type: int32 not null, column_size: int32, literal_prefix: utf8, \
    literal_suffix: utf8, create_params: list<utf8 not null>, nullable: int32 not null, case_sensitive: bool not null, \
    searchable: int32 not null, unsigned_attribute: bool, fixed_prec_scale: bool not null, auto_increment: bool, \
    local_type_name: utf8, minimum_scale: int32, maximum_scale: int32, sql_data_type: int32 not null, \
    datetime_subcode: int32, num_prec_radix: int32, interval_precision: int32";

#[test]
fn every_answer_has_the_columns_of_the_proto() {
    let table = "catalog_name: utf8, db_schema_name: utf8, table_name: utf8 not null, table_type: utf8 not null";
    let expected: [(SchemaRef, &str); 9] = [
        (catalogs::schema(), "catalog_name: utf8 not null"),
        (db_schemas::schema(), "catalog_name: utf8, db_schema_name: utf8 not null"),
        (tables::schema(false), table),
        (tables::schema(true), &format!("{table}, table_schema: bytes not null")),
        (table_types::schema(), "table_type: utf8 not null"),
        (
            primary_keys::schema(),
            "catalog_name: utf8, db_schema_name: utf8, table_name: utf8 not null, column_name: utf8 not null, \
             key_name: utf8, key_sequence: int32 not null",
        ),
        (foreign_keys::schema(), KEY_COLUMNS),
        (xdbc_types::schema(), TYPE_COLUMNS),
        (sql_info::schema(), &written(&sql_info::schema())),
    ];
    for (schema, columns) in expected {
        assert_eq!(written(&schema), columns);
    }
    let info = sql_info::schema();
    assert_eq!((info.field(0).name().as_str(), info.field(1).name().as_str()), ("info_name", "value"));
    let DataType::Union(values, _) = info.field(1).data_type() else { panic!("a union") };
    let names: Vec<&str> = values.iter().map(|(_, field)| field.name().as_str()).collect();
    assert_eq!(names, ["string_value", "bool_value", "bigint_value", "int32_bitmask", "string_list", "int32_to_int32_list_map"]);
}

#[test]
fn every_answer_has_the_columns_that_were_announced() {
    let db = Db::with("CREATE TABLE t (a INT PRIMARY KEY)");
    let of_tables = |include_schema| CommandGetTables { include_schema, ..CommandGetTables::default() };
    let keys = |table: &str| CommandGetPrimaryKeys { table: table.into(), ..CommandGetPrimaryKeys::default() };
    let session = &db.session;
    let answers: [(SchemaRef, RecordBatch); 11] = [
        (catalogs::schema(), catalogs::batch(session, &CommandGetCatalogs {}).unwrap()),
        (db_schemas::schema(), db_schemas::batch(session, &CommandGetDbSchemas::default()).unwrap()),
        (tables::schema(false), db.wait(tables::batch(session, &of_tables(false), WireTypes::default())).unwrap()),
        (tables::schema(true), db.wait(tables::batch(session, &of_tables(true), WireTypes::default())).unwrap()),
        (table_types::schema(), table_types::batch(session, &CommandGetTableTypes {}).unwrap()),
        (primary_keys::schema(), db.wait(primary_keys::batch(session, &keys("t"))).unwrap()),
        (primary_keys::schema(), db.wait(primary_keys::batch(session, &keys("none"))).unwrap()),
        (foreign_keys::schema(), foreign_keys::batch()),
        (sql_info::schema(), sql_info::batch(session, &CommandGetSqlInfo::default(), &ServerFacts::default()).unwrap()),
        (xdbc_types::schema(), xdbc_types::batch(session, &CommandGetXdbcTypeInfo::default()).unwrap()),
        (xdbc_types::schema(), xdbc_types::batch(session, &CommandGetXdbcTypeInfo { data_type: Some(99) }).unwrap()),
    ];
    for (schema, batch) in answers {
        assert_eq!(schema, batch.schema());
    }
}

fn schemas(db: &Db, catalog: Option<&str>, pattern: Option<&str>) -> Vec<String> {
    let command = CommandGetDbSchemas { catalog: catalog.map(Into::into), db_schema_filter_pattern: pattern.map(Into::into) };
    rows(&db_schemas::batch(&db.session, &command).unwrap())
}

#[test]
fn the_catalog_is_called_as_in_sql() {
    let db = Db::new();
    assert_eq!(rows(&catalogs::batch(&db.session, &CommandGetCatalogs {}).unwrap()), [CATALOG]);
    assert_eq!(db.run("SELECT DISTINCT catalog_name FROM information_schema.schemata"), [CATALOG]);
}

#[test]
fn without_a_filter_every_schema_is_listed_in_order() {
    let db = Db::with("CREATE SCHEMA sales_eu; CREATE SCHEMA \"Sales\"");
    let all = ["quiver|Sales", "quiver|information_schema", "quiver|main", "quiver|sales_eu", "quiver|system"];
    assert_eq!(schemas(&db, None, None), all);
    assert_eq!(schemas(&db, Some(CATALOG), Some("%")), all);
}

#[test]
fn schemas_are_found_by_patterns() {
    let db = Db::with("CREATE SCHEMA sales_eu; CREATE SCHEMA salesxeu; CREATE SCHEMA sales");
    assert_eq!(schemas(&db, None, Some("sales_eu")), ["quiver|sales_eu", "quiver|salesxeu"]);
    assert_eq!(schemas(&db, None, Some("sales\\_eu")), ["quiver|sales_eu"]);
    assert_eq!(schemas(&db, None, Some("sales%")), ["quiver|sales", "quiver|sales_eu", "quiver|salesxeu"]);
    assert!(schemas(&db, None, Some("")).is_empty());
}

#[test]
fn another_catalog_has_no_schemas() {
    let db = Db::new();
    assert!(schemas(&db, Some(""), None).is_empty());
    assert!(schemas(&db, Some("other"), None).is_empty());
}

#[test]
fn a_schema_that_is_dropped_is_not_listed() {
    let db = Db::with("CREATE SCHEMA gone; DROP SCHEMA gone");
    assert!(schemas(&db, None, Some("gone")).is_empty());
}

#[test]
fn types_of_tables_are_listed_in_order() {
    let db = Db::new();
    let types = rows(&table_types::batch(&db.session, &CommandGetTableTypes {}).unwrap());
    assert_eq!(types, ["EXTERNAL TABLE", "SYSTEM TABLE", "TABLE", "VIEW"]);
}

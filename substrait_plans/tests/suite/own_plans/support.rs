//! Runs a query as SQL and as its plan.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use engine::{Binding, Engine, EngineError, EngineOptions, MaintenanceOptions, QueryOutput, Session};
use substrait_plans::proto::Plan;
use substrait_plans::{Limits, PlanError, Refusal, decode, from_sql, run};

pub use crate::runtime::wait;

/// A store with one session, which is deleted when it is dropped.
pub struct Db {
    pub session: Session,
    _engine: Engine,
}

/// The columns and rows of a result; a row is its values separated by `|`.
#[derive(Debug, PartialEq)]
pub struct Rows {
    pub schema: SchemaRef,
    pub rows: Vec<String>,
}

impl Db {
    pub fn new() -> Db {
        let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
        let options = EngineOptions { threads: Some(3), maintenance, ..EngineOptions::default() };
        let engine = Engine::open_temporary(options).unwrap();
        Db { session: engine.session().unwrap(), _engine: engine }
    }

    /// Runs statements that are separated by semicolons.
    pub fn with(script: &str) -> Db {
        let db = Db::new();
        for statement in Session::split_statements(script) {
            db.query(statement.text).unwrap_or_else(|error| panic!("{}: {error}", statement.text));
        }
        db
    }

    pub fn query(&self, sql: &str) -> Result<Rows, EngineError> {
        wait(async { rows(self.session.execute(sql).await?).await })
    }

    pub fn plan(&self, sql: &str) -> Result<Plan, PlanError> {
        decode(&wait(from_sql(&self.session, sql))?, &Limits::default())
    }

    pub fn as_plan(&self, sql: &str) -> Result<Rows, PlanError> {
        wait(async {
            let plan = from_sql(&self.session, sql).await?;
            Ok(rows(run(&self.session, &plan, &Binding::default()).await?).await?)
        })
    }

    /// Panics if the query has a plan that returns something other than the query itself.
    pub fn check(&self, sql: &str) -> Result<(), Refusal> {
        let (here, there) = match (self.query(sql), self.as_plan(sql)) {
            (_, Err(PlanError::Refused(refusal))) => return Err(refusal),
            (Ok(here), Ok(there)) => (here, there),
            (Err(here), Err(there)) => {
                assert_eq!(here.to_string(), there.to_string(), "{sql}");
                return Ok(());
            }
            (Ok(_), Err(there)) => panic!("{sql}\nas a plan: {there}"),
            (Err(here), Ok(_)) => panic!("{sql}\nas a plan has rows, and without one: {here}"),
        };
        check_schema(sql, &here.schema, &there.schema);
        assert_eq!(sorted(here.rows), sorted(there.rows), "{sql}");
        Ok(())
    }

    /// The same as `check`, for a query that must have a plan.
    pub fn same(&self, sql: &str) {
        if let Err(refusal) = self.check(sql) {
            panic!("{sql}\n{refusal}");
        }
    }

    pub fn refused(&self, sql: &str) -> Refusal {
        match self.plan(sql) {
            Err(PlanError::Refused(refusal)) => refusal,
            Err(error) => panic!("{sql}\n{error}"),
            Ok(_) => panic!("{sql}\nhas a plan"),
        }
    }
}

async fn rows(output: QueryOutput) -> Result<Rows, EngineError> {
    let schema = output.schema();
    let (batches, _) = output.collect().await?;
    Ok(Rows { schema, rows: batches.iter().flat_map(rows_of).collect() })
}

fn rows_of(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<ArrayFormatter<'_>> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    let row = |row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|");
    (0..batch.num_rows()).map(row).collect()
}

pub fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

/// The columns must be equal, except that texts are views. Nullability may differ: `IS UNKNOWN` is nullable for DataFusion and not in the
/// standard. A batch with a NULL in a column that is not nullable cannot be made.
fn check_schema(sql: &str, here: &SchemaRef, there: &SchemaRef) {
    let columns = |schema: &SchemaRef| -> Vec<(String, DataType)> {
        schema.fields().iter().map(|field| (field.name().clone(), one_layout(field.data_type()))).collect()
    };
    assert_eq!(columns(here), columns(there), "{sql}");
}

fn one_layout(data_type: &DataType) -> DataType {
    let item = |field: &FieldRef| FieldRef::new(Field::new("item", one_layout(field.data_type()), true));
    let inner = |field: &FieldRef| FieldRef::new(Field::new(field.name(), one_layout(field.data_type()), true));
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, value) => one_layout(value),
        DataType::List(of) | DataType::LargeList(of) => DataType::List(item(of)),
        DataType::FixedSizeList(of, length) => DataType::FixedSizeList(item(of), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect::<Fields>()),
        DataType::Map(entries, _) => DataType::Map(inner(entries), false),
        other => other.clone(),
    }
}

//! A store, and serialized plans that run on it.

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use engine::{Binding, Engine, EngineOptions, MaintenanceOptions, Session};
use substrait_plans::proto::Plan;
use substrait_plans::{PlanError, encode, run};

pub use crate::runtime::wait;

/// A store with one session, which is deleted when it is dropped.
pub struct Db {
    pub session: Session,
    _engine: Engine,
}

/// The names of the columns, and the rows; each row is a line of values separated by `|`.
#[derive(Debug, PartialEq)]
pub struct Rows {
    pub names: String,
    pub rows: Vec<String>,
}

impl Db {
    /// Runs statements that are separated by semicolons.
    pub fn with(script: &str) -> Db {
        let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
        let options = EngineOptions { threads: Some(2), maintenance, ..EngineOptions::default() };
        let engine = Engine::open_temporary(options).unwrap();
        let db = Db { session: engine.session().unwrap(), _engine: engine };
        for statement in Session::split_statements(script) {
            db.sql(statement.text).unwrap_or_else(|error| panic!("{}: {error}", statement.text));
        }
        db
    }

    pub fn sql(&self, sql: &str) -> Result<Rows, String> {
        wait(async {
            let output = self.session.execute(sql).await.map_err(|error| error.to_string())?;
            let (batches, _) = output.collect().await.map_err(|error| error.to_string())?;
            Ok(shown(&batches))
        })
    }

    pub fn bytes(&self, bytes: &[u8]) -> Result<Rows, PlanError> {
        wait(async {
            let output = run(&self.session, bytes, &Binding::default()).await?;
            let (batches, _) = output.collect().await?;
            Ok(shown(&batches))
        })
    }

    pub fn plan(&self, plan: &Plan) -> Result<Rows, PlanError> {
        self.bytes(&encode(plan))
    }

    /// The rows of a plan, sorted by their text.
    pub fn sorted(&self, plan: &Plan) -> Vec<String> {
        let mut rows = self.plan(plan).unwrap_or_else(|error| panic!("{error}")).rows;
        rows.sort_unstable();
        rows
    }

    pub fn error(&self, plan: &Plan) -> PlanError {
        match self.plan(plan) {
            Err(error) => error,
            Ok(rows) => panic!("{} rows and no error", rows.rows.len()),
        }
    }

    pub fn sentence(&self, plan: &Plan) -> String {
        self.error(plan).to_string()
    }
}

fn shown(batches: &[RecordBatch]) -> Rows {
    let options = FormatOptions::default().with_null("NULL");
    let names = batches.first().map(|batch| batch.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>());
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        let row = |row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|");
        rows.extend((0..batch.num_rows()).map(row));
    }
    Rows { names: names.unwrap_or_default().join("|"), rows }
}

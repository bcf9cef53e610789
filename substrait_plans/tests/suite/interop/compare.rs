//! Compares the rows of a plan with those of its query.

use std::fmt;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use engine::{Binding, Engine, EngineOptions, MaintenanceOptions, Session};
use substrait_plans::run;
use tokio::runtime::{Builder, Runtime};

pub struct Db {
    session: Session,
    _engine: Engine,
    runtime: Runtime,
}

#[derive(Debug)]
pub enum Answer {
    Same(usize),
    Different(String),
    Refused(String),
    /// The query does not run in our SQL.
    NoSql(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Same(0) => write!(f, "the same, no rows"),
            Answer::Same(_) => write!(f, "the same"),
            Answer::Different(how) => write!(f, "different: {how}"),
            Answer::Refused(sentence) => write!(f, "refused: {sentence}"),
            Answer::NoSql(sentence) => write!(f, "no SQL: {sentence}"),
        }
    }
}

impl Db {
    pub fn with(script: &str) -> Db {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
        let engine = Engine::open_temporary(EngineOptions { threads: Some(2), maintenance, ..EngineOptions::default() }).unwrap();
        let db = Db { session: engine.session().unwrap(), _engine: engine, runtime };
        for statement in Session::split_statements(script) {
            db.sql(statement.text).unwrap_or_else(|error| panic!("{}: {error}", statement.text));
        }
        db
    }

    fn sql(&self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        self.runtime.block_on(async {
            let output = self.session.execute(sql).await.map_err(|error| error.to_string())?;
            let (batches, _) = output.collect().await.map_err(|error| error.to_string())?;
            Ok(rows_of(&batches))
        })
    }

    fn plan(&self, plan: &[u8]) -> Result<Vec<Vec<String>>, String> {
        self.runtime.block_on(async {
            let output = run(&self.session, plan, &Binding::default()).await.map_err(|error| error.to_string())?;
            let (batches, _) = output.collect().await.map_err(|error| error.to_string())?;
            Ok(rows_of(&batches))
        })
    }
}

pub fn compared(db: &Db, plan: &[u8], sql: &str) -> Answer {
    let expected = match db.sql(sql) {
        Ok(expected) => expected,
        Err(sentence) => return Answer::NoSql(sentence),
    };
    match db.plan(plan) {
        Ok(found) => difference(&expected, &found).map_or(Answer::Same(expected.len()), Answer::Different),
        Err(sentence) => Answer::Refused(sentence),
    }
}

/// Compares in any order, because sorted rows have ties. Each row must match exactly one on the other side.
fn difference(expected: &[Vec<String>], found: &[Vec<String>]) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} rows for {}", found.len(), expected.len()));
    }
    let mut candidates: Vec<&Vec<String>> = found.iter().collect();
    for row in expected {
        match candidates.iter().position(|other| same_row(row, other)) {
            Some(place) => {
                candidates.swap_remove(place);
            }
            None => return Some(format!("no row like {}", row.join("|"))),
        }
    }
    None
}

fn same_row(expected: &[String], found: &[String]) -> bool {
    expected.len() == found.len() && expected.iter().zip(found).all(|(expected, found)| same(expected, found))
}

/// Producers use other numeric types than our SQL: decimals with fewer digits, floats.
fn same(expected: &str, found: &str) -> bool {
    let day = |text: &str| text.trim_end_matches("T00:00:00").to_string();
    match (expected.parse::<f64>(), found.parse::<f64>()) {
        (Ok(expected), Ok(found)) => (expected - found).abs() <= 1e-4 * expected.abs().max(found.abs()).max(1.0),
        _ => day(expected) == day(found),
    }
}

fn rows_of(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column.value(row).to_string()).collect()));
    }
    rows
}

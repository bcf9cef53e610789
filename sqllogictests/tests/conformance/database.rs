//! The engine as the `sqllogictest` crate sees it.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use engine::{EngineError, RecordBatch, Session, StatementKind};
use sqllogictest::{AsyncDB, ColumnType, DBOutput};

use crate::pushed::{Tallies, is_query, pushed};
use crate::values::{show, type_letter};

/// A column's type letter; README.md lists them. `?` is every type without a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column(char);

impl ColumnType for Column {
    fn from_char(letter: char) -> Option<Self> {
        "BDIPRT?".contains(letter).then_some(Self(letter))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

/// `?` agrees with every type: an untyped NULL has no type to compare.
#[allow(clippy::ptr_arg)] // the signature is the crate's
pub fn types_agree(actual: &Vec<Column>, expected: &Vec<Column>) -> bool {
    let agree = |(a, e): (&Column, &Column)| a == e || a.0 == '?' || e.0 == '?';
    actual.len() == expected.len() && actual.iter().zip(expected).all(agree)
}

pub struct Database {
    pub session: Arc<Session>,
    /// How often a query is run; its last answer counts.
    pub runs: usize,
    /// Queries run twice, the second time pushed down.
    pub pushed: Option<Tallies>,
}

impl Database {
    async fn here(&self, sql: &str) -> Result<Answer, EngineError> {
        let output = self.session.execute(sql).await?;
        let (kind, schema) = (output.kind(), output.schema());
        let (batches, _report) = output.collect().await?;
        Ok(Answer { kind, schema, batches })
    }

    /// The answer of the query pushed down, which is held against what it gave here.
    async fn again(&self, sql: &str, tally: &Tallies, here: Result<Answer, EngineError>) -> Result<Answer, EngineError> {
        let there = match pushed(&self.session, sql, tally).await {
            Ok(Some((schema, batches))) => Answer { kind: StatementKind::Query, schema, batches },
            Ok(None) => return here,
            Err(_) if here.is_err() => return here,
            Err(error) => return Err(differs(sql, &format!("it fails: {error}"))),
        };
        // Where it was to fail, the runner says so of these rows.
        let Ok(here) = here else { return Ok(there) };
        if types(&here.schema) != types(&there.schema) {
            let (here, there) = (types(&here.schema), types(&there.schema));
            return Err(differs(sql, &format!("columns are {there:?} and not {here:?}")));
        }
        let (expected, found) = (sorted(&here.batches), sorted(&there.batches));
        match expected == found {
            true => Ok(there),
            false => Err(differs(sql, &format!("rows are {found:?} and not {expected:?}"))),
        }
    }
}

struct Answer {
    kind: StatementKind,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

fn differs(sql: &str, how: &str) -> EngineError {
    let how: String = how.chars().take(2_000).collect();
    EngineError::Execution { message: format!("pushed down, {how}: {sql}"), hint: None }
}

fn types(schema: &Schema) -> Vec<String> {
    let fields = schema.fields().iter();
    fields.map(|field| format!("{} {}", field.name(), field.data_type())).collect()
}

fn sorted(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let mut rows: Vec<_> = batches.iter().flat_map(rows).collect();
    rows.sort_unstable();
    rows
}

/// A change of rows may begin with WITH, as a query does.
fn is_change(answer: &Result<Answer, EngineError>) -> bool {
    matches!(answer, Ok(answer) if !matches!(answer.kind, StatementKind::Query))
}

#[async_trait]
impl AsyncDB for Database {
    type Error = EngineError;
    type ColumnType = Column;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<Column>, EngineError> {
        let mut answer = self.here(sql).await;
        if answer.is_ok() && is_query(sql) && !is_change(&answer) {
            for _ in 1..self.runs {
                answer = self.here(sql).await;
            }
        }
        let answer = match &self.pushed {
            Some(tally) if is_query(sql) && !is_change(&answer) => self.again(sql, tally, answer).await?,
            _ => answer?,
        };
        let Answer { kind, schema, batches } = answer;
        Ok(match kind {
            StatementKind::Query => DBOutput::Rows {
                types: schema.fields().iter().map(|f| Column(type_letter(f.data_type()))).collect(),
                rows: batches.iter().flat_map(rows).collect(),
            },
            StatementKind::Write => DBOutput::StatementComplete(written(&batches)),
            _ => DBOutput::StatementComplete(0),
        })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "quiver"
    }
}

fn rows(batch: &RecordBatch) -> impl Iterator<Item = Vec<String>> + '_ {
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(|column| show(column, row)).collect())
}

/// A write answers with one row: the number of rows written.
fn written(batches: &[RecordBatch]) -> u64 {
    batches.iter().flat_map(rows).filter_map(|row| row.first()?.parse::<u64>().ok()).sum()
}

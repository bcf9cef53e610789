//! The engine as the `sqllogictest` crate sees it.

use async_trait::async_trait;
use engine::{EngineError, RecordBatch, Session, StatementKind};
use sqllogictest::{AsyncDB, ColumnType, DBOutput};

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
    pub session: Session,
}

#[async_trait]
impl AsyncDB for Database {
    type Error = EngineError;
    type ColumnType = Column;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<Column>, EngineError> {
        let output = self.session.execute(sql).await?;
        let (kind, schema) = (output.kind(), output.schema());
        let (batches, _report) = output.collect().await?;
        Ok(match kind {
            StatementKind::Query => DBOutput::Rows {
                types: schema
                    .fields()
                    .iter()
                    .map(|f| Column(type_letter(f.data_type())))
                    .collect(),
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
    (0..batch.num_rows()).map(|row| {
        batch
            .columns()
            .iter()
            .map(|column| show(column, row))
            .collect()
    })
}

/// A write answers with one row: the number of rows written.
fn written(batches: &[RecordBatch]) -> u64 {
    batches
        .iter()
        .flat_map(rows)
        .filter_map(|row| row.first()?.parse::<u64>().ok())
        .sum()
}

//! Queries to the engine in SQL.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use engine::{EngineError, Session};

use super::internal;

/// A string literal of SQL.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A quoted identifier of SQL.
pub fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The rows of a query with `N` columns of text; empty texts for NULLs.
pub async fn texts<const N: usize>(session: &Session, sql: &str) -> Result<Vec<[String; N]>, EngineError> {
    let (batches, _) = session.execute(sql).await?.collect().await?;
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter().map(|column| cast(column, &DataType::Utf8));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(internal)?;
        let value = |column: usize, row: usize| match columns.get(column) {
            Some(column) if column.is_valid(row) => column.as_string::<i32>().value(row).to_string(),
            _ => String::new(),
        };
        rows.extend((0..batch.num_rows()).map(|row| std::array::from_fn(|column| value(column, row))));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_inside_are_doubled() {
        assert_eq!([literal("it's"), name("a\"b")], ["'it''s'", "\"a\"\"b\""]);
    }
}

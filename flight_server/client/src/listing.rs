//! The objects of the server, queried in SQL and thus as an open transaction sees them. No query here fails because something does
//! not exist: that would end the transaction.

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef, UInt64Type};
use arrow_flight::sql::{CommandGetSqlInfo, SqlInfo};
use engine::{RecordBatch, TableListing};
use futures::{FutureExt, TryStreamExt};

use crate::error::RemoteError;
use crate::output::RemoteOutput;
use crate::session::RemoteSession;

impl RemoteSession {
    /// Tables and views, by schema and name.
    pub async fn tables(&self) -> Result<Vec<TableListing>, RemoteError> {
        self.listed("SELECT schema_name, table_name, kind, row_count, size_bytes FROM system.tables ORDER BY schema_name, table_name").await
    }

    pub async fn system_tables(&self) -> Result<Vec<TableListing>, RemoteError> {
        self.listed(
            "SELECT table_schema, table_name, 'system', CAST(NULL AS UBIGINT), CAST(NULL AS UBIGINT) FROM information_schema.tables
             WHERE table_schema = 'system' ORDER BY table_name",
        )
        .await
    }

    /// Without the system tables.
    pub async fn schema_names(&self) -> Result<Vec<String>, RemoteError> {
        self.names(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN ('information_schema', 'system') ORDER BY 1",
        )
        .await
    }

    /// Includes table functions. Sorted by name, without duplicates.
    pub async fn function_names(&self) -> Result<Vec<String>, RemoteError> {
        self.names("SELECT DISTINCT routine_name FROM information_schema.routines ORDER BY 1").await
    }

    /// The columns of a table, `schema.name` or one of the schema main; empty if there is no such table.
    pub async fn column_names(&self, table: &str) -> Result<Vec<String>, RemoteError> {
        let (schema, name) = table.split_once('.').unwrap_or(("main", table));
        let (schema, name) = (text(schema), text(name));
        self.names(&format!(
            "SELECT column_name FROM system.columns WHERE schema_name = {schema} AND table_name = {name} ORDER BY position"
        ))
        .await
    }

    /// The names of all columns of all tables, without duplicates.
    pub async fn all_column_names(&self) -> Result<Vec<String>, RemoteError> {
        self.names("SELECT DISTINCT column_name FROM system.columns ORDER BY 1").await
    }

    /// The Arrow schema of a table; `None` if there is no such table.
    pub async fn table_schema(&self, schema: &str, name: &str) -> Result<Option<SchemaRef>, RemoteError> {
        let is_it = |table: &TableListing| table.schema == schema && table.name == name;
        if !self.tables().await?.iter().any(is_it) {
            return Ok(None);
        }
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let nothing = self.execute(&format!("SELECT * FROM {}.{} LIMIT 0", quoted(schema), quoted(name))).await?;
        Ok(Some(nothing.schema()))
    }

    pub async fn server_version(&self) -> Result<String, RemoteError> {
        let command = CommandGetSqlInfo { info: vec![SqlInfo::FlightSqlServerVersion as u32] };
        let request = self.ask("", |mut link| {
            let command = command.clone();
            async move { link.info(command).await }.boxed()
        });
        let (link, info) = request.await?;
        let batches: Vec<RecordBatch> = RemoteOutput::begin(&self.shared, link, info, "")?.try_collect().await?;
        let version = batches.iter().find(|batch| batch.num_rows() > 0 && batch.num_columns() == 2).and_then(|batch| {
            let value = batch.column(1).as_union_opt()?.value(0);
            Some(value.as_string_opt::<i32>()?.value(0).to_string())
        });
        version.ok_or_else(|| self.shared.protocol("no version"))
    }

    async fn listed(&self, sql: &str) -> Result<Vec<TableListing>, RemoteError> {
        let mut listed = Vec::new();
        for batch in self.execute(sql).await?.collect().await? {
            let [schemas, names, kinds] = [0, 1, 2].map(|column| texts(batch.column(column)));
            let [rows, sizes] = [3, 4].map(|column| numbers(batch.column(column)));
            for (((schema, name), kind), (rows, size_bytes)) in schemas.into_iter().zip(names).zip(kinds).zip(rows.into_iter().zip(sizes)) {
                listed.push(TableListing { schema, name, kind, rows, size_bytes });
            }
        }
        Ok(listed)
    }

    async fn names(&self, sql: &str) -> Result<Vec<String>, RemoteError> {
        let batches = self.execute(sql).await?.collect().await?;
        Ok(batches.iter().flat_map(|batch| texts(batch.column(0))).collect())
    }
}

/// An SQL literal.
fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn texts(column: &ArrayRef) -> Vec<String> {
    let column = cast(column, &DataType::Utf8).ok();
    let values = column.iter().flat_map(|column| column.as_string::<i32>().iter());
    values.map(|value| value.unwrap_or_default().to_string()).collect()
}

fn numbers(column: &ArrayRef) -> Vec<Option<u64>> {
    let column = cast(column, &DataType::UInt64).ok();
    column.iter().flat_map(|column| column.as_primitive::<UInt64Type>().iter()).collect()
}

//! `COPY … TO 'file'`: writes the rows of a query into a file.

use std::path::PathBuf;

use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::StreamExt;

use super::copy_options::{ExportOptions, export_options};
use crate::execution::StatementContext;
use common::count::{count_batch, count_schema};
use common::error::EngineError;
use files::export::open_export_with;
use files::import::check_path;
use semantics::cancel::on_a_task;
use sql::{CopyTo, refuse};

/// The stream copies when it is polled; its one row is the number of rows copied.
pub async fn copy_to(ctx: &StatementContext, copy: CopyTo) -> Result<SendableRecordBatchStream, EngineError> {
    let CopyTo { query, path, options } = copy;
    refuse(query.as_ref())?;
    let path = PathBuf::from(path);
    check_path(&path, ctx.catalog.file_directories())?;
    let options = export_options(&path, &options)?;
    let plan = ctx.plan(Statement::Statement(Box::new(ast::Statement::Query(query)))).await?;
    let rows = ctx.execute_plan(&plan).await?;
    let copied = async move { count_batch(write(rows, path, options).await?).map_err(EngineError::into_datafusion) };
    let stream = RecordBatchStreamAdapter::new(count_schema(), futures::stream::once(copied));
    Ok(on_a_task(count_schema(), move || Ok(Box::pin(stream))))
}

async fn write(mut rows: SendableRecordBatchStream, path: PathBuf, options: ExportOptions) -> Result<u64, EngineError> {
    let mut export = open_export_with(&path, options.format, &rows.schema(), options.csv)?;
    while let Some(batch) = rows.next().await {
        export.write(&batch?)?;
    }
    Ok(export.finish()?.rows)
}

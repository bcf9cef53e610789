//! Files into a table.

use engine::import::{FileFormat, FileScan, LoadMode, LoadOptions, OnError, ReadOptions};
use engine::{EngineError, Session};
use pyo3::prelude::*;

use crate::errors;

/// What `Connection.import_` was told; the names are its own.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Files {
    paths: Vec<String>,
    schema: String,
    table: String,
    mode: String,
    order_by: Vec<String>,
    format: Option<String>,
    on_error: String,
    header: Option<bool>,
    delimiter: Option<String>,
    null: Vec<String>,
}

pub async fn import(session: &Session, files: Files) -> PyResult<(u64, u64, Vec<String>)> {
    let read = read_options(&files)?;
    let options = LoadOptions { namespace: files.schema, table: files.table, order_by: files.order_by, mode: mode(&files.mode)? };
    let paths = files.paths;
    let opened = tokio::task::spawn_blocking(move || FileScan::open(&paths, read)).await;
    let scan = opened.map_err(|error| errors::internal(&format!("looking into the files stopped unexpectedly ({error})")))?;
    let scan = scan.map_err(|error| errors::of_engine(&EngineError::Import(error)))?;
    let progress = scan.progress();
    let summary = session.import(options, scan).await.map_err(|error| errors::of_engine(&error))?;
    Ok((summary.rows, summary.rows_skipped, progress.skip_reasons()))
}

fn mode(name: &str) -> PyResult<LoadMode> {
    match name {
        "create" => Ok(LoadMode::Create),
        "append" => Ok(LoadMode::AppendExisting),
        "create_append" => Ok(LoadMode::Append),
        "replace" => Ok(LoadMode::Replace),
        other => Err(errors::invalid(&format!("there is no mode \"{other}\"; use create, append, create_append or replace"))),
    }
}

fn read_options(files: &Files) -> PyResult<ReadOptions> {
    let mut options = ReadOptions::default();
    if let Some(format) = &files.format {
        options.format = Some(format.parse::<FileFormat>().map_err(|message| errors::invalid(&message))?);
    }
    options.on_error = match files.on_error.as_str() {
        "abort" => OnError::Abort,
        "skip" => OnError::Skip,
        other => return Err(errors::invalid(&format!("on_error is abort or skip, and not \"{other}\""))),
    };
    options.csv.header = files.header;
    options.csv.delimiter = match files.delimiter.as_deref().map(str::as_bytes) {
        None => None,
        Some([byte]) => Some(*byte),
        Some(_) => return Err(errors::invalid("a delimiter is one character of ASCII")),
    };
    options.csv.null.clone_from(&files.null);
    Ok(options)
}

//! Imports files into a table.

use engine::import::{FileFormat, FileScan, LoadMode, LoadOptions, OnError, ReadOptions, type_named};
use engine::{EngineError, Session};
use pyo3::prelude::*;

use crate::errors;

/// The arguments of `Connection.import_`, by the same names.
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
    /// The type of a column by its name.
    types: Vec<(String, String)>,
    /// Further options of CSV by their names in SQL.
    csv: Vec<(String, String)>,
}

/// The import, without references to Python objects.
pub struct Import {
    paths: Vec<String>,
    read: ReadOptions,
    load: LoadOptions,
}

impl Files {
    pub fn checked(self) -> PyResult<Import> {
        let (read, mode) = (read_options(&self)?, mode(&self.mode)?);
        let load = LoadOptions { namespace: self.schema, table: self.table, order_by: self.order_by, mode };
        Ok(Import { paths: self.paths, read, load })
    }
}

impl Import {
    /// The number of rows, and the number of skipped ones with the reasons.
    pub async fn run(self, session: &Session) -> Result<(u64, u64, Vec<String>), EngineError> {
        let Import { paths, read, load } = self;
        let opened = tokio::task::spawn_blocking(move || FileScan::open(&paths, read)).await;
        let scan = opened.map_err(|error| EngineError::Internal(format!("looking into the files stopped unexpectedly ({error})")))??;
        let progress = scan.progress();
        let summary = session.import(load, scan).await?;
        Ok((summary.rows, summary.rows_skipped, progress.skip_reasons()))
    }
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
    let delimiter = files.delimiter.iter().map(|value| ("delimiter", value));
    let nulls = files.null.iter().map(|value| ("null", value));
    let others = files.csv.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in delimiter.chain(nulls).chain(others) {
        options.set(name, value).map_err(|error| errors::of_engine(&error))?;
    }
    for (column, name) in &files.types {
        let data_type = type_named(name).map_err(|error| errors::of_engine(&error))?;
        options.types.push((column.clone(), data_type));
    }
    Ok(options)
}

//! The files of a `CREATE EXTERNAL TABLE`.

use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::CreateExternalTable;

use super::options::set_option;
use super::table::FileTable;
use crate::blocking::blocking;
use common::error::EngineError;
use common::file_directories::FileDirectories;
use common::file_format::FileFormat;
use files::import::{FileScan, ReadOptions};

/// `command` as DataFusion plans it: its schema has the columns that the statement declares, if any.
pub async fn table_of_files(command: CreateExternalTable, directories: &FileDirectories) -> Result<Arc<dyn TableProvider>, EngineError> {
    let options = ReadOptions { directories: directories.clone(), ..read_options(&command)? };
    let declared = command.schema.inner().fields();
    let is_directory = |field: &&FieldRef| command.table_partition_cols.iter().any(|name| field.name().eq_ignore_ascii_case(name));
    let of_files = Schema::new(declared.iter().filter(|field| !is_directory(field)).cloned().collect::<Vec<_>>());
    let of_directories: Vec<(String, Option<DataType>)> = command
        .table_partition_cols
        .iter()
        .map(|name| {
            let field = declared.iter().find(|field| field.name().eq_ignore_ascii_case(name));
            (name.clone(), field.map(|field| field.data_type().clone()))
        })
        .collect();
    let paths = command.locations;
    let files = blocking(move || {
        let files = match of_files.fields().is_empty() {
            true => FileScan::open(&paths, options)?,
            false => FileScan::open_as(&paths, options, Arc::new(of_files))?,
        };
        Ok(files.with_directory_columns(&of_directories)?)
    });
    let table = FileTable::new(files.await?);
    Ok(Arc::new(match command.definition {
        Some(definition) => table.with_definition(definition),
        None => table,
    }))
}

fn read_options(command: &CreateExternalTable) -> Result<ReadOptions, EngineError> {
    let kind = command.file_type.to_uppercase();
    let format = FileFormat::from_str(&kind).map_err(|_| EngineError::Sql {
        message: format!("files of type {kind} cannot be read; PARQUET, CSV, JSON and ARROW can"),
        position: None,
        hint: None,
    })?;
    let mut options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    for (name, value) in &command.options {
        let name = name.to_lowercase();
        set_option(&mut options, name.strip_prefix("format.").unwrap_or(&name), &ScalarValue::from(value.as_str()))?;
    }
    Ok(options)
}

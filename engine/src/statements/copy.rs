//! `COPY table FROM 'file' (FORMAT …, HEADER …, DELIMITER …, NULL …)`.

use datafusion::common::TableReference;
use pmem_store::StoreError;

use crate::execution::StatementContext;
use crate::ingest::load::{LoadMode, LoadOptions, load};
use common::error::EngineError;
use common::file_format::FileFormat;
use files::import::{FileScan, ReadOptions};
use sql::CopyFrom;
use table::blocking::blocking;
use table::catalog::resolve;

/// Returns the number of rows copied.
pub async fn copy_from(ctx: &StatementContext, copy: CopyFrom) -> Result<u64, EngineError> {
    let CopyFrom { table: name, path, options } = copy;
    let options = ReadOptions { directories: ctx.catalog.file_directories().clone(), ..read_options(&options)? };
    let reference = TableReference::parse_str(&name);
    ctx.catalog.check_stored(&reference, "COPY FROM a file into")?;
    let (namespace, table) = resolve(&reference)?;
    let hint = format!("CREATE TABLE {name} AS FROM '{}' makes it", path.replace('\'', "''"));
    let paths = [path];
    let scan = blocking(move || Ok(FileScan::open(&paths, options)?)).await?;
    let load_options = LoadOptions { namespace, table, order_by: Vec::new(), mode: LoadMode::AppendExisting };
    match load(ctx, load_options, scan).await {
        Ok(loaded) => Ok(loaded.rows),
        Err(error @ EngineError::Store(StoreError::DoesNotExist { kind: "table", .. })) => {
            Err(EngineError::Plan { message: error.to_string(), hint: Some(hint), kind: error.kind() })
        }
        Err(error) => Err(error),
    }
}

fn read_options(options: &[(String, String)]) -> Result<ReadOptions, EngineError> {
    let mut read = ReadOptions::default();
    let (format, others): (Vec<_>, Vec<_>) = options.iter().partition(|(name, _)| name == "format");
    for (_, value) in format {
        read.format = Some(value.parse::<FileFormat>().map_err(|message| EngineError::Sql { message, position: None, hint: None })?);
    }
    // Which of them there are depends on the format.
    others.into_iter().try_for_each(|(name, value)| read.set(name, value))?;
    Ok(read)
}

//! `COPY table FROM 'file' (FORMAT …, HEADER …, DELIMITER …, NULL …)`.

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{CopyLegacyOption, CopyOption, CopySource, CopyTarget, Statement};

use crate::execution::StatementContext;
use crate::ingest::load::{LoadMode, LoadOptions, load};
use common::error::EngineError;
use files::import::{FileScan, ReadOptions};
use table::blocking::blocking;
use table::catalog::resolve;

/// Returns the number of rows copied.
pub async fn copy_from(ctx: &StatementContext, statement: Statement) -> Result<u64, EngineError> {
    let Statement::Copy { source, target, options, legacy_options, .. } = statement else {
        return Err(EngineError::internal("not a COPY"));
    };
    let CopySource::Table { table_name, columns } = source else {
        return Err(EngineError::unsupported("COPY (query) FROM", None));
    };
    if !columns.is_empty() {
        return Err(EngineError::unsupported("COPY into some columns", Some("columns are matched by name; leave the list out")));
    }
    let CopyTarget::File { filename } = target else {
        return Err(EngineError::unsupported("COPY from STDIN or a program", Some("copy from a file")));
    };
    let options = ReadOptions { directories: ctx.catalog.file_directories().clone(), ..read_options(options, legacy_options)? };
    let reference = TableReference::parse_str(&table_name.to_string());
    ctx.catalog.check_stored(&reference, "COPY FROM a file into")?;
    let (namespace, table) = resolve(&reference)?;
    let paths = [filename];
    let scan = blocking(move || Ok(FileScan::open(&paths, options)?)).await?;
    let load_options = LoadOptions { namespace, table, order_by: Vec::new(), mode: LoadMode::AppendExisting };
    Ok(load(ctx, load_options, scan).await?.rows)
}

fn read_options(options: Vec<CopyOption>, legacy: Vec<CopyLegacyOption>) -> Result<ReadOptions, EngineError> {
    let mut read = ReadOptions::default();
    if let Some(option) = legacy.first() {
        return Err(EngineError::unsupported(format!("COPY option {option}"), Some("write options in parentheses: (FORMAT csv)")));
    }
    let byte = |name: &str, value: char| match u8::try_from(value) {
        Ok(byte) if byte.is_ascii() => Ok(byte),
        _ => Err(EngineError::unsupported(format!("{name} '{value}'"), Some("use one ASCII character"))),
    };
    for option in options {
        match option {
            CopyOption::Format(name) => {
                let format = name.value.parse().map_err(|message| EngineError::Sql { message, position: None, hint: None });
                read.format = Some(format?);
            }
            CopyOption::Delimiter(delimiter) => read.csv.delimiter = Some(byte("DELIMITER", delimiter)?),
            CopyOption::Quote(quote) => read.csv.quote = Some(byte("QUOTE", quote)?),
            CopyOption::Header(header) => read.csv.header = Some(header),
            CopyOption::Null(token) => read.csv.null.push(token),
            other => return Err(EngineError::unsupported(format!("COPY option {other}"), None)),
        }
    }
    Ok(read)
}

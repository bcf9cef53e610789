//! CREATE EXTERNAL TABLE: the statement is stored, its files stay in place, and so does a table of another node.

use std::path::{Path, absolute};

use datafusion::common::TableReference;
use datafusion::sql::parser::CreateExternalTable;
use pmem_store::ViewRecord;

use super::ddl::{check_new_view, commit};
use crate::execution::StatementContext;
use common::error::EngineError;
use common::error::import::ImportError;
use files::import::check_paths;
use table::catalog::{external_provider, is_of_node, is_remote, resolve};
use table::definition::{EXTERNAL, external_definition};

pub async fn create_external(ctx: &StatementContext, mut table: CreateExternalTable) -> Result<(), EngineError> {
    let (namespace, name) = resolve(&TableReference::parse_str(&table.name.to_string()))?;
    let snapshot = ctx.catalog.snapshot();
    let exists = snapshot.table(&namespace, &name)?.is_some() || snapshot.view(&namespace, &name)?.is_some();
    if exists && table.if_not_exists {
        return Ok(());
    }
    refuse(&table)?;
    if !is_remote(&table) {
        check_paths(&table.locations, ctx.catalog.file_directories())?;
        for location in &mut table.locations {
            *location = absolute_location(location)?;
        }
    }
    // This reads the files' schema, or asks the node: an unreadable table is refused now and not when it is queried.
    external_provider(&*ctx.engine, &ctx.state, table.clone()).await.map_err(EngineError::from)?;
    let record = ViewRecord::new(&namespace, &name, EXTERNAL, &external_definition(&table));
    check_new_view(ctx, &record, table.or_replace)?;
    commit(ctx, "CREATE EXTERNAL TABLE", |transaction| transaction.create_view(record, table.or_replace))
}

fn refuse(table: &CreateExternalTable) -> Result<(), EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(what, Some(hint)));
    if table.temporary {
        return refuse("CREATE TEMPORARY EXTERNAL TABLE", "leave TEMPORARY out, and drop the table when you are done");
    }
    if table.unbounded {
        return refuse("CREATE UNBOUNDED EXTERNAL TABLE", "leave UNBOUNDED out");
    }
    if !table.order_exprs.is_empty() && !is_remote(table) {
        return refuse("WITH ORDER of an external table", "leave it out: nobody can hold files to it, and ORDER BY sorts");
    }
    let options = table.columns.iter().flat_map(|column| &column.options);
    let mut options = options.filter(|option| !matches!(option.option, datafusion::sql::sqlparser::ast::ColumnOption::Null));
    if !table.constraints.is_empty() || options.next().is_some() {
        return refuse("a constraint on an external table", "nobody can enforce it on files; leave it out");
    }
    Ok(())
}

/// The absolute location; it must exist.
fn absolute_location(location: &str) -> Result<String, EngineError> {
    if let Some((scheme, _)) = location.split_once("://").filter(|(scheme, _)| *scheme != "file") {
        if is_of_node(scheme) {
            return Err(EngineError::unsupported("a file on another node", Some("a table there is STORED AS QUIVER")));
        }
        return Err(EngineError::unsupported(format!("reading from {scheme}://"), Some("copy the files here first")));
    }
    let path = location.strip_prefix("file://").unwrap_or(location);
    let failed = |message: String| EngineError::Execution { message, hint: None };
    let full = absolute(path).map_err(|error| failed(format!("cannot find \"{location}\": {error}")))?;
    let is_pattern = path.contains(['*', '?', '[']);
    if !is_pattern && !full.exists() {
        return Err(ImportError::NotFound { path: path.into() }.into());
    }
    let text = full.to_str().ok_or_else(|| failed(format!("the path of \"{location}\" is not UTF-8")))?;
    // DataFusion recognises a directory by a trailing slash.
    let is_directory = Path::new(&full).is_dir() && !text.ends_with('/');
    Ok(if is_directory { format!("{text}/") } else { text.to_string() })
}

//! What a statement may write to, and the errors for all else.

use datafusion::catalog::TableProvider;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{DmlStatement, TableType};

use crate::system::SystemTable;
use arrays::table::ArrayTable;
use common::error::EngineError;
use table::catalog::{StoreTable, no_table_to_write, not_for_temporary, not_writable_array};
use table::temporary::TemporaryTable;

/// Only tables of the store can be written to.
pub fn check_writable(write: &DmlStatement) -> Result<(), EngineError> {
    let provider = source_as_provider(&write.target)?;
    if provider.downcast_ref::<TemporaryTable>().is_some() {
        return Ok(());
    }
    match provider.downcast_ref::<StoreTable>() {
        Some(table) if !table.is_older() => return Ok(()),
        Some(_) => return Err(EngineError::unsupported("writing to a table FOR … AS OF", Some("older versions never change"))),
        None => {}
    }
    Err(not_writable(write.table_name.table(), provider.as_ref()))
}

pub fn not_writable(name: &str, provider: &dyn TableProvider) -> EngineError {
    if provider.downcast_ref::<SystemTable>().is_some() {
        return EngineError::unsupported(format!("writing to the system table \"{name}\""), Some("it can only be read"));
    }
    if provider.downcast_ref::<TemporaryTable>().is_some() {
        return not_for_temporary(name, "changing rows of");
    }
    if provider.downcast_ref::<ArrayTable>().is_some() {
        return not_writable_array(name);
    }
    no_table_to_write(name, provider.table_type() == TableType::View)
}

//! Arrays of any number of dimensions: regions of them, the chunks in which they are stored, and their relation with a row for each cell.
//! It reads chunks through the table in which they are; it knows no catalog and no transactions.

pub mod cell_rows;
mod cells_exec;
pub mod chunk_rows;
pub mod copy;
pub mod definition;
mod filters;
pub mod functions;
pub mod grid;
pub mod levels;
mod region_exec;
pub mod slices;
pub mod table;

use datafusion::prelude::SessionContext;
use kernels::table_argument::TablesOf;

/// Registers the table functions of arrays.
pub fn register(context: &SessionContext, tables: TablesOf) {
    functions::functions(tables).into_iter().for_each(|(name, function)| context.register_udtf(name, function));
}

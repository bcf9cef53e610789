//! Matrices in tables of blocks: `(i, j, block)`, where missing blocks are zeros.
//!
//! 1. `layout` says what a table's columns mean, `shapes` which tables go together;
//! 2. `table` are the functions of SQL, and `product_of_tables` finds the product that a query says as a join; both make `exec`;
//! 3. `blocks` says where each block of the inputs lies, mapped in its file;
//! 4. `work` says what each block of the result is made of, `pairs` of a product, `run` makes them some at a time, `fill` a panel of one, in the
//!    memory of `outputs`, or where `in_place` says: in the table that the result is stored in; `padding` keeps zero what is beyond the matrix;
//! 5. `unshuffled` keeps the result from being gathered whole;
//! 6. `norm` is the one kernel that has no blocks as its result, `sum_product` the product as an aggregate.
//!
//! Invariant: a block of an input is never copied, and what is made at once of a result is some blocks.

mod blocks;
mod element;
mod exec;
mod fill;
mod in_place;
mod layout;
mod norm;
mod operation;
mod outputs;
mod padding;
mod pairs;
mod product_of_tables;
mod run;
mod shapes;
mod start;
mod sum_product;
mod table;
mod unshuffled;
mod work;

pub use in_place::{InPlaceTable, filled_in_place};
pub use product_of_tables::{ProductPlanner, with_products};
pub use unshuffled::UnshuffledBlocks;

use std::sync::Arc;

use datafusion::catalog::TableFunctionImpl;
use datafusion::logical_expr::AggregateUDF;

use super::table_argument::TablesOf;

pub fn tables(of: TablesOf) -> Vec<(&'static str, Arc<dyn TableFunctionImpl>)> {
    table::functions(of)
}

/// Whether it is one of [`tables`].
pub fn is_table_function(name: &str) -> bool {
    table::OPERATIONS.iter().any(|operation| operation.function() == name)
}

pub fn aggregates() -> Vec<AggregateUDF> {
    vec![sum_product::sum_product()]
}

//! Matrices in tables of blocks: `(i, j, block)`, where missing blocks are zeros.
//!
//! 1. `layout` reads the meaning of a table's columns, `shapes` checks which tables go together;
//! 2. `table` has the functions of SQL, and `product_of_tables` finds a product that a query writes as a join; both make `exec`;
//! 3. `blocks` finds the blocks of the inputs, mapped in their files;
//! 4. `work` lists the sources of each block of the result, `pairs` those of a product, `run` makes some blocks at a time, `fill` a panel
//!    of one, in the memory of `outputs`, or with `in_place` in the table that stores the result; `padding` keeps zeros around the matrix;
//! 5. `unshuffled` prevents the plan from gathering the whole result;
//! 6. `norm` is the one kernel whose result has no blocks, `sum_product` the product as an aggregate.
//!
//! Invariant: a block of an input is never copied, and only some blocks of a result exist at once.

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

//! k-means: `kmeans('table', columns…, k, iterations)` as a table, `kmeans_assign` for a row, `kmeans_step` over rows.
//!
//! - `arguments`: parses the arguments; `table`: the function and its table; `exec`: the operator in the plan
//! - `points`: the rows of the input in place, read as DOUBLE one piece at a time
//! - `start`: the first centroids; `lloyd`: one pass for each iteration; `rows`: the result; `memory`: what all of them need
//! - `assign` and `step`: one iteration in plain SQL, also in parts on several nodes; `listed`: their centroids; `dense`: their vectors

mod arguments;
mod assign;
mod dense;
mod exec;
mod listed;
mod lloyd;
mod memory;
mod points;
mod random;
mod rows;
mod start;
mod step;
mod table;

use std::sync::Arc;

use super::table_argument::TablesOf;
use common::names::KMEANS;

use datafusion::catalog::TableFunctionImpl;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

pub use rows::schema as kmeans_schema;

pub fn scalars() -> Vec<ScalarUDF> {
    vec![ScalarUDF::from(assign::KMeansAssign::default())]
}

pub fn aggregates() -> Vec<AggregateUDF> {
    vec![AggregateUDF::from(step::KMeansStep::default())]
}

pub fn tables(of: TablesOf) -> Vec<(&'static str, Arc<dyn TableFunctionImpl>)> {
    vec![(KMEANS, Arc::new(table::KMeansFunction(of)))]
}

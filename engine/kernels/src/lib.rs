//! Kernels that read columns in place: histograms, clusters, matrices, distances. `docs/kernels.md` says what each computes.

pub mod aggregate;
pub mod cluster;
pub mod eager_aggregates;
pub mod gather;
pub mod grouping_sets;
pub mod lists_of_lists;
pub mod matrix;
pub mod nearest;
pub mod numeric;
pub mod precopy;
pub mod rank_limit;
pub mod running_windows;
pub mod scalar;
pub mod table_argument;
pub mod threads;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

use table_argument::TablesOf;

/// Registers every kernel under its name in SQL. Functions of DataFusion with the same name are replaced.
pub fn register(context: &SessionContext, of: TablesOf) {
    scalars().into_iter().for_each(|function| context.register_udf(function));
    aggregates().into_iter().for_each(|function| context.register_udaf(function));
    cluster::tables(of).into_iter().chain(matrix::tables(of)).for_each(|(name, function)| context.register_udtf(name, function));
}

fn scalars() -> Vec<ScalarUDF> {
    scalar::all().into_iter().chain(cluster::scalars()).collect()
}

fn aggregates() -> Vec<AggregateUDF> {
    aggregate::all().into_iter().chain(cluster::aggregates()).chain(matrix::aggregates()).collect()
}

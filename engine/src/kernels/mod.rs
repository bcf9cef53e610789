//! Kernels on columns where they lie: histograms, clusters, matrices, distances. `docs/kernels.md` says what each computes.

pub(crate) mod aggregate;
pub(crate) mod arrays;
pub(crate) mod cluster;
pub(crate) mod gather;
pub(crate) mod matrix;
pub(crate) mod nearest;
pub(crate) mod numeric;
pub(crate) mod precopy;
pub(crate) mod scalar;
pub(crate) mod table_argument;
pub(crate) mod threads;
pub(crate) mod words;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

/// Every kernel under its name in SQL. Those of DataFusion with the same name are replaced.
pub(crate) fn register(context: &SessionContext) {
    scalars().into_iter().for_each(|function| context.register_udf(function));
    aggregates().into_iter().for_each(|function| context.register_udaf(function));
    cluster::tables().into_iter().chain(matrix::tables()).for_each(|(name, function)| context.register_udtf(name, function));
}

fn scalars() -> Vec<ScalarUDF> {
    scalar::all().into_iter().chain(cluster::scalars()).collect()
}

fn aggregates() -> Vec<AggregateUDF> {
    aggregate::all().into_iter().chain(cluster::aggregates()).chain(matrix::aggregates()).collect()
}

//! Descriptive statistics as aggregates: histograms, quantiles, covariances, regression.

mod constants;
mod counts;
mod edges;
mod fractions;
mod function;
mod histogram;
mod moments;
mod quantile;
mod ranked;
mod regression;
mod summary;
mod values;

use datafusion::logical_expr::AggregateUDF;

use fractions::Kind;
use histogram::histogram;
use moments::{Matrix, matrix};
use quantile::quantile;
use regression::linear_regression;

pub use constants::{Argument, ConstantArguments};

pub fn all() -> Vec<AggregateUDF> {
    let quantiles = [quantile(Kind::Cont), quantile(Kind::Disc)];
    let matrices = [matrix(Matrix::Covariances), matrix(Matrix::Correlations)];
    [histogram(), linear_regression()].into_iter().chain(quantiles).chain(matrices).collect()
}

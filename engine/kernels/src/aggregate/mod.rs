//! Aggregates that describe columns: histograms, quantiles, covariances, regression.

mod constants;
mod counts;
mod edges;
mod fractions;
mod histogram;
mod moments;
mod quantile;
mod ranked;
mod regression;
mod summary;
mod values;

use datafusion::common::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{AggregateUDF, DocSection, Documentation, DocumentationBuilder};

use histogram::histogram;
use moments::{Matrix, matrix};
use quantile::{Kind, quantile};
use regression::linear_regression;

use common::error::EngineError;

pub use constants::{Argument, ConstantArguments};

pub fn all() -> Vec<AggregateUDF> {
    let quantiles = [quantile(Kind::Cont), quantile(Kind::Disc)];
    let matrices = [matrix(Matrix::Covariances), matrix(Matrix::Correlations)];
    [histogram(), linear_regression()].into_iter().chain(quantiles).chain(matrices).collect()
}

fn documented(description: &str, syntax: &str) -> DocumentationBuilder {
    let section = DocSection { include: true, label: "Statistics", description: None };
    Documentation::builder(section, description, syntax)
}

/// Of what distinct values would have to be kept for.
fn refuse_distinct(function: &str, args: &AccumulatorArgs<'_>) -> Result<()> {
    match args.is_distinct {
        true => {
            Err(EngineError::unsupported(format!("DISTINCT in {function}"), Some("use (SELECT DISTINCT …) for the rows")).into_datafusion())
        }
        false => Ok(()),
    }
}

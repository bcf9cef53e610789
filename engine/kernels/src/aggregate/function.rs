//! Common parts of the aggregates as SQL functions.

use datafusion::common::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{DocSection, Documentation, DocumentationBuilder};

use common::error::EngineError;

pub fn documented(description: &str, syntax: &str) -> DocumentationBuilder {
    let section = DocSection { include: true, label: "Statistics", description: None };
    Documentation::builder(section, description, syntax)
}

/// For aggregates that would have to keep all distinct values.
pub fn refuse_distinct(function: &str, args: &AccumulatorArgs<'_>) -> Result<()> {
    match args.is_distinct {
        true => {
            Err(EngineError::unsupported(format!("DISTINCT in {function}"), Some("use (SELECT DISTINCT …) for the rows")).into_datafusion())
        }
        false => Ok(()),
    }
}

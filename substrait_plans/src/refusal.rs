//! Why a query, or a part of it, is not pushed down.

use datafusion::common::DataFusionError;

/// What a plan cannot express without changing its meaning, and why. Nothing was encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be put into a plan: {why}")]
pub struct Refusal {
    /// A clause, a function or a type, as users call it.
    pub what: String,
    pub why: String,
}

impl Refusal {
    pub(crate) fn new(what: impl Into<String>, why: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), why: why.into() }
    }
}

/// An expression that does not match its input, or has no type.
impl From<DataFusionError> for Refusal {
    fn from(error: DataFusionError) -> Refusal {
        Refusal::new("an expression of the query", error.strip_backtrace())
    }
}

//! What a process needs to know of its function, and of a call.

use arrow::datatypes::SchemaRef;
use serde::Serialize;

use common::user_functions::FunctionLimits;

/// What the function is called with, and what it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// Arrays of a batch in, an array of as many values out.
    Scalar,
    /// Arrays of a group in, a value out.
    Aggregate,
    /// Values and tables in, a table out.
    Table,
    /// Values in, a table out; it runs statements meanwhile.
    Procedure,
}

impl FunctionKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            FunctionKind::Scalar => "scalar",
            FunctionKind::Aggregate => "aggregate",
            FunctionKind::Table => "table",
            FunctionKind::Procedure => "procedure",
        }
    }
}

/// A function as a process loads it; it serves no other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Definition {
    pub name: String,
    pub kind: FunctionKind,
    /// A function in the source, or a method: `Series.fit`.
    pub symbol: String,
    pub source: String,
    /// The columns of what it is called with: one, or for a table function those of its values and of each table.
    pub inputs: Vec<SchemaRef>,
    pub returns: SchemaRef,
    /// For each parameter of a table function.
    pub is_table: Vec<bool>,
    /// Who calls it; nobody, where the store has no users.
    pub user: Option<String>,
    /// Whose rights its statements have, if not those of the user.
    pub definer: Option<String>,
    pub limits: FunctionLimits,
}

/// What is said about a call besides its arrays.
#[derive(Default, Serialize)]
pub struct Request {
    /// Of the result of a scalar function.
    pub rows: usize,
    /// For an aggregate, where the rows of each group end.
    pub ends: Vec<usize>,
}

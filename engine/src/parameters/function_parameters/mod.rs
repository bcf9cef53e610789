//! Parameters among the arguments of table functions: `FROM kmeans('t', 'x', $1, 10)`.
//!
//! A table function is called while its statement is planned, so values that are put into a finished plan come too late for it. Therefore
//! each statement is planned anew, and `planner` passes the values to the function. If a statement is described without values, as before
//! it is prepared, `slots` gives the type of each parameter and a substitute for it, and `unset` is the table: columns, but no rows.
//!
//! Invariant: a plan that was made without a value never runs: `unset` cannot be scanned.

mod planner;
mod slots;
mod unset;

use std::collections::HashMap;

use arrow::datatypes::FieldRef;
use datafusion::common::metadata::ScalarAndMetadata;
use parking_lot::Mutex;

/// Parameters that were found in arguments: `$1` with its type, which is Null if any type will do.
pub type ArgumentParameters = HashMap<String, FieldRef>;

/// The state of one statement.
#[derive(Debug, Default)]
pub struct FunctionParameters {
    values: Mutex<SlotValues>,
    parameters: Mutex<ArgumentParameters>,
}

#[derive(Debug, Clone, Default)]
enum SlotValues {
    /// The statement runs unchanged.
    #[default]
    Nothing,
    /// The statement does not run.
    Types,
    Values(Vec<ScalarAndMetadata>),
}

impl FunctionParameters {
    /// The statement is planned only to find its parameters and columns.
    pub fn describe(&self) {
        *self.values.lock() = SlotValues::Types;
    }

    /// The statement is planned with these for `$1`, `$2`, …
    pub fn fill(&self, values: Vec<ScalarAndMetadata>) {
        *self.values.lock() = SlotValues::Values(values);
    }

    /// The parameters that the statement's table functions take; known once it is planned.
    pub fn parameters(&self) -> ArgumentParameters {
        self.parameters.lock().clone()
    }
}

//! Parameters among the arguments of table functions: `FROM kmeans('t', 'x', $1, 10)`.
//!
//! A table function is called while its statement is planned, so that values in a plan that is made already come too late for it. Each
//! statement is planned anew, and `planner` gives the function the values themselves. Where a statement is described without values, as
//! before it is prepared, `slots` says of what type each parameter is and what stands in for it, and `unset` is the table: columns, no rows.
//!
//! Invariant: a plan that was made without a value is never run: `unset` has no way to be scanned.

mod planner;
mod slots;
mod unset;

use std::collections::HashMap;

use arrow::datatypes::FieldRef;
use datafusion::common::metadata::ScalarAndMetadata;
use parking_lot::Mutex;

/// Parameters that were found in arguments, `$1` with its type; Null where any will do.
pub type Taken = HashMap<String, FieldRef>;

/// Of one statement.
#[derive(Debug, Default)]
pub struct FunctionParameters {
    given: Mutex<SlotValues>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Clone, Default)]
enum SlotValues {
    /// The statement is run as it is.
    #[default]
    Nothing,
    /// It is not run.
    Types,
    Values(Vec<ScalarAndMetadata>),
}

impl FunctionParameters {
    /// The statement is planned to know what it takes and gives.
    pub fn describe(&self) {
        *self.given.lock() = SlotValues::Types;
    }

    /// The statement is planned with these for `$1`, `$2`, …
    pub fn fill(&self, values: Vec<ScalarAndMetadata>) {
        *self.given.lock() = SlotValues::Values(values);
    }

    /// Those that the statement's table functions take, once it is planned.
    pub fn taken(&self) -> Taken {
        self.taken.lock().clone()
    }
}

//! What a plan must be before anything is made of it: whole, known and in range. An error here knows its exact place.
//!
//! The library takes what it does not understand for something else, or indexes with what the plan says: without this pass a reference
//! to field 7 of 5, a group that is not there or a function without its anchor would be a panic or another query.
//!
//! - `rels.rs` each relation and its parts
//! - `widths.rs` how many columns each has, so that references and emits are in range
//! - `groups.rs` the groupings of an aggregate, as old and as new plans write them
//! - `kinds.rs` which relations are read, and what they may carry
//! - `expressions.rs` expressions, `calls.rs` calls of functions

mod calls;
mod expressions;
mod groups;
mod kinds;
mod rels;
mod widths;

use std::collections::HashMap;

use datafusion::execution::SessionState;

pub use groups::groups_of;
pub use kinds::{Operation, common, join_type, set_op};
pub use widths::{mask, names_of_table};

use super::functions::Finder;
use crate::declared::Declared;
use crate::error::PlanError;
use crate::proto::Plan;
use crate::quirks::Quirks;
use crate::types::TypeReader;
use crate::walk;

/// Columns of one relation. DataFusion finds columns by name, one after the other, so that planning takes their square.
const COLUMNS_MAX: usize = 10_000;
/// Columns of all relations together: a plan of 1 MB can ask for a wide schema again and again.
const COLUMNS_TOTAL_MAX: usize = 100_000;
const RELS_MAX: usize = 2_000;

/// The places of the relations by their addresses, if the plan can be read.
pub fn check(plan: &Plan, state: &SessionState) -> Result<HashMap<usize, String>, PlanError> {
    let (rel, place) = walk::root(plan)?;
    if plan.advanced_extensions.as_ref().is_some_and(|extension| extension.enhancement.is_some()) {
        return Err(PlanError::unsupported("an enhancement, which changes what a plan means,", "advanced_extensions"));
    }
    let declared = Declared::of(plan);
    let quirks = Quirks::of(plan);
    let mut check = Check {
        plan,
        finder: Finder { declared: &declared, quirks, state },
        types: TypeReader { declared: &declared, numbered: quirks.numbered_variations },
        quirks,
        places: HashMap::new(),
        columns: 0,
        outer: Vec::new(),
    };
    check.rel(rel, &place)?;
    Ok(check.places)
}

/// The walk through one plan.
struct Check<'a> {
    plan: &'a Plan,
    finder: Finder<'a>,
    types: TypeReader<'a>,
    quirks: Quirks,
    places: HashMap<usize, String>,
    columns: usize,
    /// The columns that the queries around this one see, the innermost last.
    outer: Vec<usize>,
}

impl Check<'_> {
    fn count_columns(&mut self, columns: usize) -> Result<(), PlanError> {
        if columns > COLUMNS_MAX {
            return Err(PlanError::TooMany { what: "columns in one relation", limit: COLUMNS_MAX });
        }
        self.columns += columns;
        match self.columns > COLUMNS_TOTAL_MAX {
            true => Err(PlanError::TooMany { what: "columns in all relations together", limit: COLUMNS_TOTAL_MAX }),
            false => Ok(()),
        }
    }
}

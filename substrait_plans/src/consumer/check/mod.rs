//! Checks that a plan is complete, known and in range before it is translated. An error here knows its exact position.
//!
//! The library misreads what it does not understand, or uses indices of the plan unchecked. Without this pass a reference to field 7 of 5,
//! a missing group or a function without its anchor would be a panic or another query.
//!
//! - `rels.rs` each relation and its parts
//! - `widths.rs` how many columns each has, so that references and emits are in range
//! - `sizes.rs` how large expressions become when columns are replaced by their definitions
//! - `groups.rs` the groupings of an aggregate, in the older and the newer form
//! - `kinds.rs` which relations are supported, with which fields
//! - `expressions.rs` expressions, `calls.rs` calls of functions

mod calls;
mod expressions;
mod groups;
mod kinds;
mod rels;
mod sizes;
mod widths;

use std::collections::{HashMap, HashSet};

use datafusion::execution::SessionState;

pub use groups::groups_of;
pub use kinds::{Operation, common, join_type, set_op};
pub use widths::{mask, names_of_table};

use super::functions::{Finder, UserFunctions};
use crate::declared::Declared;
use crate::error::PlanError;
use crate::proto::Plan;
use crate::proto::rel::RelType;
use crate::quirks::Quirks;
use crate::types::TypeReader;
use crate::walk;

/// Columns of one relation. DataFusion searches columns by name, one after the other, so planning takes quadratic time.
const COLUMNS_MAX: usize = 10_000;
/// Columns of all relations together: a plan of 1 MB can use a wide schema repeatedly.
const COLUMNS_TOTAL_MAX: usize = 100_000;
const RELS_MAX: usize = 2_000;
/// References to grouping expressions in all relations together: they are packed, so decoding counts a million of them as one field.
const REFERENCES_MAX: usize = 100_000;

/// Returns the paths of the relations by address if the plan is valid.
pub fn check(
    plan: &Plan,
    declared: &Declared,
    state: &SessionState,
    user_functions: &UserFunctions,
) -> Result<HashMap<usize, String>, PlanError> {
    let (rel, place) = walk::root(plan)?;
    let quirks = Quirks::of(plan);
    let mut check = Check {
        bound: walk::bound_parameters(plan),
        finder: Finder { declared, quirks, state, user_functions },
        types: TypeReader { declared, numbered: quirks.numbered_variations },
        quirks,
        places: HashMap::new(),
        columns: 0,
        references: 0,
        growth: 0,
        outer: Vec::new(),
        windows: false,
    };
    check.rel(rel, &place)?;
    Ok(check.places)
}

/// The walk through one plan.
struct Check<'a> {
    /// Parameters that have a value in the plan.
    bound: HashSet<u32>,
    finder: Finder<'a>,
    types: TypeReader<'a>,
    quirks: Quirks,
    places: HashMap<usize, String>,
    columns: usize,
    references: usize,
    /// By how much the expressions become larger than in the plan.
    growth: usize,
    /// The sizes of the columns of the outer queries, the innermost last.
    outer: Vec<Vec<usize>>,
    /// Whether the current expression may have windows.
    windows: bool,
}

impl Check<'_> {
    fn count_columns(&mut self, columns: usize) -> Result<(), PlanError> {
        check_columns(columns)?;
        self.columns += columns;
        match self.columns > COLUMNS_TOTAL_MAX {
            true => Err(PlanError::TooMany { what: "columns in all relations together", limit: COLUMNS_TOTAL_MAX }),
            false => Ok(()),
        }
    }

    fn count_references(&mut self, rel: &RelType) -> Result<(), PlanError> {
        let RelType::Aggregate(aggregate) = rel else { return Ok(()) };
        self.references += aggregate.groupings.iter().map(|grouping| grouping.expression_references.len()).sum::<usize>();
        match self.references > REFERENCES_MAX {
            true => Err(PlanError::TooMany { what: "references to grouping expressions", limit: REFERENCES_MAX }),
            false => Ok(()),
        }
    }
}

fn check_columns(columns: usize) -> Result<(), PlanError> {
    match columns > COLUMNS_MAX {
        true => Err(PlanError::TooMany { what: "columns in one relation", limit: COLUMNS_MAX }),
        false => Ok(()),
    }
}

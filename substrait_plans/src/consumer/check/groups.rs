//! The groupings of an aggregate. Newer plans list the expressions once and refer to them; older plans repeat them in each grouping.

use crate::error::PlanError;
use crate::proto::{AggregateRel, Expression};

/// In an older plan with several groupings all expressions are compared with each other.
const EXPRESSIONS_MAX: usize = 1_000;
/// The rows are grouped again for each set.
const SETS_MAX: usize = 1_000;

/// The grouping expressions, and in which combinations they occur.
#[derive(Debug)]
pub struct Groups<'a> {
    /// The first columns of the result.
    pub expressions: Vec<&'a Expression>,
    /// Each set has sorted indices of expressions. `None` means that all rows are one group.
    pub sets: Vec<Vec<usize>>,
}

/// # Errors
///
/// There are too many sets, a reference is out of range, or an expression is in no grouping.
#[expect(deprecated, reason = "the field of plans before 0.60")]
pub fn groups_of<'a>(aggregate: &'a AggregateRel, place: &dyn std::fmt::Display) -> Result<Groups<'a>, PlanError> {
    if aggregate.groupings.len() > SETS_MAX {
        return Err(PlanError::TooMany { what: "grouping sets", limit: SETS_MAX });
    }
    if !aggregate.grouping_expressions.is_empty() {
        return referenced(aggregate, place);
    }
    if let Some(reference) = aggregate.groupings.iter().flat_map(|grouping| &grouping.expression_references).next() {
        return Err(PlanError::invalid(format!("a reference to grouping expression {reference}, where there are none"), place));
    }
    match aggregate.groupings.as_slice() {
        // The list is used as it is: the same expression twice makes two columns.
        [grouping] => {
            let expressions: Vec<&Expression> = grouping.grouping_expressions.iter().collect();
            let sets = vec![(0..expressions.len()).collect()];
            Ok(Groups { expressions, sets })
        }
        groupings => {
            if groupings.iter().map(|grouping| grouping.grouping_expressions.len()).sum::<usize>() > EXPRESSIONS_MAX {
                return Err(PlanError::TooMany { what: "expressions in grouping sets", limit: EXPRESSIONS_MAX });
            }
            let mut expressions: Vec<&Expression> = Vec::new();
            let mut index_of = |expression: &'a Expression| {
                let position = expressions.iter().position(|other| *other == expression);
                position.unwrap_or_else(|| {
                    expressions.push(expression);
                    expressions.len() - 1
                })
            };
            let sets = groupings.iter().map(|grouping| sorted(grouping.grouping_expressions.iter().map(&mut index_of).collect()));
            let sets = sets.collect();
            Ok(Groups { expressions, sets })
        }
    }
}

fn referenced<'a>(aggregate: &'a AggregateRel, place: &dyn std::fmt::Display) -> Result<Groups<'a>, PlanError> {
    let count = aggregate.grouping_expressions.len();
    let mut is_used = vec![false; count];
    let mut sets = Vec::with_capacity(aggregate.groupings.len());
    for grouping in &aggregate.groupings {
        let mut set = Vec::with_capacity(grouping.expression_references.len());
        for reference in &grouping.expression_references {
            let index = *reference as usize;
            let used = is_used.get_mut(index).ok_or_else(|| {
                PlanError::invalid(format!("a reference to grouping expression {reference}, where there are {count}"), place)
            })?;
            *used = true;
            set.push(index);
        }
        sets.push(sorted(set));
    }
    if let Some(index) = is_used.iter().position(|used| !used) {
        return Err(PlanError::invalid(format!("the grouping expression {index} is in no grouping"), place));
    }
    Ok(Groups { expressions: aggregate.grouping_expressions.iter().collect(), sets })
}

/// Sorts a set and removes duplicates.
fn sorted(mut set: Vec<usize>) -> Vec<usize> {
    set.sort_unstable();
    set.dedup();
    set
}

//! Finds all parameters in the text of a statement, because DataFusion does not plan a WITH that nothing reads.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Value, ValueWithSpan, Visit, Visitor};
use sql::walk::Walk;

/// 1 for `$1`.
pub fn parameter_number(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse().ok()
}

/// The numbers of all parameters in a part of a statement.
pub fn parameter_numbers(part: &impl Visit) -> BTreeSet<usize> {
    let mut numbers = Numbers::default();
    // The visitor never breaks off.
    let _ = part.walk(&mut numbers);
    numbers.0
}

#[derive(Default)]
struct Numbers(BTreeSet<usize>);

impl Visitor for Numbers {
    type Break = ();

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(name) = &value.value {
            self.0.extend(parameter_number(name));
        }
        ControlFlow::Continue(())
    }
}

//! The parameters of a text, wherever they stand in it: DataFusion plans no WITH that nothing reads.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Value, ValueWithSpan, Visit, Visitor};

/// Of `$1` 1.
pub fn parameter_number(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse().ok()
}

/// The numbers of all parameters in a part of a statement.
pub fn parameter_numbers(part: &impl Visit) -> BTreeSet<usize> {
    let mut numbers = Numbers::default();
    // It never breaks off.
    let _ = part.visit(&mut numbers);
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

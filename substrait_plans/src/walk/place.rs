//! Where in a plan something stands.

use std::fmt;

/// One step down: of a `filter`, its `condition`; of a `project`, the third of its `expressions`.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub kind: &'static str,
    pub field: &'static str,
    pub index: Option<usize>,
}

impl Step {
    pub fn to(kind: &'static str, field: &'static str) -> Step {
        Step { kind, field, index: None }
    }

    pub fn nth(kind: &'static str, field: &'static str, index: usize) -> Step {
        Step { kind, field, index: Some(index) }
    }
}

/// A list from here up to the root, that lives on the stack of who walks: most places are never shown.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    above: Option<&'a Place<'a>>,
    step: Step,
}

impl<'a> Place<'a> {
    /// The relation at the root.
    pub fn root() -> Place<'static> {
        Place { above: None, step: Step::to("relations[0].root", "input") }
    }

    pub fn at(&'a self, step: Step) -> Place<'a> {
        Place { above: Some(self), step }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            write!(f, "{above}.")?;
        }
        let Step { kind, field, index } = self.step;
        match (field, index) {
            ("", _) => write!(f, "{kind}"),
            (field, None) => write!(f, "{kind}.{field}"),
            (field, Some(index)) => write!(f, "{kind}.{field}[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_the_fields_that_lead_to_it() {
        let root = Place::root();
        let filter = root.at(Step::to("filter", "condition"));
        let argument = filter.at(Step::nth("scalar_function", "arguments", 1));
        assert_eq!(argument.to_string(), "relations[0].root.input.filter.condition.scalar_function.arguments[1]");
    }
}

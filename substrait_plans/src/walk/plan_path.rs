//! The path to a node of a plan, for error messages.

use std::fmt;

/// One step down: the `condition` of a `filter`, or the third of the `expressions` of a `project`.
#[derive(Debug, Clone, Copy)]
pub struct PathStep {
    pub kind: &'static str,
    pub field: &'static str,
    pub index: Option<usize>,
}

impl PathStep {
    pub fn to(kind: &'static str, field: &'static str) -> PathStep {
        PathStep { kind, field, index: None }
    }

    pub fn nth(kind: &'static str, field: &'static str, index: usize) -> PathStep {
        PathStep { kind, field, index: Some(index) }
    }
}

/// A linked list from a node up to the root, on the stack of the walk: most paths are never shown.
#[derive(Debug, Clone, Copy)]
pub struct PlanPath<'a> {
    above: Option<&'a PlanPath<'a>>,
    step: PathStep,
}

impl<'a> PlanPath<'a> {
    /// The relation at the root.
    pub fn root() -> PlanPath<'static> {
        PlanPath { above: None, step: PathStep::to("relations[0].root", "input") }
    }

    pub fn at(&'a self, step: PathStep) -> PlanPath<'a> {
        PlanPath { above: Some(self), step }
    }
}

impl fmt::Display for PlanPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            write!(f, "{above}.")?;
        }
        let PathStep { kind, field, index } = self.step;
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
        let root = PlanPath::root();
        let filter = root.at(PathStep::to("filter", "condition"));
        let argument = filter.at(PathStep::nth("scalar_function", "arguments", 1));
        assert_eq!(argument.to_string(), "relations[0].root.input.filter.condition.scalar_function.arguments[1]");
    }
}

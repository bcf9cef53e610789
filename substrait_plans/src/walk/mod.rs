//! A plan as a tree: the parts of each relation and expression, with their paths in the plan.
//!
//! - `plan_path.rs` the path for error messages: `relations[0].root.input.filter.condition`
//! - `parts.rs` the parts of a relation; missing required parts are errors
//! - `expressions.rs` the parts of an expression
//! - `queries.rs` answers questions of front ends: the tables and parameters of a plan
//!
//! Decoding has limited the depth of a plan, so the functions here may be recursive.

mod expressions;
mod parts;
mod plan_path;
mod queries;

pub use expressions::{kind_of_expression, parts_of_expression};
pub use parts::{kind_of_rel, parts_of_rel};
pub use plan_path::{PathStep, PlanPath};
pub use queries::{bound_parameters, tables, tables_of, typed_parameters};

use crate::error::PlanError;
use crate::proto::{Expression, Plan, Rel, plan_rel};

/// A relation or an expression within another one.
#[derive(Clone, Copy)]
pub enum PlanPart<'a> {
    Rel(&'a Rel),
    Expression(&'a Expression),
}

/// The parts of a node, each with the step that leads to it.
pub type Parts<'a> = Vec<(PathStep, PlanPart<'a>)>;

/// The relation at the root of a plan, with its path.
pub fn root(plan: &Plan) -> Result<(&Rel, PlanPath<'static>), PlanError> {
    let root = plan.relations.first().and_then(|relation| match &relation.rel_type {
        Some(plan_rel::RelType::Root(root)) => root.input.as_ref(),
        _ => None,
    });
    let rel = root.ok_or_else(|| PlanError::missing("a root", "relations"))?;
    Ok((rel, PlanPath::root()))
}

/// Visits every relation and expression of a plan that runs, each before its parts. Missing parts are skipped, and so are best-effort
/// filters: they are not translated, so a table or parameter that occurs only there is not needed.
pub fn each<'a>(plan: &'a Plan, visit: &mut dyn FnMut(PlanPart<'a>)) {
    if let Ok((rel, place)) = root(plan) {
        each_below(PlanPart::Rel(rel), &place, visit);
    }
}

fn each_below<'a>(part: PlanPart<'a>, place: &PlanPath<'_>, visit: &mut dyn FnMut(PlanPart<'a>)) {
    visit(part);
    let parts = match part {
        PlanPart::Rel(rel) => parts_of_rel(rel, place),
        PlanPart::Expression(expression) => parts_of_expression(expression, place),
    };
    for (step, part) in parts.unwrap_or_default().into_iter().filter(|(step, _)| step.field != "best_effort_filter") {
        each_below(part, &place.at(step), visit);
    }
}

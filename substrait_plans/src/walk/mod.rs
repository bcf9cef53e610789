//! A plan as a tree: what each relation and expression is made of, and where in the plan it stands.
//!
//! - `plan_path.rs` the place, as errors name it: `relations[0].root.input.filter.condition`
//! - `parts.rs` the parts of a relation, with those that must be there and are not as errors
//! - `expressions.rs` the parts of an expression
//! - `queries.rs` what front ends ask of a plan: its tables and its parameters
//!
//! Decoding has bounded the depth of a plan, so that the functions here may call themselves.

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

/// The parts of something, each with the step that leads to it.
pub type Parts<'a> = Vec<(PathStep, PlanPart<'a>)>;

/// The relation at the root of a plan, with its place.
pub fn root(plan: &Plan) -> Result<(&Rel, PlanPath<'static>), PlanError> {
    let root = plan.relations.first().and_then(|relation| match &relation.rel_type {
        Some(plan_rel::RelType::Root(root)) => root.input.as_ref(),
        _ => None,
    });
    let rel = root.ok_or_else(|| PlanError::missing("a root", "relations"))?;
    Ok((rel, PlanPath::root()))
}

/// Visits every relation and expression of a plan that is run, each before its parts. Parts that are missing are left out, and so are
/// best-effort filters: nothing is made of them, so that a table or a parameter only there is not asked for.
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

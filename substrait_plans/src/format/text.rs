//! Plans as text. The format of the library substrait-explain can be parsed again, but silently omits what it cannot express: DISTINCT and
//! FILTER of aggregates, for example. So it is used only if parsing it returns the same plan.

use std::panic::{AssertUnwindSafe, catch_unwind};

use substrait_explain::OutputOptions;

use super::outline;
use crate::error::PlanError;
use crate::proto::Plan;

pub fn write(plan: &Plan) -> String {
    exact(plan).unwrap_or_else(|| outline::of(plan))
}

/// The library's text, if it is complete.
fn exact(plan: &Plan) -> Option<String> {
    // The library makes assumptions that a foreign plan need not satisfy, and may panic.
    let written = catch_unwind(AssertUnwindSafe(|| {
        let (text, errors) = substrait_explain::format_with_options(plan, &OutputOptions::verbose());
        (errors.is_empty() && substrait_explain::parse(&text).is_ok_and(|read| read == *plan)).then_some(text)
    }));
    written.ok().flatten()
}

pub fn read(bytes: &[u8]) -> Result<Plan, PlanError> {
    let malformed = |what: String| PlanError::Malformed { what };
    let text = std::str::from_utf8(bytes).map_err(|error| malformed(format!("as text, {error}")))?;
    if text.trim_start().starts_with(outline::BEGINNING) {
        let what = "it is an outline, which leaves things out; write the plan with --format json or binary".to_string();
        return Err(malformed(what));
    }
    let read = catch_unwind(AssertUnwindSafe(|| substrait_explain::parse(text).map_err(|error| error.to_string())));
    let plan = read.unwrap_or_else(|_| Err("it cannot be read".to_string())).map_err(|error| malformed(format!("as text, {error}")))?;
    match exact(&plan) {
        Some(_) => Ok(plan),
        None => Err(malformed("as text it does not say everything that a plan has; write it as JSON".to_string())),
    }
}

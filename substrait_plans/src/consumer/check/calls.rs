//! Checks function calls: the anchor is known, and the number of arguments fits.

use super::Check;
use crate::consumer::exprs::sort_direction;
use crate::consumer::functions::{Finder, check_phase};
use crate::error::PlanError;
use crate::proto::expression::{ScalarFunction, WindowFunction};
use crate::proto::rel::RelType;
use crate::walk::PlanPath;

#[expect(deprecated, reason = "the field of plans before 0.3")]
pub fn scalar(finder: &Finder<'_>, call: &ScalarFunction, place: &PlanPath<'_>) -> Result<(), PlanError> {
    let function = finder.scalar(call.function_reference, place)?;
    function.check_arity(call.arguments.len().max(call.args.len()), place)
}

#[expect(deprecated, reason = "the field of plans before 0.3")]
pub fn window(finder: &Finder<'_>, call: &WindowFunction, place: &PlanPath<'_>) -> Result<(), PlanError> {
    check_phase(call.phase, place)?;
    let function = finder.window(call.function_reference, place)?;
    function.check_arity(call.arguments.len().max(call.args.len()), place)
}

impl Check<'_> {
    /// Checks the calls and the sorts that belong to the relation itself.
    #[expect(deprecated, reason = "the field of plans before 0.3")]
    pub fn calls_of(&self, rel: &RelType, place: &PlanPath<'_>) -> Result<(), PlanError> {
        match rel {
            RelType::Aggregate(aggregate) => {
                for call in aggregate.measures.iter().filter_map(|measure| measure.measure.as_ref()) {
                    check_phase(call.phase, place)?;
                    let function = self.finder.aggregate(call.function_reference, place)?;
                    function.check_arity(call.arguments.len().max(call.args.len()), place)?;
                    call.sorts.iter().try_for_each(|sort| sort_direction(sort, place).map(|_| ()))?;
                }
                Ok(())
            }
            RelType::Window(window) => {
                for call in &window.window_functions {
                    check_phase(call.phase, place)?;
                    self.finder.window(call.function_reference, place)?.check_arity(call.arguments.len(), place)?;
                }
                window.sorts.iter().try_for_each(|sort| sort_direction(sort, place).map(|_| ()))
            }
            RelType::Sort(sort) => sort.sorts.iter().try_for_each(|sort| sort_direction(sort, place).map(|_| ())),
            _ => Ok(()),
        }
    }
}

//! Each relation: its inputs, then how many columns it has, then its expressions, then what it emits.

use super::{Check, RELS_MAX, kinds, widths};
use crate::error::PlanError;
use crate::proto::Rel;
use crate::walk::{Part, Place, parts_of_rel};

impl Check<'_> {
    /// The number of columns that the relation gives.
    pub fn rel(&mut self, rel: &Rel, place: &Place<'_>) -> Result<usize, PlanError> {
        if self.places.len() == RELS_MAX {
            return Err(PlanError::TooMany { what: "relations", limit: RELS_MAX });
        }
        self.places.insert(std::ptr::from_ref(rel) as usize, place.to_string());
        let kind = rel.rel_type.as_ref().ok_or_else(|| PlanError::missing("the kind of the relation", place))?;
        kinds::check(kind, place)?;
        let parts = parts_of_rel(rel, place)?;
        let mut inputs = Vec::new();
        for (step, part) in &parts {
            if let Part::Rel(input) = part {
                inputs.push(self.rel(input, &place.at(*step))?);
            }
        }
        let direct = self.direct_width(kind, &inputs, place)?;
        self.count_columns(direct)?;
        for (step, part) in &parts {
            if let Part::Expression(expression) = part {
                let scope = widths::scope(kind, step.field, &inputs, direct);
                self.expression(expression, scope, &place.at(*step))?;
            }
        }
        self.calls_of(kind, place)?;
        let width = widths::emitted(kinds::common(kind), direct, place)?;
        self.count_columns(width)?;
        Ok(width)
    }
}

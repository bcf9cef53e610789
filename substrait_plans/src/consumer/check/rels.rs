//! Checks each relation: its inputs, its number of columns, its expressions, and what it emits.

use super::{Check, RELS_MAX, kinds, sizes, widths};
use crate::error::PlanError;
use crate::proto::Rel;
use crate::proto::rel::RelType;
use crate::walk::{PlanPart, PlanPath, parts_of_rel};

impl Check<'_> {
    /// Returns the sizes of the columns that the relation emits.
    pub fn rel(&mut self, rel: &Rel, place: &PlanPath<'_>) -> Result<Vec<usize>, PlanError> {
        if self.places.len() == RELS_MAX {
            return Err(PlanError::TooMany { what: "relations", limit: RELS_MAX });
        }
        self.places.insert(std::ptr::from_ref(rel) as usize, place.to_string());
        let kind = rel.rel_type.as_ref().ok_or_else(|| PlanError::missing("the kind of the relation", place))?;
        kinds::check(kind, place)?;
        let parts = parts_of_rel(rel, place)?;
        let mut inputs = Vec::new();
        for (step, part) in &parts {
            if let PlanPart::Rel(input) = part {
                inputs.push(self.rel(input, &place.at(*step))?);
            }
        }
        self.count_references(kind)?;
        let widths: Vec<usize> = inputs.iter().map(Vec::len).collect();
        let direct = self.direct_width(kind, &widths, place)?;
        self.count_columns(direct)?;
        let scopes = self.scopes(kind, &inputs, direct, place)?;
        let mut expression_sizes = Vec::new();
        for (step, part) in &parts {
            if let PlanPart::Expression(expression) = part {
                let scope = scopes.of(step.field);
                self.windows = matches!(kind, RelType::Project(_));
                let place = place.at(*step);
                let size = self.expression(expression, scope, &place)?;
                self.count_growth(kind, size, &place)?;
                if sizes::become_columns(kind, step.field) {
                    expression_sizes.push(size.whole);
                }
            }
        }
        self.calls_of(kind, place)?;
        let width = widths::emitted(kinds::common(kind), direct, place)?;
        self.count_columns(width)?;
        let direct = self.sizes(kind, &inputs, &expression_sizes, direct, place)?;
        Ok(sizes::emitted(kind, direct))
    }
}

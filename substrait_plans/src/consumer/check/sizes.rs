//! The sizes of expressions after DataFusion replaces columns by their definitions, as it does when it moves a filter below a projection:
//! above `x + x`, `y + y` and `z + z`, a filter contains z 8 times. The size doubles with each relation, while the plan hardly grows.

use super::Check;
use super::kinds::{self, Sides};
use super::widths::base_width;
use crate::error::PlanError;
use crate::proto::expression::RexType;
use crate::proto::rel::RelType;
use crate::proto::rel_common::EmitKind;
use crate::walk::PlanPath;

/// The maximum growth of all expressions together beyond the plan, in nodes; it takes some seconds of planning.
const GROWTH_MAX: usize = 100_000;

/// The size of an expression in nodes.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// The size after all columns are replaced by their definitions.
    pub whole: usize,
    /// The part of that which is not in the expression itself.
    pub growth: usize,
}

impl Size {
    pub const ONE: Size = Size { whole: 1, growth: 0 };

    /// The size of a reference to a column with this definition.
    pub fn of_column(whole: usize) -> Size {
        Size { whole, growth: whole.saturating_sub(1) }
    }

    pub fn add(&mut self, part: Size) {
        self.whole = self.whole.saturating_add(part.whole);
        self.growth = self.growth.saturating_add(part.growth);
    }

    /// The size of an expression with all its parts. A window becomes a column first, so it is not copied.
    pub fn copy_size(self, kind: &RexType) -> Size {
        if matches!(kind, RexType::WindowFunction(_)) { Size::ONE } else { self }
    }
}

impl Check<'_> {
    /// Counts an expression of the relation. Those of projections are not moved, and count only in the expressions above them.
    pub fn count_growth(&mut self, rel: &RelType, size: Size, place: &PlanPath<'_>) -> Result<(), PlanError> {
        if matches!(rel, RelType::Project(_)) {
            return Ok(());
        }
        self.growth = self.growth.saturating_add(size.growth);
        match self.growth > GROWTH_MAX {
            true => Err(PlanError::TooIntricate { limit: GROWTH_MAX, place: place.to_string() }),
            false => Ok(()),
        }
    }

    /// The sizes of the `direct` columns of a relation before it emits; `expression_sizes` has those of expressions that become columns.
    pub fn sizes(
        &self,
        rel: &RelType,
        inputs: &[Vec<usize>],
        expression_sizes: &[usize],
        direct: usize,
        place: &PlanPath<'_>,
    ) -> Result<Vec<usize>, PlanError> {
        let mut sizes = match (rel, inputs) {
            (RelType::Project(_), _) if expression_sizes.len() == direct => expression_sizes.to_vec(),
            (RelType::Project(_), _) => [inputs.concat().as_slice(), expression_sizes].concat(),
            // Older plans repeat the grouping expressions, so there are more expressions than columns.
            (RelType::Aggregate(aggregate), _) if aggregate.grouping_expressions.is_empty() && aggregate.groupings.len() > 1 => {
                vec![expression_sizes.iter().copied().max().unwrap_or(1); expression_sizes.len().min(direct)]
            }
            (RelType::Aggregate(_), _) => expression_sizes.to_vec(),
            (RelType::Join(join), [left, right]) => match kinds::join_type(join.r#type, self.quirks, place)?.sides {
                Sides::Both => inputs.concat(),
                Sides::Left | Sides::LeftAndMark => left.clone(),
                Sides::Right | Sides::RightAndMark => right.clone(),
            },
            // A filter of a set operation becomes a filter of each input.
            (RelType::Set(_), _) => {
                (0..direct).map(|column| inputs.iter().filter_map(|input| input.get(column)).copied().max().unwrap_or(1)).collect()
            }
            (RelType::ExtensionMulti(_), _) => Vec::new(),
            _ => inputs.concat(),
        };
        // Columns of tables, measures, windows and marks.
        sizes.resize(direct, 1);
        Ok(sizes)
    }
}

/// The sizes of the columns that the expressions of a relation see.
pub struct Scopes {
    most: Vec<usize>,
    /// The fields of the relation whose expressions see other columns.
    fields: &'static [&'static str],
    others: Vec<usize>,
}

impl Scopes {
    pub fn of(&self, field: &str) -> &[usize] {
        if self.fields.contains(&field) { &self.others } else { &self.most }
    }
}

impl Check<'_> {
    pub fn scopes(&self, rel: &RelType, inputs: &[Vec<usize>], direct: usize, place: &PlanPath<'_>) -> Result<Scopes, PlanError> {
        Ok(match rel {
            // Values in the plan do not see columns.
            RelType::Read(read) => {
                let others = vec![1; read.base_schema.as_ref().map_or(0, base_width)];
                Scopes { most: Vec::new(), fields: &["filter", "best_effort_filter"], others }
            }
            RelType::Fetch(_) => Scopes { most: Vec::new(), fields: &[], others: Vec::new() },
            RelType::Join(_) => {
                let others = self.sizes(rel, inputs, &[], direct, place)?;
                Scopes { most: inputs.concat(), fields: &["post_join_filter"], others }
            }
            _ => Scopes { most: inputs.concat(), fields: &[], others: Vec::new() },
        })
    }
}

/// The sizes of the columns that a relation emits; the indices have been checked.
pub fn emitted(rel: &RelType, direct: Vec<usize>) -> Vec<usize> {
    let Some(EmitKind::Emit(emit)) = kinds::common(rel).and_then(|common| common.emit_kind.as_ref()) else { return direct };
    let size = |index: &i32| usize::try_from(*index).ok().and_then(|index| direct.get(index)).copied().unwrap_or(1);
    emit.output_mapping.iter().map(size).collect()
}

/// Whether the expressions in `field` of a relation become columns.
pub fn become_columns(rel: &RelType, field: &str) -> bool {
    match rel {
        RelType::Project(_) => field == "expressions",
        RelType::Aggregate(_) => field.ends_with("grouping_expressions"),
        _ => false,
    }
}

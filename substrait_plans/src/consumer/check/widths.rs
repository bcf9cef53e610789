//! The number of columns of a relation, before and after it emits.

use engine::TableFunction;

use super::kinds::{self, Sides};
use super::{Check, check_columns, groups_of};
use crate::error::PlanError;
use crate::proto::expression::MaskExpression;
use crate::proto::read_rel::{NamedTable, ReadType};
use crate::proto::rel::RelType;
use crate::proto::rel_common::EmitKind;
use crate::proto::{ExtensionMultiRel, NamedStruct, ReadRel, RelCommon, SetRel};
use crate::user_functions::TableFunctionCall;
use crate::walk::PlanPath;

/// The maximum number of inputs of an EXCEPT or INTERSECT: each makes the plan one join deeper.
const SETS_MAX: usize = 64;

impl Check<'_> {
    /// The number of columns of a relation before it emits.
    pub fn direct_width(&mut self, kind: &RelType, inputs: &[usize], place: &PlanPath<'_>) -> Result<usize, PlanError> {
        let all = inputs.iter().sum::<usize>();
        Ok(match kind {
            RelType::Read(read) => self.read_width(read, place)?,
            RelType::Project(project) if self.quirks.project_drops_input && !kinds::emits(project.common.as_ref()) => {
                project.expressions.len()
            }
            RelType::Project(project) => all + project.expressions.len(),
            RelType::Aggregate(aggregate) => {
                let groups = groups_of(aggregate, place)?;
                let index = usize::from(groups.sets.len() > 1 && !self.quirks.no_set_index);
                let width = groups.expressions.len() + aggregate.measures.len();
                if width == 0 {
                    return Err(PlanError::invalid("an aggregate with neither a group nor a measure", place));
                }
                width + index
            }
            RelType::Join(join) => match (kinds::join_type(join.r#type, self.quirks, place)?.sides, inputs) {
                (Sides::Left, [left, _]) => *left,
                (Sides::Right, [_, right]) => *right,
                (Sides::LeftAndMark, [left, _]) => left + 1,
                (Sides::RightAndMark, [_, right]) => right + 1,
                _ => all,
            },
            RelType::Set(set) => set_width(set, inputs, place)?,
            RelType::ExtensionMulti(call) => self.table_function_width(call, inputs, place)?,
            RelType::Window(window) => all + window.window_functions.len(),
            _ => all,
        })
    }

    /// The function is known, and has the inputs that it takes.
    fn table_function_width(&self, rel: &ExtensionMultiRel, inputs: &[usize], place: &PlanPath<'_>) -> Result<usize, PlanError> {
        let call = TableFunctionCall::of_rel(rel).ok_or_else(|| PlanError::missing("\"detail\"", place))?;
        let function = self.finder.table_function(call.function_reference, place)?;
        let TableFunction { values, table_count, columns, .. } = function.form.as_ref();
        let values = values.len();
        let named = call.tables.iter().map(|table| table.names.len());
        let with_values = (values > 0).then_some(values).into_iter();
        if !inputs.iter().copied().eq(with_values.chain(named)) || call.tables.len() != *table_count {
            return Err(PlanError::invalid(format!("a call of \"{}\" with other inputs than it takes", function.shown), place));
        }
        Ok(columns.fields().len())
    }

    fn read_width(&mut self, read: &ReadRel, place: &PlanPath<'_>) -> Result<usize, PlanError> {
        let schema = read.base_schema.as_ref().ok_or_else(|| PlanError::missing("\"base_schema\"", place))?;
        self.types.fields(schema, place)?;
        let width = base_width(schema);
        match &read.read_type {
            Some(ReadType::NamedTable(table)) => {
                names_of_table(table, place)?;
            }
            Some(ReadType::VirtualTable(table)) => {
                #[expect(deprecated, reason = "the rows of plans before 0.60")]
                let rows = table.expressions.iter().map(|row| row.fields.len()).chain(table.values.iter().map(|row| row.fields.len()));
                if let Some(fields) = rows.into_iter().find(|fields| *fields != width) {
                    return Err(PlanError::invalid(format!("a row of {fields} values where the schema has {width} columns"), place));
                }
            }
            Some(_) => return Err(PlanError::unsupported("reading anything but named tables and rows in the plan", place)),
            None => return Err(PlanError::missing("the table to read", place)),
        }
        mask(read.projection.as_ref(), width, place).map(|mask| mask.map_or(width, |mask| mask.len()))
    }
}

/// The indices of the columns that remain.
pub fn emitted(common: Option<&RelCommon>, direct: usize, place: &PlanPath<'_>) -> Result<usize, PlanError> {
    let Some(EmitKind::Emit(emit)) = common.and_then(|common| common.emit_kind.as_ref()) else { return Ok(direct) };
    // Each index takes only a byte or two in a plan.
    check_columns(emit.output_mapping.len())?;
    for index in &emit.output_mapping {
        in_range(*index, direct, "an emit of", place)?;
    }
    Ok(emit.output_mapping.len())
}

/// Checks an index of the plan.
pub fn in_range(index: i32, width: usize, what: &str, place: &dyn std::fmt::Display) -> Result<usize, PlanError> {
    let index_in_range = usize::try_from(index).ok().filter(|index| *index < width);
    index_in_range.ok_or_else(|| PlanError::invalid(format!("{what} field {index}, where there are {width}"), place))
}

/// A table has one to three names.
pub fn names_of_table<'a>(table: &'a NamedTable, place: &dyn std::fmt::Display) -> Result<&'a [String], PlanError> {
    match table.names.as_slice() {
        [] => Err(PlanError::missing("the name of the table", place)),
        names @ ([_] | [_, _] | [_, _, _]) => Ok(names),
        names => Err(PlanError::invalid(format!("a table's name of {} parts, where one to three are possible", names.len()), place)),
    }
}

/// The columns that the projection of a read keeps; `None` for all of them.
pub fn mask(mask: Option<&MaskExpression>, width: usize, place: &dyn std::fmt::Display) -> Result<Option<Vec<usize>>, PlanError> {
    let Some(select) = mask.and_then(|mask| mask.select.as_ref()) else { return Ok(None) };
    let columns = select.struct_items.iter().map(|item| match item.child {
        None => in_range(item.field, width, "a projection of", place),
        Some(_) => Err(PlanError::unsupported("a projection of a part of a column", place)),
    });
    columns.collect::<Result<_, _>>().map(Some)
}

pub fn base_width(schema: &NamedStruct) -> usize {
    schema.r#struct.as_ref().map_or(0, |columns| columns.types.len())
}

fn set_width(set: &SetRel, inputs: &[usize], place: &PlanPath<'_>) -> Result<usize, PlanError> {
    let op = kinds::set_op(set, place)?;
    match inputs {
        [] | [_] => Err(PlanError::invalid("a set operation with fewer than two inputs", place)),
        [first, ..] => {
            if let Some(other) = inputs.iter().find(|width| *width != first) {
                return Err(PlanError::invalid(format!("a set operation of inputs with {first} and with {other} columns"), place));
            }
            if !op.is_union() && inputs.len() > SETS_MAX {
                return Err(PlanError::TooMany { what: "inputs of one set operation", limit: SETS_MAX });
            }
            Ok(*first)
        }
    }
}

//! The columns that a relation emits, if they are not obvious.

use crate::proto::rel::RelType;
use crate::proto::rel_common::EmitKind;
use crate::proto::{AggregateRel, JoinRel, ProjectRel, ReadRel, Rel, RelCommon, join_rel::JoinType};

/// The emitted columns, if they differ from the expected ones: the expressions of a project, and all columns of others.
pub fn emitted(common: Option<&RelCommon>, rel: &Rel) -> String {
    let expressions = match &rel.rel_type {
        Some(RelType::Project(project)) => Some(project.as_ref()),
        _ => None,
    };
    match (common.and_then(|common| common.emit_kind.as_ref()), expressions) {
        (Some(EmitKind::Emit(emit)), Some(project)) if is_only_expressions(&emit.output_mapping, project) => String::new(),
        (Some(EmitKind::Emit(emit)), _) => {
            let columns: Vec<String> = emit.output_mapping.iter().map(|column| format!("${column}")).collect();
            format!(" => [{}]", columns.join(", "))
        }
        (_, Some(_)) => " beside all columns".to_string(),
        _ => String::new(),
    }
}

/// Whether exactly the columns after those of the input are emitted, in order. If the width of the input is unknown, all columns are
/// listed.
fn is_only_expressions(mapping: &[i32], project: &ProjectRel) -> bool {
    let Some(before) = project.input.as_deref().and_then(width_of) else { return false };
    let places = mapping.iter().map(|place| usize::try_from(*place).ok());
    places.eq((before..before + project.expressions.len()).map(Some))
}

/// The number of columns. `None` if that is unknown or would be a guess.
fn width_of(rel: &Rel) -> Option<usize> {
    match rel.rel_type.as_ref()? {
        RelType::Read(read) => put_out(read.common.as_ref(), || of_read(read)),
        RelType::Project(project) => {
            put_out(project.common.as_ref(), || Some(of_input(project.input.as_deref())? + project.expressions.len()))
        }
        RelType::Filter(filter) => put_out(filter.common.as_ref(), || of_input(filter.input.as_deref())),
        RelType::Fetch(fetch) => put_out(fetch.common.as_ref(), || of_input(fetch.input.as_deref())),
        RelType::Sort(sort) => put_out(sort.common.as_ref(), || of_input(sort.input.as_deref())),
        RelType::Aggregate(aggregate) => put_out(aggregate.common.as_ref(), || of_aggregate(aggregate)),
        RelType::Join(join) => put_out(join.common.as_ref(), || of_join(join)),
        RelType::Cross(cross) => {
            put_out(cross.common.as_ref(), || Some(of_input(cross.left.as_deref())? + of_input(cross.right.as_deref())?))
        }
        RelType::Window(window) => {
            put_out(window.common.as_ref(), || Some(of_input(window.input.as_deref())? + window.window_functions.len()))
        }
        RelType::Set(set) => put_out(set.common.as_ref(), || of_input(set.inputs.first())),
        _ => None,
    }
}

fn put_out(common: Option<&RelCommon>, all: impl FnOnce() -> Option<usize>) -> Option<usize> {
    match common.and_then(|common| common.emit_kind.as_ref()) {
        Some(EmitKind::Emit(emit)) => Some(emit.output_mapping.len()),
        Some(EmitKind::Direct(_)) | None => all(),
    }
}

fn of_input(input: Option<&Rel>) -> Option<usize> {
    width_of(input?)
}

fn of_read(read: &ReadRel) -> Option<usize> {
    match read.projection.as_ref().and_then(|mask| mask.select.as_ref()) {
        Some(select) => Some(select.struct_items.len()),
        None => Some(read.base_schema.as_ref()?.r#struct.as_ref()?.types.len()),
    }
}

/// With several grouping sets an extra column has the index of the set; in the older form a key may be in several sets.
fn of_aggregate(aggregate: &AggregateRel) -> Option<usize> {
    let keys = match aggregate.groupings.as_slice() {
        [] => 0,
        [grouping] => old_keys(grouping).max(aggregate.grouping_expressions.len()),
        groupings if groupings.iter().all(|grouping| old_keys(grouping) == 0) => aggregate.grouping_expressions.len() + 1,
        _ => return None,
    };
    Some(keys + aggregate.measures.len())
}

#[expect(deprecated, reason = "plans of before 0.58")]
fn old_keys(grouping: &crate::proto::aggregate_rel::Grouping) -> usize {
    grouping.grouping_expressions.len()
}

fn of_join(join: &JoinRel) -> Option<usize> {
    let (left, right) = (of_input(join.left.as_deref()), of_input(join.right.as_deref()));
    match JoinType::try_from(join.r#type).ok()? {
        JoinType::LeftSemi | JoinType::LeftAnti => left,
        JoinType::RightSemi | JoinType::RightAnti => right,
        JoinType::LeftMark => Some(left? + 1),
        JoinType::RightMark => Some(right? + 1),
        _ => Some(left? + right?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::rel_common::Emit;
    use crate::proto::{Expression, NamedStruct, Type, r#type};

    fn project(input: Rel, mapping: &[i32]) -> Rel {
        let emit_kind = Some(EmitKind::Emit(Emit { output_mapping: mapping.to_vec() }));
        let common = Some(RelCommon { emit_kind, ..RelCommon::default() });
        let expressions = vec![Expression::default(); 2];
        Rel {
            rel_type: Some(RelType::Project(Box::new(ProjectRel {
                common,
                input: Some(Box::new(input)),
                expressions,
                ..ProjectRel::default()
            }))),
        }
    }

    fn emitted_text(rel: &Rel) -> String {
        match &rel.rel_type {
            Some(RelType::Project(project)) => emitted(project.common.as_ref(), rel),
            _ => String::new(),
        }
    }

    #[test]
    fn of_a_project_that_gives_something_else_than_its_expressions_all_is_said() {
        let types = vec![Type::default(); 2];
        let schema =
            NamedStruct { names: vec!["a".into(), "b".into()], r#struct: Some(r#type::Struct { types, ..r#type::Struct::default() }) };
        let read = || Rel { rel_type: Some(RelType::Read(Box::new(ReadRel { base_schema: Some(schema.clone()), ..ReadRel::default() }))) };
        for (mapping, expected) in [([2, 3], ""), ([0, 1], " => [$0, $1]"), ([1, 2], " => [$1, $2]"), ([3, 2], " => [$3, $2]")] {
            assert_eq!(emitted_text(&project(read(), &mapping)), expected);
        }
        assert_eq!(emitted_text(&project(project(read(), &[1, 2, 3]), &[3, 4])), "");
        // The width of such an input is unknown.
        assert_eq!(emitted_text(&project(Rel::default(), &[0, 1])), " => [$0, $1]");
    }
}

//! Which relations, joins and set operations are supported, and which of their other fields.

use datafusion::logical_expr::JoinType;

use crate::error::PlanError;
use crate::proto::extensions::AdvancedExtension;
use crate::proto::join_rel::JoinType as Written;
use crate::proto::rel::RelType;
use crate::proto::rel_common::EmitKind;
use crate::proto::set_rel::SetOp;
use crate::proto::{RelCommon, SetRel, read_rel};
use crate::quirks::Quirks;
use crate::user_functions::TableFunctionCall;
use crate::walk::kind_of_rel;

/// Refuses relations that are not supported, and those with a field that changes their meaning.
pub fn check(rel: &RelType, place: &dyn std::fmt::Display) -> Result<(), PlanError> {
    let what = match rel {
        RelType::Write(_) | RelType::Update(_) | RelType::Ddl(_) => Some("a plan that changes tables, which only SQL does,".to_string()),
        RelType::Reference(_) => Some("a reference to another part of the plan".to_string()),
        RelType::ExtensionMulti(call) if TableFunctionCall::of_rel(call).is_some() => None,
        RelType::ExtensionLeaf(_) | RelType::ExtensionSingle(_) | RelType::ExtensionMulti(_) => {
            Some(format!("the relation \"{}\", which is of an extension,", kind_of_rel(rel)))
        }
        RelType::HashJoin(_) | RelType::MergeJoin(_) | RelType::NestedLoopJoin(_) | RelType::Expand(_) => {
            Some(format!("the physical relation \"{}\"", kind_of_rel(rel)))
        }
        _ => None,
    };
    if let Some(what) = what {
        return Err(PlanError::unsupported(what, place));
    }
    let common = common(rel).and_then(|common| common.advanced_extension.as_ref());
    for extension in [common, own(rel), of_table(rel)].into_iter().flatten() {
        if let Some(enhancement) = &extension.enhancement {
            let name: String = enhancement.type_url.chars().take(80).collect();
            return Err(PlanError::unsupported(format!("the enhancement \"{}\"", name.escape_default()), place));
        }
    }
    Ok(())
}

pub fn common(rel: &RelType) -> Option<&RelCommon> {
    match rel {
        RelType::Read(rel) => rel.common.as_ref(),
        RelType::Filter(rel) => rel.common.as_ref(),
        RelType::Fetch(rel) => rel.common.as_ref(),
        RelType::Aggregate(rel) => rel.common.as_ref(),
        RelType::Sort(rel) => rel.common.as_ref(),
        RelType::Join(rel) => rel.common.as_ref(),
        RelType::Project(rel) => rel.common.as_ref(),
        RelType::Set(rel) => rel.common.as_ref(),
        RelType::Cross(rel) => rel.common.as_ref(),
        RelType::Window(rel) => rel.common.as_ref(),
        RelType::Exchange(rel) => rel.common.as_ref(),
        RelType::ExtensionMulti(rel) => rel.common.as_ref(),
        _ => None,
    }
}

/// Whether the relation lists the columns that it emits.
pub fn emits(common: Option<&RelCommon>) -> bool {
    matches!(common.and_then(|common| common.emit_kind.as_ref()), Some(EmitKind::Emit(_)))
}

fn own(rel: &RelType) -> Option<&AdvancedExtension> {
    match rel {
        RelType::Read(rel) => rel.advanced_extension.as_ref(),
        RelType::Filter(rel) => rel.advanced_extension.as_ref(),
        RelType::Fetch(rel) => rel.advanced_extension.as_ref(),
        RelType::Aggregate(rel) => rel.advanced_extension.as_ref(),
        RelType::Sort(rel) => rel.advanced_extension.as_ref(),
        RelType::Join(rel) => rel.advanced_extension.as_ref(),
        RelType::Project(rel) => rel.advanced_extension.as_ref(),
        RelType::Set(rel) => rel.advanced_extension.as_ref(),
        RelType::Cross(rel) => rel.advanced_extension.as_ref(),
        RelType::Window(rel) => rel.advanced_extension.as_ref(),
        RelType::Exchange(rel) => rel.advanced_extension.as_ref(),
        _ => None,
    }
}

fn of_table(rel: &RelType) -> Option<&AdvancedExtension> {
    match rel {
        RelType::Read(read) => match &read.read_type {
            Some(read_rel::ReadType::NamedTable(table)) => table.advanced_extension.as_ref(),
            _ => None,
        },
        _ => None,
    }
}

/// Which side's columns a join emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    Both,
    Left,
    Right,
    LeftAndMark,
    RightAndMark,
}

pub struct Join {
    pub join_type: JoinType,
    pub sides: Sides,
}

/// # Errors
///
/// The type is missing or not supported: the standard allows two meanings of a single join, and its mark has three values where
/// DataFusion's has two.
pub fn join_type(written: i32, quirks: Quirks, place: &dyn std::fmt::Display) -> Result<Join, PlanError> {
    let join = |join_type, sides| Ok(Join { join_type, sides });
    match Written::try_from(written) {
        Ok(Written::Inner) => join(JoinType::Inner, Sides::Both),
        Ok(Written::Outer) => join(JoinType::Full, Sides::Both),
        Ok(Written::Left) => join(JoinType::Left, Sides::Both),
        Ok(Written::Right) => join(JoinType::Right, Sides::Both),
        Ok(Written::LeftSemi) => join(JoinType::LeftSemi, Sides::Left),
        Ok(Written::LeftAnti) => join(JoinType::LeftAnti, Sides::Left),
        Ok(Written::RightSemi) => join(JoinType::RightSemi, Sides::Right),
        Ok(Written::RightAnti) => join(JoinType::RightAnti, Sides::Right),
        Ok(Written::LeftMark) if quirks.two_valued_marks => join(JoinType::LeftMark, Sides::LeftAndMark),
        Ok(Written::RightMark) if quirks.two_valued_marks => join(JoinType::RightMark, Sides::RightAndMark),
        Ok(other @ (Written::LeftMark | Written::RightMark | Written::LeftSingle | Written::RightSingle)) => {
            Err(PlanError::unsupported(format!("the join {}", other.as_str_name()), place))
        }
        Ok(Written::Unspecified) => Err(PlanError::missing("the type of the join", place)),
        Err(_) => Err(PlanError::invalid(format!("a join of type {written}"), place)),
    }
}

/// Which rows a set operation keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    UnionAll,
    UnionDistinct,
    Minus,
    MinusAll,
    /// The rows that are in any of the other inputs.
    IntersectAny,
    /// The rows that are in each of the other inputs.
    IntersectEach,
    IntersectAll,
}

impl Operation {
    pub fn is_union(self) -> bool {
        matches!(self, Operation::UnionAll | Operation::UnionDistinct)
    }
}

pub fn set_op(set: &SetRel, place: &dyn std::fmt::Display) -> Result<Operation, PlanError> {
    match SetOp::try_from(set.op) {
        Ok(SetOp::UnionAll) => Ok(Operation::UnionAll),
        Ok(SetOp::UnionDistinct) => Ok(Operation::UnionDistinct),
        Ok(SetOp::MinusPrimary) => Ok(Operation::Minus),
        Ok(SetOp::MinusPrimaryAll) => Ok(Operation::MinusAll),
        Ok(SetOp::IntersectionPrimary) => Ok(Operation::IntersectAny),
        Ok(SetOp::IntersectionMultiset) => Ok(Operation::IntersectEach),
        Ok(SetOp::IntersectionMultisetAll) => Ok(Operation::IntersectAll),
        // The standard does not define what happens to duplicates.
        Ok(SetOp::MinusMultiset) => Err(PlanError::unsupported("the set operation MINUS_MULTISET", place)),
        Ok(SetOp::Unspecified) => Err(PlanError::missing("the set operation", place)),
        Err(_) => Err(PlanError::invalid(format!("a set operation {}", set.op), place)),
    }
}

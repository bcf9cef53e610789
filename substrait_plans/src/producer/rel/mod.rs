//! Relations.
//!
//! Each has the columns of the logical plan's schema in the same order, because expressions above refer to them by position.

mod aggregate;
mod groupings;
mod join;
mod read;
mod shape;
mod table_function;

use datafusion::logical_expr::{Distinct, Extension, LogicalPlan};
use engine::UserTable;

use super::writer::Writer;
use crate::proto::rel::RelType;
use crate::proto::{Expression, ProjectRel, Rel, RelCommon, rel_common};
use crate::refusal::Refusal;

impl Writer {
    pub(super) fn rel(&mut self, plan: &LogicalPlan) -> Result<Rel, Refusal> {
        self.nested(|writer| match plan {
            LogicalPlan::Projection(projection) => writer.projection(projection),
            LogicalPlan::Filter(filter) => writer.filter(filter),
            LogicalPlan::Window(window) => writer.windows(window),
            LogicalPlan::Aggregate(aggregate) => writer.aggregate(aggregate),
            LogicalPlan::Distinct(Distinct::All(input)) => writer.distinct(input),
            LogicalPlan::Sort(sort) => writer.sort(sort),
            LogicalPlan::Limit(limit) => writer.limit(limit),
            LogicalPlan::Join(join) => writer.join(join),
            LogicalPlan::Union(union) => writer.union(union),
            LogicalPlan::TableScan(scan) => writer.scan(scan),
            LogicalPlan::Values(values) => writer.values(values),
            LogicalPlan::EmptyRelation(empty) => writer.no_table(empty),
            // An alias is dropped, because columns are referred to by position.
            LogicalPlan::SubqueryAlias(alias) => writer.rel(&alias.input),
            LogicalPlan::Subquery(subquery) if subquery.outer_ref_columns.is_empty() => writer.rel(&subquery.subquery),
            LogicalPlan::Extension(Extension { node }) if let Some(call) = node.as_any().downcast_ref::<UserTable>() => {
                writer.table_function(call)
            }
            other => Err(refused(other)),
        })
    }
}

fn refused(plan: &LogicalPlan) -> Refusal {
    let (what, why) = match plan {
        LogicalPlan::Subquery(_) => ("LATERAL", "it could not be made a join, and plans have no other form for it here"),
        LogicalPlan::Distinct(_) => ("DISTINCT ON", "Substrait has no relation that keeps one row of each"),
        LogicalPlan::Unnest(_) => ("UNNEST", "Substrait has no relation that takes lists apart"),
        LogicalPlan::RecursiveQuery(_) => ("WITH RECURSIVE", "Substrait has no relation that reads its own result"),
        LogicalPlan::Repartition(_) => ("DISTRIBUTE BY", "a plan says which rows there are, not where they are worked on"),
        LogicalPlan::Dml(_) | LogicalPlan::Ddl(_) | LogicalPlan::Copy(_) | LogicalPlan::Statement(_) => {
            ("a statement that is no query", "plans are made of queries alone")
        }
        LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::DescribeTable(_) => {
            ("an explanation", "it tells of the process that runs the query")
        }
        LogicalPlan::Extension(extension) => {
            let what = format!("the step {}", extension.node.name());
            return Refusal::new(what, "only the engine that made it knows what it does");
        }
        _ => ("a part of the query", "it is not on the list of what plans of Quiver say"),
    };
    Refusal::new(what, why)
}

pub(super) fn rel(rel_type: RelType) -> Rel {
    Rel { rel_type: Some(rel_type) }
}

/// Projects to the expressions alone, without the `columns` columns of the input.
pub(super) fn project(input: Rel, columns: usize, expressions: Vec<Expression>) -> Rel {
    let output_mapping = (columns..columns + expressions.len()).map(position).collect();
    let emit = rel_common::EmitKind::Emit(rel_common::Emit { output_mapping });
    rel(RelType::Project(Box::new(ProjectRel {
        common: Some(RelCommon { emit_kind: Some(emit), ..RelCommon::default() }),
        input: Some(Box::new(input)),
        expressions,
        ..ProjectRel::default()
    })))
}

/// No schema has more columns than fit.
pub(super) fn position(at: usize) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}

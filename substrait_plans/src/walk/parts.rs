//! The parts of a relation.

use super::{Parts, PathStep, PlanPart, PlanPath};
use crate::error::PlanError;
use crate::proto::rel::RelType;
use crate::proto::{
    AggregateFunction, AggregateRel, ConsistentPartitionWindowRel, Expression, FetchRel, FunctionArgument, JoinRel, ReadRel, Rel,
    SortField, fetch_rel, function_argument, read_rel,
};

/// The name of the relation's kind in a plan.
pub fn kind_of_rel(rel: &RelType) -> &'static str {
    match rel {
        RelType::Read(_) => "read",
        RelType::Filter(_) => "filter",
        RelType::Fetch(_) => "fetch",
        RelType::Aggregate(_) => "aggregate",
        RelType::Sort(_) => "sort",
        RelType::Join(_) => "join",
        RelType::Project(_) => "project",
        RelType::Set(_) => "set",
        RelType::ExtensionSingle(_) => "extension_single",
        RelType::ExtensionMulti(_) => "extension_multi",
        RelType::ExtensionLeaf(_) => "extension_leaf",
        RelType::Cross(_) => "cross",
        RelType::Reference(_) => "reference",
        RelType::Write(_) => "write",
        RelType::Ddl(_) => "ddl",
        RelType::Update(_) => "update",
        RelType::HashJoin(_) => "hash_join",
        RelType::MergeJoin(_) => "merge_join",
        RelType::NestedLoopJoin(_) => "nested_loop_join",
        RelType::Window(_) => "window",
        RelType::Exchange(_) => "exchange",
        RelType::Expand(_) => "expand",
    }
}

/// The inputs and expressions of a relation; none for an unsupported kind.
///
/// # Errors
///
/// A required part is missing, or the relation has no kind.
pub fn parts_of_rel<'a>(rel: &'a Rel, place: &PlanPath<'_>) -> Result<Parts<'a>, PlanError> {
    let Some(kind) = &rel.rel_type else { return Err(PlanError::missing("the kind of the relation", place)) };
    let mut parts = Gathered { kind: kind_of_rel(kind), place, parts: Vec::new() };
    match kind {
        RelType::Read(read) => parts.read(read),
        RelType::Filter(filter) => {
            parts.rel("input", filter.input.as_deref())?;
            parts.expression("condition", filter.condition.as_deref())?;
        }
        RelType::Fetch(fetch) => parts.fetch(fetch)?,
        RelType::Aggregate(aggregate) => parts.aggregate(aggregate)?,
        RelType::Sort(sort) => {
            parts.rel("input", sort.input.as_deref())?;
            parts.sorts("sorts", &sort.sorts)?;
        }
        RelType::Join(join) => parts.join(join)?,
        RelType::Project(project) => {
            parts.rel("input", project.input.as_deref())?;
            parts.expressions("expressions", &project.expressions);
        }
        RelType::Set(set) => {
            let inputs = set.inputs.iter().enumerate();
            parts.parts.extend(inputs.map(|(index, input)| (PathStep::nth("set", "inputs", index), PlanPart::Rel(input))));
        }
        RelType::ExtensionMulti(call) => {
            let inputs = call.inputs.iter().enumerate();
            parts.parts.extend(inputs.map(|(index, input)| (PathStep::nth("extension_multi", "inputs", index), PlanPart::Rel(input))));
        }
        RelType::Cross(cross) => {
            parts.rel("left", cross.left.as_deref())?;
            parts.rel("right", cross.right.as_deref())?;
        }
        RelType::Window(window) => parts.window(window)?,
        RelType::Exchange(exchange) => parts.rel("input", exchange.input.as_deref())?,
        _ => {}
    }
    Ok(parts.parts)
}

/// The parts that were found, and what is needed to report a missing one.
pub struct Gathered<'a, 'p> {
    pub kind: &'static str,
    pub place: &'p PlanPath<'p>,
    pub parts: Parts<'a>,
}

impl<'a> Gathered<'a, '_> {
    pub fn missing(&self, field: &'static str) -> PlanError {
        PlanError::missing(format!("\"{field}\""), self.place.at(PathStep::to(self.kind, "")))
    }

    pub fn rel(&mut self, field: &'static str, rel: Option<&'a Rel>) -> Result<(), PlanError> {
        let rel = rel.ok_or_else(|| self.missing(field))?;
        self.parts.push((PathStep::to(self.kind, field), PlanPart::Rel(rel)));
        Ok(())
    }

    pub fn expression(&mut self, field: &'static str, expression: Option<&'a Expression>) -> Result<(), PlanError> {
        let expression = expression.ok_or_else(|| self.missing(field))?;
        self.optional(field, Some(expression));
        Ok(())
    }

    pub fn optional(&mut self, field: &'static str, expression: Option<&'a Expression>) {
        let step = PathStep::to(self.kind, field);
        self.parts.extend(expression.map(|expression| (step, PlanPart::Expression(expression))));
    }

    pub fn expressions(&mut self, field: &'static str, expressions: &'a [Expression]) {
        let numbered = expressions.iter().enumerate();
        let kind = self.kind;
        self.parts.extend(numbered.map(|(index, expression)| (PathStep::nth(kind, field, index), PlanPart::Expression(expression))));
    }

    pub fn sorts(&mut self, field: &'static str, sorts: &'a [SortField]) -> Result<(), PlanError> {
        for (index, sort) in sorts.iter().enumerate() {
            let expression = sort.expr.as_ref().ok_or_else(|| self.missing("sorts.expr"))?;
            self.parts.push((PathStep::nth(self.kind, field, index), PlanPart::Expression(expression)));
        }
        Ok(())
    }

    /// Adds arguments that are values; enumerations and types have no parts.
    pub fn arguments(&mut self, arguments: &'a [FunctionArgument], older: &'a [Expression]) -> Result<(), PlanError> {
        for (index, argument) in arguments.iter().enumerate() {
            match &argument.arg_type {
                Some(function_argument::ArgType::Value(expression)) => {
                    self.parts.push((PathStep::nth(self.kind, "arguments", index), PlanPart::Expression(expression)));
                }
                Some(_) => {}
                None => return Err(self.missing("arguments.arg_type")),
            }
        }
        if arguments.is_empty() {
            self.expressions("args", older);
        }
        Ok(())
    }

    fn read(&mut self, read: &'a ReadRel) {
        if let Some(read_rel::ReadType::VirtualTable(table)) = &read.read_type {
            for row in &table.expressions {
                self.expressions("virtual_table.expressions", &row.fields);
            }
        }
        self.optional("filter", read.filter.as_deref());
        self.optional("best_effort_filter", read.best_effort_filter.as_deref());
    }

    fn fetch(&mut self, fetch: &'a FetchRel) -> Result<(), PlanError> {
        self.rel("input", fetch.input.as_deref())?;
        if let Some(fetch_rel::OffsetMode::OffsetExpr(expression)) = &fetch.offset_mode {
            self.optional("offset_expr", Some(expression));
        }
        if let Some(fetch_rel::CountMode::CountExpr(expression)) = &fetch.count_mode {
            self.optional("count_expr", Some(expression));
        }
        Ok(())
    }

    #[expect(deprecated, reason = "the field of plans before 0.60")]
    fn aggregate(&mut self, aggregate: &'a AggregateRel) -> Result<(), PlanError> {
        self.rel("input", aggregate.input.as_deref())?;
        self.expressions("grouping_expressions", &aggregate.grouping_expressions);
        if aggregate.grouping_expressions.is_empty() {
            for grouping in &aggregate.groupings {
                self.expressions("groupings.grouping_expressions", &grouping.grouping_expressions);
            }
        }
        for measure in &aggregate.measures {
            let function = measure.measure.as_ref().ok_or_else(|| self.missing("measures.measure"))?;
            self.aggregate_function(function)?;
            self.optional("measures.filter", measure.filter.as_ref());
        }
        Ok(())
    }

    #[expect(deprecated, reason = "the field of plans before 0.3")]
    fn aggregate_function(&mut self, function: &'a AggregateFunction) -> Result<(), PlanError> {
        self.arguments(&function.arguments, &function.args)?;
        self.sorts("measures.sorts", &function.sorts)
    }

    fn join(&mut self, join: &'a JoinRel) -> Result<(), PlanError> {
        self.rel("left", join.left.as_deref())?;
        self.rel("right", join.right.as_deref())?;
        self.optional("expression", join.expression.as_deref());
        self.optional("post_join_filter", join.post_join_filter.as_deref());
        Ok(())
    }

    fn window(&mut self, window: &'a ConsistentPartitionWindowRel) -> Result<(), PlanError> {
        self.rel("input", window.input.as_deref())?;
        self.expressions("partition_expressions", &window.partition_expressions);
        self.sorts("sorts", &window.sorts)?;
        for function in &window.window_functions {
            self.arguments(&function.arguments, &[])?;
        }
        Ok(())
    }
}

//! Expressions as text.

use super::Outline;
use super::types::type_name;
use super::values::value;
use crate::proto::aggregate_function::AggregationInvocation;
use crate::proto::aggregate_rel::Measure;
use crate::proto::expression::cast::FailureBehavior;
use crate::proto::expression::field_reference::{ReferenceType, RootType};
use crate::proto::expression::nested::NestedType;
use crate::proto::expression::reference_segment;
use crate::proto::expression::subquery::SubqueryType;
use crate::proto::expression::window_function::{Bound, BoundsType, bound};
use crate::proto::expression::{FieldReference, IfThen, Nested, ReferenceSegment, RexType, Subquery, WindowFunction};
use crate::proto::function_argument::ArgType;
use crate::proto::sort_field::{SortDirection, SortKind};
use crate::proto::{Expression, FunctionArgument, Rel, SortField};

impl<'a> Outline<'a> {
    pub fn exprs(&mut self, exprs: &'a [Expression]) -> String {
        exprs.iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    pub fn optional(&mut self, expr: Option<&'a Expression>) -> String {
        expr.map_or_else(|| "true".to_string(), |expr| self.expr(expr))
    }

    pub fn expr(&mut self, expr: &'a Expression) -> String {
        match &expr.rex_type {
            Some(RexType::Literal(literal)) => value(literal),
            Some(RexType::Selection(reference)) => self.reference(reference),
            Some(RexType::ScalarFunction(call)) => {
                let name = self.function(call.function_reference);
                format!("{name}({})", self.arguments(&call.arguments))
            }
            Some(RexType::WindowFunction(window)) => self.window(window),
            Some(RexType::IfThen(choice)) => self.choice(choice),
            Some(RexType::SwitchExpression(choice)) => {
                let mut words = format!("case {}", self.optional(choice.r#match.as_deref()));
                for case in &choice.ifs {
                    let when = case.r#if.as_ref().map_or_else(|| "?".to_string(), value);
                    words.push_str(&format!(" when {when} then {}", self.optional(case.then.as_ref())));
                }
                format!("{words}{} end", self.otherwise(choice.r#else.as_deref()))
            }
            Some(RexType::SingularOrList(list)) => {
                format!("{} in ({})", self.optional(list.value.as_deref()), self.exprs(&list.options))
            }
            Some(RexType::Cast(cast)) => {
                let word = if cast.failure_behavior() == FailureBehavior::ReturnNull { "try_cast" } else { "cast" };
                let to = cast.r#type.as_ref().map_or_else(|| "?".to_string(), |of| type_name(of, &self.declared));
                format!("{word}({} as {to})", self.optional(cast.input.as_deref()))
            }
            Some(RexType::Subquery(subquery)) => self.subquery(subquery),
            Some(RexType::Nested(nested)) => self.nested(nested),
            Some(RexType::DynamicParameter(parameter)) => format!("parameter {}", parameter.parameter_reference),
            _ => "…".to_string(),
        }
    }

    pub fn measure(&mut self, measure: &'a Measure) -> String {
        let Some(function) = &measure.measure else { return "?".to_string() };
        let name = self.function(function.function_reference);
        let distinct = if function.invocation() == AggregationInvocation::Distinct { "distinct " } else { "" };
        let mut words = format!("{name}({distinct}{}", self.arguments(&function.arguments));
        if !function.sorts.is_empty() {
            words.push_str(&format!(" by {}", self.sorts(&function.sorts)));
        }
        words.push(')');
        if let Some(filter) = &measure.filter {
            words.push_str(&format!(" where {}", self.expr(filter)));
        }
        words
    }

    pub fn sorts(&mut self, sorts: &'a [SortField]) -> String {
        let words = sorts.iter().map(|sort| {
            let direction = match &sort.sort_kind {
                Some(SortKind::Direction(direction)) => match SortDirection::try_from(*direction) {
                    Ok(SortDirection::AscNullsFirst) => " nulls first",
                    Ok(SortDirection::AscNullsLast) => "",
                    Ok(SortDirection::DescNullsFirst) => " desc",
                    Ok(SortDirection::DescNullsLast) => " desc nulls last",
                    Ok(SortDirection::Clustered) => " in groups",
                    _ => " ?",
                },
                _ => " ?",
            };
            format!("{}{direction}", self.optional(sort.expr.as_ref()))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn function(&self, anchor: u32) -> String {
        self.declared.functions.get(&anchor).map_or_else(|| format!("function {anchor}"), |named| named.base())
    }

    fn arguments(&mut self, arguments: &'a [FunctionArgument]) -> String {
        let words = arguments.iter().map(|argument| match &argument.arg_type {
            Some(ArgType::Value(expr)) => self.expr(expr),
            Some(ArgType::Enum(word)) => word.clone(),
            Some(ArgType::Type(of)) => type_name(of, &self.declared),
            None => "?".to_string(),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn reference(&mut self, reference: &'a FieldReference) -> String {
        let path = match &reference.reference_type {
            Some(ReferenceType::DirectReference(segment)) => path(segment),
            _ => "…".to_string(),
        };
        match &reference.root_type {
            None | Some(RootType::RootReference(_)) => format!("${path}"),
            Some(RootType::OuterReference(outer)) => format!("outer {} ${path}", outer.steps_out),
            Some(RootType::LambdaParameterReference(_)) => format!("lambda ${path}"),
            Some(RootType::Expression(expr)) => format!("({}).{path}", self.expr(expr)),
        }
    }

    fn choice(&mut self, choice: &'a IfThen) -> String {
        let mut words = "case".to_string();
        for case in &choice.ifs {
            let (when, then) = (self.optional(case.r#if.as_ref()), self.optional(case.then.as_ref()));
            words.push_str(&format!(" when {when} then {then}"));
        }
        format!("{words}{} end", self.otherwise(choice.r#else.as_deref()))
    }

    fn otherwise(&mut self, otherwise: Option<&'a Expression>) -> String {
        otherwise.map_or_else(String::new, |expr| format!(" else {}", self.expr(expr)))
    }

    fn window(&mut self, window: &'a WindowFunction) -> String {
        let name = self.function(window.function_reference);
        let distinct = if window.invocation() == AggregationInvocation::Distinct { "distinct " } else { "" };
        let mut words = format!("{name}({distinct}{}) over (", self.arguments(&window.arguments));
        if !window.partitions.is_empty() {
            words.push_str(&format!("partition by {} ", self.exprs(&window.partitions)));
        }
        if !window.sorts.is_empty() {
            words.push_str(&format!("order by {} ", self.sorts(&window.sorts)));
        }
        let units = match window.bounds_type() {
            BoundsType::Rows => "rows",
            BoundsType::Range => "range",
            BoundsType::Unspecified => "frame",
        };
        format!("{words}{units} {} to {})", bound_words(window.lower_bound.as_ref()), bound_words(window.upper_bound.as_ref()))
    }

    fn subquery(&mut self, subquery: &'a Subquery) -> String {
        match &subquery.subquery_type {
            Some(SubqueryType::Scalar(scalar)) => self.below(scalar.input.as_deref()),
            Some(SubqueryType::InPredicate(predicate)) => {
                let needles = self.exprs(&predicate.needles);
                format!("{needles} in {}", self.below(predicate.haystack.as_deref()))
            }
            Some(SubqueryType::SetPredicate(predicate)) => {
                let word = predicate.predicate_op().as_str_name().trim_start_matches("PREDICATE_OP_").to_ascii_lowercase();
                format!("{word} {}", self.below(predicate.tuples.as_deref()))
            }
            Some(SubqueryType::SetComparison(comparison)) => {
                let left = self.optional(comparison.left.as_deref());
                let op = comparison.comparison_op().as_str_name().trim_start_matches("COMPARISON_OP_").to_ascii_lowercase();
                let of = comparison.reduction_op().as_str_name().trim_start_matches("REDUCTION_OP_").to_ascii_lowercase();
                format!("{left} {op} {of} {}", self.below(comparison.right.as_deref()))
            }
            None => "?".to_string(),
        }
    }

    /// A reference to a subquery, which is listed below the line under its number.
    fn below(&mut self, rel: Option<&'a Rel>) -> String {
        let Some(rel) = rel else { return "(nothing)".to_string() };
        self.subqueries.push(rel);
        format!("(subquery {})", self.subqueries.len())
    }

    fn nested(&mut self, nested: &'a Nested) -> String {
        match &nested.nested_type {
            Some(NestedType::Struct(row)) => format!("struct({})", self.exprs(&row.fields)),
            Some(NestedType::List(list)) => format!("[{}]", self.exprs(&list.values)),
            Some(NestedType::Map(map)) => {
                let entries = map.key_values.iter();
                let entries = entries.map(|entry| {
                    let key = self.optional(entry.key.as_ref());
                    format!("{key}: {}", self.optional(entry.value.as_ref()))
                });
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            None => "?".to_string(),
        }
    }
}

fn path(segment: &ReferenceSegment) -> String {
    let (here, child) = match &segment.reference_type {
        Some(reference_segment::ReferenceType::StructField(field)) => (field.field.to_string(), field.child.as_deref()),
        Some(reference_segment::ReferenceType::ListElement(element)) => (format!("[{}]", element.offset), element.child.as_deref()),
        Some(reference_segment::ReferenceType::MapKey(key)) => {
            (format!("[{}]", key.map_key.as_ref().map_or_else(|| "?".to_string(), value)), key.child.as_deref())
        }
        None => ("?".to_string(), None),
    };
    match child {
        Some(child) => format!("{here}.{}", path(child)),
        None => here,
    }
}

fn bound_words(of: Option<&Bound>) -> String {
    match of.and_then(|of| of.kind.as_ref()) {
        Some(bound::Kind::Preceding(before)) => format!("{} before", before.offset),
        Some(bound::Kind::Following(after)) => format!("{} after", after.offset),
        Some(bound::Kind::CurrentRow(_)) => "here".to_string(),
        Some(bound::Kind::Unbounded(_)) | None => "the end".to_string(),
    }
}

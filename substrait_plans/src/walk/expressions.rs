//! The parts of an expression.

use super::parts::Gathered;
use super::{Parts, PlanPath};
use crate::error::PlanError;
use crate::proto::Expression;
use crate::proto::expression::field_reference::RootType;
use crate::proto::expression::nested::NestedType;
use crate::proto::expression::subquery::SubqueryType;
use crate::proto::expression::{IfThen, MultiOrList, Nested, RexType, Subquery, SwitchExpression, WindowFunction};

/// The name of the expression's kind in a plan.
#[expect(deprecated, reason = "the variant of plans before 0.3")]
pub fn kind_of_expression(expression: &RexType) -> &'static str {
    match expression {
        RexType::Literal(_) => "literal",
        RexType::Selection(_) => "selection",
        RexType::ScalarFunction(_) => "scalar_function",
        RexType::WindowFunction(_) => "window_function",
        RexType::IfThen(_) => "if_then",
        RexType::SwitchExpression(_) => "switch_expression",
        RexType::SingularOrList(_) => "singular_or_list",
        RexType::MultiOrList(_) => "multi_or_list",
        RexType::Cast(_) => "cast",
        RexType::Subquery(_) => "subquery",
        RexType::Nested(_) => "nested",
        RexType::DynamicParameter(_) => "dynamic_parameter",
        RexType::Lambda(_) => "lambda",
        RexType::LambdaInvocation(_) => "lambda_invocation",
        RexType::Enum(_) => "enum",
    }
}

/// The expressions and relations in an expression; none for an unsupported kind.
///
/// # Errors
///
/// A required part is missing, or the expression has no kind.
#[expect(deprecated, reason = "the field of plans before 0.3")]
pub fn parts_of_expression<'a>(expression: &'a Expression, place: &PlanPath<'_>) -> Result<Parts<'a>, PlanError> {
    let Some(kind) = &expression.rex_type else { return Err(PlanError::missing("the kind of the expression", place)) };
    let mut parts = Gathered { kind: kind_of_expression(kind), place, parts: Vec::new() };
    match kind {
        RexType::Selection(reference) => {
            if let Some(RootType::Expression(root)) = &reference.root_type {
                parts.optional("expression", Some(root));
            }
        }
        RexType::ScalarFunction(function) => parts.arguments(&function.arguments, &function.args)?,
        RexType::WindowFunction(function) => window_function(&mut parts, function)?,
        RexType::IfThen(choice) => if_then(&mut parts, choice)?,
        RexType::SwitchExpression(choice) => switch(&mut parts, choice)?,
        RexType::SingularOrList(list) => {
            parts.expression("value", list.value.as_deref())?;
            parts.expressions("options", &list.options);
        }
        RexType::MultiOrList(list) => multi_or_list(&mut parts, list),
        RexType::Cast(cast) => parts.expression("input", cast.input.as_deref())?,
        RexType::Subquery(subquery) => in_subquery(&mut parts, subquery)?,
        RexType::Nested(nested) => in_nested(&mut parts, nested)?,
        _ => {}
    }
    Ok(parts.parts)
}

#[expect(deprecated, reason = "the field of plans before 0.3")]
fn window_function<'a>(parts: &mut Gathered<'a, '_>, function: &'a WindowFunction) -> Result<(), PlanError> {
    parts.arguments(&function.arguments, &function.args)?;
    parts.expressions("partitions", &function.partitions);
    parts.sorts("sorts", &function.sorts)
}

fn if_then<'a>(parts: &mut Gathered<'a, '_>, choice: &'a IfThen) -> Result<(), PlanError> {
    for (index, clause) in choice.ifs.iter().enumerate() {
        parts.expression("ifs.if", clause.r#if.as_ref())?;
        // DataFusion writes CASE x WHEN … this way: the first clause has only x.
        match index == 0 && choice.ifs.len() > 1 {
            true => parts.optional("ifs.then", clause.then.as_ref()),
            false => parts.expression("ifs.then", clause.then.as_ref())?,
        }
    }
    parts.optional("else", choice.r#else.as_deref());
    Ok(())
}

fn switch<'a>(parts: &mut Gathered<'a, '_>, choice: &'a SwitchExpression) -> Result<(), PlanError> {
    parts.expression("match", choice.r#match.as_deref())?;
    for clause in &choice.ifs {
        if clause.r#if.is_none() {
            return Err(parts.missing("ifs.if"));
        }
        parts.expression("ifs.then", clause.then.as_ref())?;
    }
    parts.optional("else", choice.r#else.as_deref());
    Ok(())
}

fn multi_or_list<'a>(parts: &mut Gathered<'a, '_>, list: &'a MultiOrList) {
    parts.expressions("value", &list.value);
    for option in &list.options {
        parts.expressions("options.fields", &option.fields);
    }
}

fn in_subquery<'a>(parts: &mut Gathered<'a, '_>, subquery: &'a Subquery) -> Result<(), PlanError> {
    match &subquery.subquery_type {
        Some(SubqueryType::Scalar(scalar)) => parts.rel("scalar.input", scalar.input.as_deref()),
        Some(SubqueryType::InPredicate(predicate)) => {
            parts.expressions("in_predicate.needles", &predicate.needles);
            parts.rel("in_predicate.haystack", predicate.haystack.as_deref())
        }
        Some(SubqueryType::SetPredicate(predicate)) => parts.rel("set_predicate.tuples", predicate.tuples.as_deref()),
        Some(SubqueryType::SetComparison(comparison)) => {
            parts.expression("set_comparison.left", comparison.left.as_deref())?;
            parts.rel("set_comparison.right", comparison.right.as_deref())
        }
        None => Err(parts.missing("subquery_type")),
    }
}

fn in_nested<'a>(parts: &mut Gathered<'a, '_>, nested: &'a Nested) -> Result<(), PlanError> {
    match &nested.nested_type {
        Some(NestedType::Struct(nested)) => parts.expressions("struct.fields", &nested.fields),
        Some(NestedType::List(nested)) => parts.expressions("list.values", &nested.values),
        Some(NestedType::Map(_)) => {}
        None => return Err(parts.missing("nested_type")),
    }
    Ok(())
}

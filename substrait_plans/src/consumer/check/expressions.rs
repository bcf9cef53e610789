//! Checks expressions: their references are in range, and their types and functions are known.

use super::sizes::Size;
use super::widths::in_range;
use super::{Check, calls};
use crate::consumer::exprs::{literal, sort_direction};
use crate::error::PlanError;
use crate::proto::Expression;
use crate::proto::expression::field_reference::{ReferenceType, RootType};
use crate::proto::expression::nested::NestedType;
use crate::proto::expression::reference_segment::ReferenceType as Segment;
use crate::proto::expression::subquery::SubqueryType;
use crate::proto::expression::{FieldReference, RexType, Subquery};
use crate::walk::{PlanPart, PlanPath, kind_of_expression, parts_of_expression};

impl Check<'_> {
    /// Returns the size of the expression; `scope` has the sizes of the columns that it sees.
    pub fn expression(&mut self, expression: &Expression, scope: &[usize], place: &PlanPath<'_>) -> Result<Size, PlanError> {
        let mut size = Size::ONE;
        let kind = expression.rex_type.as_ref().ok_or_else(|| PlanError::missing("the kind of the expression", place))?;
        match kind {
            RexType::Literal(of) => drop(literal(&self.types, of, place)?),
            RexType::Selection(reference) => size = self.reference(reference, scope, place)?,
            RexType::ScalarFunction(call) => calls::scalar(&self.finder, call, place)?,
            RexType::WindowFunction(call) => {
                if !self.windows {
                    let what = "a function over a window that is not in the expressions of a project, or is within another such function,";
                    return Err(PlanError::unsupported(what, place));
                }
                calls::window(&self.finder, call, place)?;
                call.sorts.iter().try_for_each(|sort| sort_direction(sort, place).map(|_| ()))?;
            }
            RexType::IfThen(choice) if choice.ifs.is_empty() && choice.r#else.is_none() => {
                return Err(PlanError::missing("every branch", place));
            }
            RexType::Cast(cast) => {
                let to = cast.r#type.as_ref().ok_or_else(|| PlanError::missing("the type of the cast", place))?;
                self.types.data_type(to, place)?;
            }
            RexType::Nested(nested) if matches!(nested.nested_type, Some(NestedType::Map(_))) => {
                return Err(PlanError::unsupported("a map made of expressions", place));
            }
            RexType::Subquery(subquery) => one_needle(subquery, place)?,
            RexType::DynamicParameter(parameter) => {
                let bound = self.bound.contains(&parameter.parameter_reference);
                match &parameter.r#type {
                    Some(of) => drop(self.types.data_type(of, place)?),
                    None if bound => {}
                    None => return Err(PlanError::missing("the type of the parameter", place)),
                }
            }
            RexType::Lambda(_) | RexType::LambdaInvocation(_) => {
                return Err(PlanError::unsupported(format!("the expression \"{}\"", kind_of_expression(kind)), place));
            }
            _ => {}
        }
        // Windows cannot be nested, and a subquery decides for itself where it allows windows.
        let windows = self.windows;
        let within = windows && !matches!(kind, RexType::WindowFunction(_));
        for (step, part) in parts_of_expression(expression, place)? {
            let place = place.at(step);
            self.windows = within;
            match part {
                PlanPart::Expression(part) => size.add(self.expression(part, scope, &place)?),
                PlanPart::Rel(rel) => {
                    self.outer.push(scope.to_vec());
                    let width = self.rel(rel, &place)?.len();
                    self.outer.pop();
                    if width != 1 && !step.field.starts_with("set_predicate") {
                        return Err(PlanError::invalid(format!("a subquery of {width} columns, where it is compared as one"), place));
                    }
                }
            }
        }
        self.windows = windows;
        Ok(size.copy_size(kind))
    }

    fn reference(&self, reference: &FieldReference, scope: &[usize], place: &PlanPath<'_>) -> Result<Size, PlanError> {
        let direct = match &reference.reference_type {
            Some(ReferenceType::DirectReference(direct)) => direct,
            Some(ReferenceType::MaskedReference(_)) => return Err(PlanError::unsupported("a masked reference", place)),
            None => return Err(PlanError::missing("the field", place)),
        };
        let columns: &[usize] = match &reference.root_type {
            None | Some(RootType::RootReference(_)) => scope,
            Some(RootType::OuterReference(outer)) => {
                let steps = outer.steps_out as usize;
                let around = self.outer.len().checked_sub(steps).and_then(|index| self.outer.get(index));
                let what = || format!("a reference {steps} queries out, where there are {}", self.outer.len());
                around.ok_or_else(|| PlanError::invalid(what(), place))?
            }
            // The size is known once the type is.
            Some(RootType::Expression(_)) => return Ok(Size::ONE),
            Some(RootType::LambdaParameterReference(_)) => {
                return Err(PlanError::unsupported("the parameter of a lambda", place));
            }
        };
        match &direct.reference_type {
            Some(Segment::StructField(field)) => {
                let index = in_range(field.field, columns.len(), "a reference to", place)?;
                Ok(Size::of_column(columns.get(index).copied().unwrap_or(1)))
            }
            Some(_) => Err(PlanError::invalid("a reference into a row that is no field", place)),
            None => Err(PlanError::missing("the field", place)),
        }
    }
}

fn one_needle(subquery: &Subquery, place: &PlanPath<'_>) -> Result<(), PlanError> {
    match &subquery.subquery_type {
        Some(SubqueryType::InPredicate(predicate)) if predicate.needles.len() != 1 => {
            Err(PlanError::unsupported(format!("IN of {} values in a subquery, where one is possible,", predicate.needles.len()), place))
        }
        _ => Ok(()),
    }
}

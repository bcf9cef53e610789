//! Expressions.

mod aggregate;
mod boolean;
mod call;
mod choice;
mod operator;
mod subquery;
mod text;
mod time;
mod window;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::DFSchema;
use datafusion::common::metadata::FieldMetadata;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::scalar::ScalarValue;

use super::registry::Function;
use super::rel::position;
use super::writer::Writer;
use crate::proto::expression::cast::FailureBehavior;
use crate::proto::expression::field_reference::{ReferenceType, RootReference, RootType};
use crate::proto::expression::reference_segment::{self, StructField};
use crate::proto::expression::{FieldReference, ReferenceSegment, RexType, ScalarFunction};
use crate::proto::function_argument::ArgType;
use crate::proto::{DynamicParameter, Expression, FunctionArgument};
use crate::refusal::Refusal;
use crate::types::{is_plain_tensor, literal, type_of};

pub(super) use subquery::in_predicate;

impl Writer {
    pub(super) fn expr(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        self.nested(|writer| match expr {
            Expr::Alias(alias) => {
                check_no_metadata(alias.metadata.as_ref(), &alias.name)?;
                writer.expr(&alias.expr, schema)
            }
            Expr::Column(column) => Ok(field(writer.columns_before + schema.index_of_column(column)?)),
            Expr::Literal(value, metadata) => writer.constant(value, metadata.as_ref()),
            Expr::BinaryExpr(binary) => writer.binary(binary, expr, schema),
            Expr::Negative(operand) => writer.negative(operand, expr, false, schema),
            Expr::Like(like) => writer.like(like, schema),
            Expr::Between(between) => writer.between(between, schema),
            Expr::InList(list) => writer.in_list(list, schema),
            Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_) => writer.test(expr, schema),
            Expr::Case(case) => writer.case(case, expr, schema),
            Expr::Cast(cast) => writer.cast(&cast.expr, &cast.field, false, schema),
            Expr::TryCast(cast) => writer.cast(&cast.expr, &cast.field, true, schema),
            Expr::ScalarFunction(call) => writer.scalar_function(call, expr, schema),
            Expr::WindowFunction(window) => writer.window_function(window, expr, schema),
            Expr::ScalarSubquery(subquery) => writer.scalar_subquery(subquery),
            Expr::InSubquery(predicate) => writer.in_subquery(predicate, schema),
            Expr::Exists(exists) => writer.exists(exists),
            Expr::Placeholder(placeholder) => writer.parameter(&placeholder.id, placeholder.field.as_ref()),
            other => Err(refused(other)),
        })
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr], schema: &DFSchema) -> Result<Vec<Expression>, Refusal> {
        exprs.iter().map(|expr| self.expr(expr, schema)).collect()
    }

    pub(super) fn literal(&mut self, value: &ScalarValue) -> Result<Expression, Refusal> {
        Ok(literal(value, &mut self.types)?)
    }

    /// A tensor is cast to its type, which includes the shape.
    fn constant(&mut self, value: &ScalarValue, metadata: Option<&FieldMetadata>) -> Result<Expression, Refusal> {
        let Some(metadata) = metadata.filter(|metadata| !metadata.is_empty()) else { return self.literal(value) };
        let field = metadata.add_to_field(Field::new("", value.data_type(), true));
        if !is_plain_tensor(&field) {
            return Err(lost_metadata(&value.to_string()));
        }
        let written = self.literal(value)?;
        self.converted_to(written, &field, value.is_null(), FailureBehavior::ThrowException)
    }

    /// A call with written arguments and the given result type.
    pub(super) fn call(
        &mut self,
        function: &Function,
        arguments: Vec<Expression>,
        output: &DataType,
        may_be_null: bool,
    ) -> Result<Expression, Refusal> {
        let arguments = arguments.into_iter().map(argument).collect();
        self.call_with(function, arguments, output, may_be_null)
    }

    fn call_with(
        &mut self,
        function: &Function,
        arguments: Vec<FunctionArgument>,
        output: &DataType,
        may_be_null: bool,
    ) -> Result<Expression, Refusal> {
        Ok(rex(RexType::ScalarFunction(ScalarFunction {
            function_reference: self.registry.function(function),
            arguments,
            options: function.options.clone(),
            output_type: Some(type_of(output, may_be_null, &mut self.types)?),
            ..ScalarFunction::default()
        })))
    }

    /// Parameters are `$1` and so on; plans count from 0.
    fn parameter(&mut self, id: &str, field: Option<&FieldRef>) -> Result<Expression, Refusal> {
        let number = id.strip_prefix('$').and_then(|number| number.parse::<u32>().ok()).and_then(|number| number.checked_sub(1));
        let (Some(parameter_reference), Some(field)) = (number, field) else {
            let why = "plans number their parameters and give each a type; write $1 and CAST it";
            return Err(Refusal::new(format!("the parameter {id}"), why));
        };
        let r#type = Some(type_of(field.data_type(), true, &mut self.types)?);
        Ok(rex(RexType::DynamicParameter(DynamicParameter { r#type, parameter_reference })))
    }
}

fn refused(expr: &Expr) -> Refusal {
    let (what, why) = match expr {
        Expr::OuterReferenceColumn(..) => ("a subquery that looks at the query around it", "it could not be made a join; write it as one"),
        Expr::SetComparison(_) => ("a comparison with ANY or ALL of a subquery", "it could not be made a join; write it as one"),
        Expr::SimilarTo(_) => ("SIMILAR TO", "plans have no form for its patterns"),
        Expr::Unnest(_) => ("UNNEST", "Substrait has no relation that takes lists apart"),
        Expr::HigherOrderFunction(_) | Expr::Lambda(_) | Expr::LambdaVariable(_) => {
            ("a function that is given a function", "engines disagree about how such functions see NULLs")
        }
        Expr::ScalarVariable(..) => ("a variable", "its value is the session's"),
        Expr::AggregateFunction(_) => ("an aggregate outside of SELECT and HAVING", "plans have none there"),
        other => {
            let what = format!("the expression {}", other.variant_name());
            return Refusal::new(what, "it is not on the list of what plans of Quiver say");
        }
    };
    Refusal::new(what, why)
}

/// Arrow's extension types are in the metadata, which a plan cannot express. Columns of tables get theirs wherever they are read.
fn check_no_metadata(metadata: Option<&FieldMetadata>, name: &str) -> Result<(), Refusal> {
    match metadata {
        Some(metadata) if !metadata.is_empty() => Err(lost_metadata(name)),
        _ => Ok(()),
    }
}

fn lost_metadata(name: &str) -> Refusal {
    Refusal::new(format!("metadata that the query itself gives to {name}"), "a plan has no place for it, and a type may be in it")
}

pub(super) fn rex(rex_type: RexType) -> Expression {
    Expression { rex_type: Some(rex_type) }
}

pub(super) fn argument(value: Expression) -> FunctionArgument {
    FunctionArgument { arg_type: Some(ArgType::Value(value)) }
}

/// A reference to a column of the input.
pub(super) fn field(index: usize) -> Expression {
    let field = Box::new(StructField { field: position(index), child: None });
    let segment = ReferenceSegment { reference_type: Some(reference_segment::ReferenceType::StructField(field)) };
    rex(RexType::Selection(Box::new(FieldReference {
        reference_type: Some(ReferenceType::DirectReference(segment)),
        root_type: Some(RootType::RootReference(RootReference {})),
    })))
}

fn may_be_null(expr: &Expr, schema: &DFSchema) -> bool {
    expr.nullable(schema).unwrap_or(true)
}

fn types_of(exprs: &[Expr], schema: &DFSchema) -> Result<Vec<DataType>, Refusal> {
    exprs.iter().map(|expr| Ok(expr.get_type(schema)?)).collect()
}

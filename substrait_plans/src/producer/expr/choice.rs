//! CASE and casts.

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Case, Expr, ExprSchemable};
use datafusion::scalar::ScalarValue;

use super::super::writer::Writer;
use super::{lost_metadata, may_be_null, rex};
use crate::proto::Expression;
use crate::proto::expression::cast::FailureBehavior;
use crate::proto::expression::if_then::IfClause;
use crate::proto::expression::{Cast, IfThen, RexType};
use crate::refusal::Refusal;
use crate::types::{is_plain_tensor, type_of_field};

impl Writer {
    /// Writes `CASE x WHEN y` as `CASE WHEN x = y`: the standard supports the first form only with constants.
    pub(super) fn case(&mut self, case: &Case, whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let ifs = case.when_then_expr.iter().map(|(when, then)| {
            let condition = match &case.expr {
                Some(base) => self.comparison("equal", base, when, schema)?,
                None => self.expr(when, schema)?,
            };
            Ok(IfClause { r#if: Some(condition), then: Some(self.expr(then, schema)?) })
        });
        let ifs = ifs.collect::<Result<Vec<_>, Refusal>>()?;
        let is_null = case.else_expr.as_deref().is_none_or(|value| matches!(value, Expr::Literal(value, _) if value.is_null()));
        if is_null && has_struct(&whole.get_type(schema)?) {
            return Err(Refusal::new("a CASE of structs that may be NULL", "types in plans have no names for the fields of a struct"));
        }
        let otherwise = match &case.else_expr {
            Some(otherwise) => self.expr(otherwise, schema)?,
            None => self.literal(&ScalarValue::try_from(&whole.get_type(schema)?)?)?,
        };
        Ok(rex(RexType::IfThen(Box::new(IfThen { ifs, r#else: Some(Box::new(otherwise)) }))))
    }

    /// If `tries`, a value that cannot be cast becomes NULL.
    pub(super) fn cast(&mut self, inner: &Expr, to: &FieldRef, tries: bool, schema: &DFSchema) -> Result<Expression, Refusal> {
        if !to.metadata().is_empty() && !is_plain_tensor(to) {
            return Err(lost_metadata("the type of a cast"));
        }
        if has_struct(to.data_type()) {
            return Err(Refusal::new(format!("a cast to {}", to.data_type()), "types in plans have no names for the fields of a struct"));
        }
        if matches!(inner, Expr::Literal(ScalarValue::Null, _)) {
            let null = self.literal(&ScalarValue::try_from(to.data_type())?)?;
            return match is_plain_tensor(to) {
                true => self.converted_to(null, to, true, FailureBehavior::ThrowException),
                false => Ok(null),
            };
        }
        // A parameter without another type gets that of its cast, as in `CAST($1 AS BIGINT)`.
        if let Expr::Placeholder(Placeholder { id, field: None }) = inner {
            return self.parameter(id, Some(to));
        }
        let written = self.expr(inner, schema)?;
        let failure = if tries { FailureBehavior::ReturnNull } else { FailureBehavior::ThrowException };
        self.converted_to(written, to, tries || may_be_null(inner, schema), failure)
    }

    /// Casts a written expression to the type of a field.
    pub(super) fn converted_to(
        &mut self,
        written: Expression,
        to: &Field,
        is_nullable: bool,
        failure: FailureBehavior,
    ) -> Result<Expression, Refusal> {
        let written = Cast {
            r#type: Some(type_of_field(to, is_nullable, &mut self.types)?),
            input: Some(Box::new(written)),
            failure_behavior: failure as i32,
        };
        Ok(rex(RexType::Cast(Box::new(written))))
    }

    /// Casts a written expression to another type.
    pub(in crate::producer) fn converted(
        &mut self,
        written: Expression,
        to: &DataType,
        is_nullable: bool,
        failure: FailureBehavior,
    ) -> Result<Expression, Refusal> {
        self.converted_to(written, &Field::new("", to.clone(), true), is_nullable, failure)
    }

    /// An expression whose column has a declared type, as in VALUES.
    pub(in crate::producer) fn of_type(&mut self, expr: &Expr, to: &DataType, schema: &DFSchema) -> Result<Expression, Refusal> {
        if expr.get_type(schema)?.equals_datatype(to) {
            return self.expr(expr, schema);
        }
        let to = FieldRef::new(Field::new("", to.clone(), true));
        self.cast(expr, &to, false, schema)
    }
}

fn has_struct(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        Struct(_) => true,
        List(item) | LargeList(item) | ListView(item) | LargeListView(item) | FixedSizeList(item, _) => has_struct(item.data_type()),
        // The entries of a map are a struct themselves; only their contents matter.
        Map(entries, _) => match entries.data_type() {
            Struct(fields) => fields.iter().any(|field| has_struct(field.data_type())),
            other => has_struct(other),
        },
        Dictionary(_, value) => has_struct(value),
        RunEndEncoded(_, values) => has_struct(values.data_type()),
        _ => false,
    }
}

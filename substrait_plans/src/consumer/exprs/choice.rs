//! IF, CASE, and tests whether a value is in a list.

use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Case, Expr, Operator, lit};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::expressions;
use crate::consumer::consume::Consumer;
use crate::consumer::functions::balanced;
use crate::error::PlanError;
use crate::proto::Expression;
use crate::proto::expression::{IfThen, MultiOrList, SingularOrList, SwitchExpression};

const PLACE: &str = "a choice";

pub async fn if_then(consumer: &Consumer<'_>, of: &IfThen, schema: &DFSchema) -> DfResult<Expr> {
    let mut base = None;
    let mut branches = Vec::with_capacity(of.ifs.len());
    for (index, clause) in of.ifs.iter().enumerate() {
        let condition = boxed(consumer, clause.r#if.as_ref(), schema).await?;
        match &clause.then {
            None if index == 0 && of.ifs.len() > 1 => base = Some(condition),
            then => branches.push((condition, boxed(consumer, then.as_ref(), schema).await?)),
        }
    }
    let otherwise = match of.r#else.as_deref() {
        Some(otherwise) => Some(boxed(consumer, Some(otherwise), schema).await?),
        None => None,
    };
    case(base, branches, otherwise)
}

pub async fn switch(consumer: &Consumer<'_>, of: &SwitchExpression, schema: &DFSchema) -> DfResult<Expr> {
    let base = boxed(consumer, of.r#match.as_deref(), schema).await?;
    let mut branches = Vec::with_capacity(of.ifs.len());
    for clause in &of.ifs {
        let value = clause.r#if.as_ref().ok_or_else(|| PlanError::missing("the value", PLACE))?;
        let value = Box::new(consumer.consume_literal(value).await?);
        branches.push((value, boxed(consumer, clause.then.as_ref(), schema).await?));
    }
    let otherwise = match of.r#else.as_deref() {
        Some(otherwise) => Some(boxed(consumer, Some(otherwise), schema).await?),
        None => None,
    };
    case(Some(base), branches, otherwise)
}

fn case(base: Option<Box<Expr>>, branches: Vec<(Box<Expr>, Box<Expr>)>, otherwise: Option<Box<Expr>>) -> DfResult<Expr> {
    match (branches.is_empty(), otherwise) {
        (true, Some(otherwise)) => Ok(*otherwise),
        (true, None) => Err(PlanError::missing("every branch", PLACE).into()),
        (false, otherwise) => Ok(Expr::Case(Case::new(base, branches, otherwise))),
    }
}

/// No value is in an empty list.
pub async fn singular_or_list(consumer: &Consumer<'_>, of: &SingularOrList, schema: &DFSchema) -> DfResult<Expr> {
    let value = boxed(consumer, of.value.as_deref(), schema).await?;
    let list = expressions(consumer, &of.options, schema).await?;
    Ok(if list.is_empty() { lit(false) } else { Expr::InList(InList::new(value, list, false)) })
}

/// Compares several values at once with those of each record. The values are repeated for each record, so they must be small.
pub async fn multi_or_list(consumer: &Consumer<'_>, of: &MultiOrList, schema: &DFSchema) -> DfResult<Expr> {
    let values = expressions(consumer, &of.value, schema).await?;
    if values.iter().any(|value| !matches!(value, Expr::Column(_) | Expr::Literal(..) | Expr::OuterReferenceColumn(..))) {
        return Err(PlanError::unsupported("a list of choices for anything but columns", PLACE).into());
    }
    let mut records = Vec::with_capacity(of.options.len());
    for record in &of.options {
        let fields = expressions(consumer, &record.fields, schema).await?;
        if fields.len() != values.len() {
            let what = format!("a choice of {} values where there are {}", fields.len(), values.len());
            return Err(PlanError::invalid(what, PLACE).into());
        }
        let equal = values.iter().zip(fields).map(|(value, field)| value.clone().eq(field));
        records.push(balanced(Operator::And, equal.collect()).unwrap_or_else(|| lit(true)));
    }
    Ok(balanced(Operator::Or, records).unwrap_or_else(|| lit(false)))
}

async fn boxed(consumer: &Consumer<'_>, of: Option<&Expression>, schema: &DFSchema) -> DfResult<Box<Expr>> {
    let of = of.ok_or_else(|| PlanError::missing("a part", PLACE))?;
    Ok(Box::new(consumer.consume_expression(of, schema).await?))
}

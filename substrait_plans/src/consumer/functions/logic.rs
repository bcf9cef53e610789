//! Boolean functions and comparisons.

use arrow::datatypes::DataType;
use datafusion::common::Result as DfResult;
use datafusion::logical_expr::expr::{Exists, InList, InSubquery};
use datafusion::logical_expr::{Between, BinaryExpr, Case, Expr, ExprSchemable, Operator, lit};

use super::call::{Call, cast, null};

/// Combines many terms to a balanced tree: a chain of a thousand would be a thousand levels deep.
pub fn balanced(operator: Operator, mut terms: Vec<Expr>) -> Option<Expr> {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right))),
                None => left,
            });
        }
        terms = pairs;
    }
    terms.pop()
}

/// Without arguments it is true.
pub fn and(call: Call<'_>) -> DfResult<Expr> {
    Ok(balanced(Operator::And, call.values).unwrap_or_else(|| lit(true)))
}

/// Without arguments it is false.
pub fn or(call: Call<'_>) -> DfResult<Expr> {
    Ok(balanced(Operator::Or, call.values).unwrap_or_else(|| lit(false)))
}

pub fn and_not(mut call: Call<'_>) -> DfResult<Expr> {
    let (left, right) = call.two()?;
    Ok(left.and(not(right)))
}

/// DataFusion makes joins of `NOT IN` and `NOT EXISTS`; a separate NOT can prevent that.
pub fn not(value: Expr) -> Expr {
    match value {
        Expr::Exists(exists) => Expr::Exists(Exists { negated: !exists.negated, ..exists }),
        Expr::InSubquery(within) => Expr::InSubquery(InSubquery { negated: !within.negated, ..within }),
        Expr::InList(within) => Expr::InList(InList { negated: !within.negated, ..within }),
        value => Expr::Not(Box::new(value)),
    }
}

pub fn between(mut call: Call<'_>) -> DfResult<Expr> {
    let high = call.one()?;
    let (value, low) = call.two()?;
    Ok(Expr::Between(Between::new(Box::new(value), false, Box::new(low), Box::new(high))))
}

pub fn least(call: Call<'_>) -> DfResult<Expr> {
    extreme(call, "least")
}

pub fn greatest(call: Call<'_>) -> DfResult<Expr> {
    extreme(call, "greatest")
}

/// NULL if any of the values is NULL; DataFusion's functions ignore NULLs. The values are used twice, so they must be small: nested calls
/// would double with each level.
fn extreme(mut call: Call<'_>, function: &str) -> DfResult<Expr> {
    let values = std::mem::take(&mut call.values);
    let mut nulls = Vec::new();
    for value in &values {
        if value.nullable(call.schema)? {
            match value {
                Expr::Column(_) | Expr::Literal(..) | Expr::OuterReferenceColumn(..) => nulls.push(Expr::IsNull(Box::new(value.clone()))),
                _ => return Err(call.unsupported("an expression that may be NULL as an argument; project it before").into()),
            }
        }
    }
    let extreme = call.function(function, values)?;
    let Some(is_null) = balanced(Operator::Or, nulls) else { return Ok(extreme) };
    let nothing = match call.type_of(&extreme)? {
        DataType::Null => null(),
        data_type => cast(null(), data_type),
    };
    Ok(Expr::Case(Case::new(None, vec![(Box::new(is_null), Box::new(nothing))], Some(Box::new(extreme)))))
}

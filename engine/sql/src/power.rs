//! `a ^ b`, a to the power of b. In DataFusion it is the exclusive or, which is `xor(a, b)` here as in DuckDB.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

use super::fragments::expr_of;
use common::error::EngineError;

/// Changes the expression in place if it is one of the two. A power is a DOUBLE, as in PostgreSQL and DuckDB.
pub fn rewrite_power(expr: &mut Expr) -> Result<(), EngineError> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::BitwiseXor, right } => {
            let mut power =
                expr_of("power(CAST(1 AS DOUBLE), CAST(2 AS DOUBLE))").map_err(|error| EngineError::internal(error.to_string()))?;
            if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut power {
                for (argument, operand) in list.args.iter_mut().zip([left, right]) {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Cast { expr, .. })) = argument {
                        *expr = std::mem::replace(operand, Box::new(Expr::value(Value::Null)));
                    }
                }
            }
            *expr = power;
        }
        Expr::Function(function) => {
            if let Some((left, right)) = exclusive_or(function) {
                let or = Expr::BinaryOp { left: Box::new(nested(left)), op: BinaryOperator::PGBitwiseXor, right: Box::new(nested(right)) };
                *expr = nested(or);
            }
        }
        _ => {}
    }
    Ok(())
}

/// A sign binds closer than the power, as in PostgreSQL: `-2 ^ 2` is 4. The parser negates the power.
pub fn sign_first(expr: &mut Expr) {
    let Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: inner } = expr else { return };
    if !matches!(inner.as_ref(), Expr::BinaryOp { op: BinaryOperator::BitwiseXor, .. }) {
        return;
    }
    let mut power = std::mem::replace(inner.as_mut(), Expr::value(Value::Null));
    if let Expr::BinaryOp { left, .. } = &mut power {
        std::mem::swap(inner, left);
        std::mem::swap(left.as_mut(), expr);
        *expr = power;
    }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn exclusive_or(function: &Function) -> Option<(Expr, Expr)> {
    let is_plain = function.over.is_none() && function.filter.is_none() && function.within_group.is_empty();
    if !is_plain || !function.name.to_string().eq_ignore_ascii_case("xor") {
        return None;
    }
    match &function.args {
        FunctionArguments::List(list) if list.clauses.is_empty() && list.duplicate_treatment.is_none() => match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(left)), FunctionArg::Unnamed(FunctionArgExpr::Expr(right))] => {
                Some((left.clone(), right.clone()))
            }
            _ => None,
        },
        _ => None,
    }
}

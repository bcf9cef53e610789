//! `a AND b AND c AND …` as a balanced tree.
//!
//! The parser nests each operator one level deeper. The field of an expression names every level of it (`Expr::to_field` of
//! datafusion-expr 55), so planning takes quadratic time: 5,000 terms took half a minute.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

/// Shorter chains stay as written, so that EXPLAIN shows them that way.
const OPERATORS_MIN: usize = 32;

/// Balances a chain of ANDs or ORs in place. The terms and their order stay the same.
pub fn balance(expr: &mut Expr) {
    let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = expr else { return };
    let op = op.clone();
    if operators(expr, &op) < OPERATORS_MIN {
        return;
    }
    let mut terms = Vec::new();
    let mut rest = std::mem::replace(expr, Expr::value(Value::Null));
    loop {
        match rest {
            Expr::BinaryOp { left, op: other, right } if other == op => {
                terms.push(*right);
                rest = *left;
            }
            first => {
                terms.push(first);
                break;
            }
        }
    }
    terms.reverse();
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut lefts = terms.into_iter();
        while let Some(left) = lefts.next() {
            pairs.push(match lefts.next() {
                Some(right) => Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) },
                None => left,
            });
        }
        terms = pairs;
    }
    terms.into_iter().for_each(|balanced| *expr = balanced);
}

fn operators(mut expr: &Expr, op: &BinaryOperator) -> usize {
    let mut count = 0;
    while let Expr::BinaryOp { left, op: other, .. } = expr
        && other == op
    {
        count += 1;
        expr = left;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::fragments::expr_of;
    use super::*;

    fn levels(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => 1 + levels(left).max(levels(right)),
            _ => 0,
        }
    }

    #[test]
    fn a_long_chain_has_few_levels_and_the_same_words() {
        for operator in [" AND ", " OR "] {
            let sql = (0..1_000).map(|term| format!("a <> {term}")).collect::<Vec<_>>().join(operator);
            let mut expr = expr_of(&sql).unwrap();
            balance(&mut expr);
            assert_eq!((levels(&expr), expr.to_string()), (10, sql));
        }
    }

    #[test]
    fn a_short_chain_stays_as_it_is_written() {
        let mut expr = expr_of("a AND b AND c AND d").unwrap();
        balance(&mut expr);
        assert_eq!(levels(&expr), 3);
    }
}

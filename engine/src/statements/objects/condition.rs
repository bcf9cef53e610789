//! The condition of FIND: from its expression to a predicate of the store.

use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator, Value, ValueWithSpan};
use pmem_store::StoreError;
use pmem_store::attributes::{AttributeValue, check_key};
use pmem_store::objects::{Comparison, Predicate, PropertyKey};

use super::tags::value_of;
use common::error::EngineError;

const HINT: &str = "a condition compares tags and columns of system.objects with constants (=, <>, <, <=, >, >=, IN, BETWEEN, LIKE, ILIKE, \
                    IS NULL), with AND, OR and NOT; SELECT … FROM system.tags can do more";

pub fn predicate_of(state: &SessionState, condition: &Expr) -> Result<Predicate, EngineError> {
    let convert = |expr: &Expr| predicate_of(state, expr);
    Ok(match condition {
        Expr::Nested(inner) => convert(inner)?,
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => negated(convert(expr)?),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => Predicate::And(vec![convert(left)?, convert(right)?]),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => Predicate::Or(vec![convert(left)?, convert(right)?]),
        Expr::BinaryOp { left, op, right } => comparison(state, left, op, right)?,
        Expr::IsNotNull(key) => Predicate::Exists(key_of(key)?),
        Expr::IsNull(key) => negated(Predicate::Exists(key_of(key)?)),
        Expr::InList { expr, list, negated: is_negated } => {
            let key = key_of(expr)?;
            let equals = list.iter().map(|value| compared(state, key.clone(), Comparison::Equal, value)).collect::<Result<_, _>>()?;
            negated_if(*is_negated, Predicate::Or(equals))
        }
        Expr::Between { expr, negated: is_negated, low, high } => {
            let key = key_of(expr)?;
            let low = compared(state, key.clone(), Comparison::GreaterOrEqual, low)?;
            let high = compared(state, key, Comparison::LessOrEqual, high)?;
            negated_if(*is_negated, Predicate::And(vec![low, high]))
        }
        Expr::Like { negated: is_negated, any: false, expr, pattern, escape_char: None } => {
            negated_if(*is_negated, like(state, expr, pattern, false)?)
        }
        Expr::ILike { negated: is_negated, any: false, expr, pattern, escape_char: None } => {
            negated_if(*is_negated, like(state, expr, pattern, true)?)
        }
        Expr::Value(ValueWithSpan { value: Value::Boolean(true), .. }) => Predicate::And(Vec::new()),
        Expr::Value(ValueWithSpan { value: Value::Boolean(false), .. }) => Predicate::Or(Vec::new()),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
            Predicate::Compare { key: key_of(condition)?, operator: Comparison::Equal, value: AttributeValue::Boolean(true) }
        }
        other => return Err(refused(other)),
    })
}

fn refused(expr: &Expr) -> EngineError {
    EngineError::unsupported(format!("the condition {expr} in FIND"), Some(HINT))
}

fn negated(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}

fn negated_if(is_negated: bool, predicate: Predicate) -> Predicate {
    if is_negated { negated(predicate) } else { predicate }
}

/// A tag, or a column of `system.objects`. `tags.name` is the tag if there is a column of that name.
pub fn key_of(expr: &Expr) -> Result<PropertyKey, EngineError> {
    let normalized = |ident: &Ident| if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() };
    match expr {
        Expr::Nested(inner) => key_of(inner),
        Expr::Identifier(ident) => {
            let name = normalized(ident);
            match PropertyKey::of_column(&name) {
                Some(column) => Ok(column),
                None => attribute(name),
            }
        }
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, key] if normalized(table) == "tags" => attribute(normalized(key)),
            _ => Err(refused(expr)),
        },
        _ => Err(refused(expr)),
    }
}

fn attribute(name: String) -> Result<PropertyKey, EngineError> {
    check_key(&name).map_err(StoreError::from)?;
    Ok(PropertyKey::Attribute(name))
}

fn comparison(state: &SessionState, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Predicate, EngineError> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let whole = || refused(&Expr::BinaryOp { left: Box::new(left.clone()), op: op.clone(), right: Box::new(right.clone()) });
    let (operator, reversed, is_negated) = match op {
        BinaryOperator::Eq => (Equal, Equal, false),
        BinaryOperator::NotEq => (Equal, Equal, true),
        BinaryOperator::Lt => (Less, Greater, false),
        BinaryOperator::LtEq => (LessOrEqual, GreaterOrEqual, false),
        BinaryOperator::Gt => (Greater, Less, false),
        BinaryOperator::GtEq => (GreaterOrEqual, LessOrEqual, false),
        _ => return Err(whole()),
    };
    let compared = match (key_of(left), key_of(right)) {
        (Ok(key), _) => compared(state, key, operator, right)?,
        (Err(_), Ok(key)) => compared(state, key, reversed, left)?,
        // The name of a tag that cannot be one.
        (Err(error @ EngineError::Store(_)), _) | (_, Err(error @ EngineError::Store(_))) => return Err(error),
        (Err(_), Err(_)) => return Err(whole()),
    };
    Ok(negated_if(is_negated, compared))
}

fn compared(state: &SessionState, key: PropertyKey, operator: Comparison, value: &Expr) -> Result<Predicate, EngineError> {
    if key_of(value).is_ok() {
        return Err(EngineError::unsupported(format!("comparing with another tag, {value}, in FIND"), Some(HINT)));
    }
    let is_time = matches!(key, PropertyKey::CreatedAt | PropertyKey::ChangedAt);
    let value = match value_of(state, &value.to_string())? {
        AttributeValue::Text(_) if is_time => value_of(state, &format!("CAST({value} AS TIMESTAMP)"))?,
        AttributeValue::List(_) => return Err(refused(value)),
        value => value,
    };
    Ok(Predicate::Compare { key, operator, value })
}

fn like(state: &SessionState, expr: &Expr, pattern: &Expr, ignores_case: bool) -> Result<Predicate, EngineError> {
    match value_of(state, &pattern.to_string())? {
        AttributeValue::Text(pattern) => Ok(Predicate::Like { key: key_of(expr)?, pattern, ignores_case }),
        _ => Err(refused(pattern)),
    }
}

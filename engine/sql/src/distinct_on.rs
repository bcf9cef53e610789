//! `DISTINCT ON (1)`: a number is a position in the SELECT list, as in PostgreSQL. DataFusion treats it as a constant, so that all rows
//! are one group.

use datafusion::sql::sqlparser::ast::{Distinct, Expr, Select, SelectItem, Value};

use common::error::EngineError;

pub fn find_places(select: &mut Select) -> Result<(), EngineError> {
    let Some(Distinct::On(keys)) = &mut select.distinct else { return Ok(()) };
    for key in keys {
        let Expr::Value(value) = &*key else { continue };
        let Value::Number(number, _) = &value.value else {
            let hint = "name a column, or its place in the SELECT list: 1, 2, …";
            return Err(EngineError::unsupported(format!("the constant {key} in DISTINCT ON"), Some(hint)));
        };
        *key = item_at(&select.projection, number)?;
    }
    Ok(())
}

fn item_at(items: &[SelectItem], number: &str) -> Result<Expr, EngineError> {
    let is_wildcard = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let place = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match place.and_then(|place| items.get(..=place)) {
        Some(before) if before.iter().any(is_wildcard) => {
            Err(EngineError::unsupported(format!("place {number} in DISTINCT ON beside *"), Some("name the column")))
        }
        Some([.., SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }]) => Ok(expr.clone()),
        _ => {
            let message = format!("there is no place {number} in the SELECT list of DISTINCT ON");
            Err(EngineError::Sql { message, position: None, hint: None })
        }
    }
}

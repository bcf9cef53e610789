//! `FULL JOIN … USING` and `RIGHT JOIN … USING`: one column merges those of both sides.
//!
//! DataFusion uses the column of the left side, which is NULL in rows that only the right side has. So the joins become joins with ON, and
//! the name of a merged column becomes its value.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, OrderBy, OrderByKind, Select, TableFactor,
};

use super::fragments::expr_of;
use super::merged_names::{JOIN_ON, JoinedColumns, Merged, normalized, refused};
use common::error::EngineError;

const NAME_IT: &str = "give the joined table a name with AS";

/// `order_by` is that of the query, if the SELECT is the whole query.
pub fn merge_columns(select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<(), EngineError> {
    if !select.from.iter().flat_map(|from| &from.joins).any(|join| is_merging(&join.join_operator)) {
        return Ok(());
    }
    let [from] = select.from.as_mut_slice() else {
        return Err(refused("beside other tables", "put the join into a subquery"));
    };
    let mut joined = JoinedColumns { relations: vec![(relation_name(&from.relation), Vec::new())], merged: Vec::new() };
    for join in &mut from.joins {
        add(&mut joined, join)?;
    }
    let outputs = joined.name_outputs(&mut select.projection)?;
    // Its names have been replaced already.
    let from = std::mem::take(&mut select.from);
    joined.replace_in(select)?;
    select.from = from;
    if let Some(OrderBy { kind: OrderByKind::Expressions(exprs), .. }) = order_by {
        joined.merged.retain(|column| !outputs.contains(&column.name));
        exprs.iter_mut().try_for_each(|expr| joined.replace_in(expr))?;
    }
    Ok(())
}

/// Whether the merged column differs from the left side's.
pub fn is_merging(operator: &JoinOperator) -> bool {
    match operator {
        JoinOperator::Right(on) | JoinOperator::RightOuter(on) | JoinOperator::FullOuter(on) => {
            matches!(on, JoinConstraint::Using(_) | JoinConstraint::Natural)
        }
        _ => false,
    }
}

/// Adds the next join of the chain; its USING becomes an ON.
fn add(joined: &mut JoinedColumns, join: &mut Join) -> Result<(), EngineError> {
    let name = relation_name(&join.relation);
    if !matches!(join.relation, TableFactor::Derived { lateral: false, .. }) {
        joined.replace_in(&mut join.relation)?;
    }
    let kind = join.join_operator.clone();
    let constraint = constraint(&mut join.join_operator).ok_or_else(|| refused("with this kind of join beside it", JOIN_ON))?;
    let mut columns = Vec::new();
    match constraint {
        JoinConstraint::Using(names) => {
            columns = names.iter().filter_map(|name| name.0.last()?.as_ident().cloned()).collect();
            let right = name.as_deref().ok_or_else(|| refused("with a table that has no name", NAME_IT))?;
            *constraint = JoinConstraint::On(merge(joined, &kind, right, &columns)?);
        }
        JoinConstraint::Natural => return Err(refused("with a NATURAL JOIN beside it", "name the columns with USING")),
        JoinConstraint::On(condition) => joined.replace_in(condition)?,
        JoinConstraint::None => {}
    }
    joined.relations.push((name, columns));
    Ok(())
}

/// The condition of a join, with which the columns are merged.
fn merge(joined: &mut JoinedColumns, kind: &JoinOperator, right: &[Ident], columns: &[Ident]) -> Result<Expr, EngineError> {
    let mut condition = None;
    for column in columns {
        let name = normalized(column);
        let known = joined.merged.iter().position(|merged| merged.name == name);
        let left = match (known, joined.relations.as_slice()) {
            (Some(index), _) => joined.merged[index].value.clone(),
            (None, [(Some(first), _)]) => qualified(first, column),
            (None, [_]) => return Err(refused("with a table that has no name", NAME_IT)),
            // The column could belong to any of the tables before.
            (None, _) => return Err(refused("of a column that not all joins before it name", JOIN_ON)),
        };
        let right = qualified(right, column);
        let value = match kind {
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => right.clone(),
            JoinOperator::FullOuter(_) => coalesce(&left, &right)?,
            _ => left.clone(),
        };
        let equal = both(left, BinaryOperator::Eq, right);
        condition = Some(match condition {
            Some(before) => both(before, BinaryOperator::And, equal),
            None => equal,
        });
        match known {
            Some(index) => joined.merged[index].value = value,
            None => joined.merged.push(Merged { name, value }),
        }
    }
    condition.ok_or_else(|| refused("of no column", JOIN_ON))
}

fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(on)
        | JoinOperator::Inner(on)
        | JoinOperator::Left(on)
        | JoinOperator::LeftOuter(on)
        | JoinOperator::Right(on)
        | JoinOperator::RightOuter(on)
        | JoinOperator::FullOuter(on)
        | JoinOperator::CrossJoin(on) => Some(on),
        _ => None,
    }
}

/// The qualifier for the columns of a relation.
fn relation_name(relation: &TableFactor) -> Option<Vec<Ident>> {
    match relation {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => Some(vec![alias.name.clone()]),
        TableFactor::Table { name, alias: None, args: None, .. } => name.0.iter().map(|part| part.as_ident().cloned()).collect(),
        _ => None,
    }
}

fn qualified(relation: &[Ident], column: &Ident) -> Expr {
    Expr::CompoundIdentifier(relation.iter().chain([column]).cloned().collect())
}

fn both(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn coalesce(left: &Expr, right: &Expr) -> Result<Expr, EngineError> {
    expr_of(&format!("coalesce({left}, {right})")).map_err(|error| EngineError::internal(error.to_string()))
}

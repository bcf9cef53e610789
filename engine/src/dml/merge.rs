//! MERGE: a join of the target and a source, as far as the clauses need it.

use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Ident, Join, JoinConstraint, JoinOperator, Merge, MergeAction, MergeClause, MergeClauseKind,
    MergeInsertExpr, MergeInsertKind, MergeUpdateExpr, ObjectName, TableFactor, TableWithJoins, With,
};

use super::assign::{assigned, value_of};
use super::operation::Operation;
use super::plan::{Action, Clause, MergeCondition, RowChange, Value};
use super::private_names::SOURCE_MARK;
use super::select::{Finder, derived, name_of};
use super::sides::name_side;
use super::target::ChangeTarget;
use crate::execution::StatementContext;
use common::error::EngineError;
use common::privilege::Privilege;
use sql::NOTHING;

pub async fn merge(ctx: &StatementContext, merge: Merge, with: Option<With>) -> Result<RowChange, EngineError> {
    if merge.output.is_some() {
        return Err(EngineError::unsupported("MERGE … RETURNING", Some("select the rows afterwards, in the same transaction")));
    }
    if !merge.optimizer_hints.is_empty() {
        return Err(EngineError::unsupported("hints of MERGE", Some("leave them out")));
    }
    if merge.clauses.is_empty() {
        let hint = "say what to do: WHEN MATCHED THEN …, WHEN NOT MATCHED THEN …";
        return Err(EngineError::Sql { message: "MERGE has no WHEN".into(), position: None, hint: Some(hint.into()) });
    }
    let target = ChangeTarget::of_factor(ctx, Operation::Merge, merge.table).await?;
    let mut finder = Finder::of(&target)?.with(with);
    target.check_alone(&merge.source)?;
    let sides = (Some(Ident::with_quote('"', target.alias.as_str())), name_of(&merge.source));
    let clauses = merge.clauses.into_iter().map(|mut clause| {
        name_side(&mut clause, &sides);
        planned(ctx, &target, &mut finder, clause)
    });
    let clauses = clauses.collect::<Result<Vec<_>, _>>()?;
    let has = |when| clauses.iter().any(|clause: &Clause| clause.when == when);
    let (inserts, lacks_source) = (has(MergeCondition::NotMatchedByTarget), has(MergeCondition::NotMatchedBySource));
    let on = JoinConstraint::On(*merge.on);
    let join_operator = match (inserts, lacks_source) {
        (true, true) => JoinOperator::FullOuter(on),
        (true, false) => JoinOperator::LeftOuter(on),
        (false, true) => JoinOperator::RightOuter(on),
        (false, false) => JoinOperator::Inner(on),
    };
    let source = if lacks_source { marked(merge.source)? } else { named(merge.source)? };
    let from = finder.from()?;
    let Some(rows) = from.pop() else { return Err(EngineError::internal("MERGE lost its target")) };
    let join = Join { relation: rows.relation, global: false, join_operator };
    from.push(TableWithJoins { relation: source, joins: vec![join] });
    let mut row_change = RowChange::rows(Operation::Merge, target, finder, clauses)?;
    row_change.lacks_target = inserts;
    row_change.lacks_source = lacks_source;
    Ok(row_change)
}

fn named(source: TableFactor) -> Result<TableFactor, EngineError> {
    match source {
        TableFactor::NestedJoin { .. } => {
            Err(EngineError::unsupported("MERGE … USING a join", Some("use a subquery: USING (SELECT … FROM a JOIN b …) AS s")))
        }
        source => Ok(source),
    }
}

/// The source with an extra column that is never NULL, which tells rows without a source apart.
fn marked(source: TableFactor) -> Result<TableFactor, EngineError> {
    let alias = name_of(&source);
    derived(&format!("*, true AS {SOURCE_MARK}"), source, alias)
}

fn planned(ctx: &StatementContext, target: &ChangeTarget, finder: &mut Finder, clause: MergeClause) -> Result<Clause, EngineError> {
    let when = match clause.clause_kind {
        MergeClauseKind::Matched => MergeCondition::Matched,
        MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => MergeCondition::NotMatchedByTarget,
        MergeClauseKind::NotMatchedBySource => MergeCondition::NotMatchedBySource,
    };
    let condition = clause.predicate.map(|predicate| finder.item(predicate));
    let action = match clause.action {
        MergeAction::Delete { .. } => {
            target.table.check(Privilege::Delete)?;
            Action::Delete
        }
        MergeAction::Update(update) => {
            target.table.check(Privilege::Update)?;
            updated(ctx, target, finder, update)?
        }
        MergeAction::Insert(insert) => {
            target.table.check(Privilege::Insert)?;
            inserted(ctx, target, finder, insert)?
        }
    };
    Ok(Clause { when, condition, action })
}

fn updated(ctx: &StatementContext, target: &ChangeTarget, finder: &mut Finder, update: MergeUpdateExpr) -> Result<Action, EngineError> {
    if update.update_predicate.is_some() || update.delete_predicate.is_some() {
        return Err(EngineError::unsupported("WHERE after UPDATE in MERGE", Some("write WHEN MATCHED AND … THEN UPDATE")));
    }
    if let [Assignment { target: AssignmentTarget::ColumnName(name), .. }] = update.assignments.as_slice()
        && is_nothing(name)
    {
        return Ok(Action::Nothing);
    }
    Ok(Action::Write(assigned(ctx, target, finder, update.assignments)?))
}

fn inserted(ctx: &StatementContext, target: &ChangeTarget, finder: &mut Finder, insert: MergeInsertExpr) -> Result<Action, EngineError> {
    if insert.insert_predicate.is_some() {
        return Err(EngineError::unsupported("WHERE after INSERT in MERGE", Some("write WHEN NOT MATCHED AND … THEN INSERT")));
    }
    if insert.columns.iter().any(is_nothing) {
        return Ok(Action::Nothing);
    }
    let MergeInsertKind::Values(rows) = insert.kind else {
        return Err(EngineError::unsupported("INSERT ROW", Some("write INSERT (columns) VALUES (values)")));
    };
    let Ok([row]) = <[_; 1]>::try_from(rows.rows) else {
        let message = "INSERT of MERGE takes one row of values".to_string();
        return Err(EngineError::Sql { message, position: None, hint: Some("write VALUES (…) once".into()) });
    };
    let width = target.schema().fields().len();
    let columns = match insert.columns.is_empty() {
        true => (0..width).collect(),
        false => insert.columns.iter().map(|name| target.column(ctx, name)).collect::<Result<Vec<_>, _>>()?,
    };
    if columns.len() != row.content.len() {
        let message = format!("INSERT of MERGE has {} columns and {} values", columns.len(), row.content.len());
        return Err(EngineError::Sql { message, position: None, hint: Some("give each column one value".into()) });
    }
    let mut values = vec![Value::Default; width];
    let mut named = vec![false; width];
    for (column, expr) in columns.into_iter().zip(row.content) {
        if std::mem::replace(&mut named[column], true) {
            let message = format!("column \"{}\" is there twice", target.schema().field(column).name());
            return Err(EngineError::Sql { message, position: None, hint: Some("leave one of the two out".into()) });
        }
        values[column] = value_of(finder, expr);
    }
    Ok(Action::Write(values))
}

fn is_nothing(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|ident| ident.value == NOTHING))
}

//! UPDATE, with FROM or without.

use datafusion::sql::sqlparser::ast::{Update, UpdateTableFromKind, With};

use super::assign::assigned;
use super::operation::Operation;
use super::plan::{Action, Clause, MergeCondition, RowChange};
use super::select::Finder;
use super::target::ChangeTarget;
use crate::execution::StatementContext;
use common::error::EngineError;

pub async fn update(ctx: &StatementContext, update: Update, with: Option<With>) -> Result<RowChange, EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(what, Some(hint)));
    if update.returning.is_some() || update.output.is_some() {
        return refuse("UPDATE … RETURNING", "select the rows afterwards, in the same transaction");
    }
    if !update.order_by.is_empty() || update.limit.is_some() {
        return refuse("UPDATE … ORDER BY and LIMIT", "name the rows: UPDATE t … WHERE id IN (SELECT id FROM t ORDER BY … LIMIT …)");
    }
    if update.or.is_some() {
        return refuse("UPDATE OR …", "use WHERE for the rows that can be updated");
    }
    if !update.optimizer_hints.is_empty() {
        return refuse("hints of UPDATE", "leave them out");
    }
    if !update.table.joins.is_empty() {
        return refuse("UPDATE of a join", "use UPDATE t SET … FROM other WHERE …");
    }
    let target = ChangeTarget::of_factor(ctx, Operation::Update, update.table.relation).await?;
    let mut finder = Finder::of(&target)?.with(with);
    if let Some(UpdateTableFromKind::BeforeSet(others) | UpdateTableFromKind::AfterSet(others)) = update.from {
        finder.add_tables(&target, others)?;
    }
    finder.filter(update.selection)?;
    let values = assigned(ctx, &target, &mut finder, update.assignments)?;
    let clause = Clause { when: MergeCondition::Matched, condition: None, action: Action::Write(values) };
    RowChange::rows(Operation::Update, target, finder, vec![clause])
}

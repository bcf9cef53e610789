//! DELETE and TRUNCATE.

use datafusion::sql::sqlparser::ast::{Delete, FromTable, Truncate, With};

use super::operation::Operation;
use super::plan::{Action, Clause, MergeCondition, RowChange};
use super::select::Finder;
use super::target::ChangeTarget;
use crate::execution::StatementContext;
use common::error::EngineError;

pub async fn delete(ctx: &StatementContext, delete: Delete, with: Option<With>) -> Result<RowChange, EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(what, Some(hint)));
    if delete.returning.is_some() || delete.output.is_some() {
        return refuse("DELETE … RETURNING", "select the rows first, in the same transaction");
    }
    if !delete.order_by.is_empty() || delete.limit.is_some() {
        return refuse("DELETE … ORDER BY and LIMIT", "name the rows: DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY … LIMIT …)");
    }
    if !delete.optimizer_hints.is_empty() {
        return refuse("hints of DELETE", "leave them out");
    }
    let (FromTable::WithFromKeyword(mut from) | FromTable::WithoutKeyword(mut from)) = delete.from;
    let one = from.pop().filter(|one| from.is_empty() && one.joins.is_empty() && delete.tables.is_empty());
    let Some(one) = one else {
        return refuse("DELETE from several tables", "use a DELETE for each, with the other tables after USING");
    };
    let target = ChangeTarget::of_factor(ctx, Operation::Delete, one.relation).await?;
    let others = delete.using.unwrap_or_default();
    // This also removes rows that others add meanwhile, so it is correct only if it commits at once.
    if others.is_empty() && delete.selection.is_none() && target.table.write_scope().is_autocommit() {
        return RowChange::all(Operation::Delete, target);
    }
    let mut finder = Finder::of(&target)?.with(with);
    finder.add_tables(&target, others)?;
    finder.filter(delete.selection)?;
    let clause = Clause { when: MergeCondition::Matched, condition: None, action: Action::Delete };
    RowChange::rows(Operation::Delete, target, finder, vec![clause])
}

pub async fn truncate(ctx: &StatementContext, truncate: Truncate) -> Result<RowChange, EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(what, Some(hint)));
    if truncate.partitions.is_some() || truncate.identity.is_some() || truncate.cascade.is_some() || truncate.on_cluster.is_some() {
        return refuse("options of TRUNCATE", "leave them out");
    }
    if truncate.if_exists {
        return refuse("TRUNCATE IF EXISTS", "leave IF EXISTS out");
    }
    let mut names = truncate.table_names;
    let Some(one) = names.pop().filter(|one| names.is_empty() && !one.only && !one.has_asterisk) else {
        return refuse("TRUNCATE of several tables", "use a TRUNCATE for each");
    };
    let target = ChangeTarget::open(ctx, Operation::Truncate, one.name, None).await?;
    RowChange::all(Operation::Truncate, target)
}

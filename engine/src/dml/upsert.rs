//! INSERT … ON CONFLICT: the rows to be inserted, joined with the existing rows of the same key.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::datasource::ViewTable;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Statement as PlanStatement};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, DoUpdate, Ident, Insert, OnConflict, OnConflictAction, OnInsert, TableObject, With};

use super::assign::assigned;
use super::conflict_key::conflict_key;
use super::operation::Operation;
use super::plan::{Action, Clause, MergeCondition, RowChange, Value};
use super::private_names::{INSERTED, NEW_PREFIX};
use super::select::{Finder, expr_of, quoted, target_text};
use super::statement::DeclaredTypes;
use super::target::ChangeTarget;
use crate::execution::StatementContext;
use common::error::EngineError;
use common::privilege::Privilege;
use sql::walk::each_expr_mut;
use table::catalog::PRIVATE_SCHEMA;

/// The name of the rows to be inserted.
const EXCLUDED: &str = "excluded";
/// Their order, and how many rows with the same key came before.
const ORDER: &str = "__quiver_order";
const NTH: &str = "__quiver_nth";

pub async fn upsert(
    ctx: &StatementContext,
    mut insert: Insert,
    on: OnInsert,
    types: Option<DeclaredTypes>,
) -> Result<RowChange, EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(what, Some(hint)));
    let OnInsert::OnConflict(OnConflict { conflict_target, action }) = on else {
        return refuse("ON DUPLICATE KEY UPDATE", "use ON CONFLICT (key) DO UPDATE SET …");
    };
    if insert.returning.is_some() || insert.output.is_some() {
        return refuse("INSERT … RETURNING", "select the rows afterwards, in the same transaction");
    }
    if insert.overwrite || insert.replace_into || insert.or.is_some() || insert.ignore {
        return refuse("ON CONFLICT with another way to replace rows", "use ON CONFLICT alone");
    }
    let TableObject::TableName(name) = &insert.table else {
        return refuse("INSERT into what is not a table", "name a table");
    };
    let alias = insert.table_alias.take().map(|alias| alias.alias);
    let target = ChangeTarget::open(ctx, Operation::Insert, name.clone(), alias).await?;
    if matches!(action, OnConflictAction::DoUpdate(_)) {
        target.table.check(Privilege::Update)?;
    }
    let key = conflict_key(ctx, &target, conflict_target)?;
    let rows = rows_to_insert(ctx, insert, types).await?;
    let ordered = matches!(action, OnConflictAction::DoNothing);
    let mut finder = Finder::from_text(&joined(&target, &key, &rows, ordered))?;
    let mut clauses = Vec::with_capacity(3);
    match action {
        OnConflictAction::DoNothing => {
            let first = any_of(&target, &key, &format!("{NTH} = 1"), "IS NULL", " OR ");
            clauses.push(insertion(&target, &mut finder, Some(&first))?);
        }
        OnConflictAction::DoUpdate(DoUpdate { assignments, selection }) => {
            let again = any_of(&target, &key, &format!("{NTH} > 1"), "IS NOT NULL", " AND ");
            let condition = Some(finder.item(expr_of(&again)?));
            clauses.push(Clause { when: MergeCondition::Always, condition, action: Action::Twice });
            let mut assignments = assignments;
            assignments.iter_mut().for_each(|assignment| renamed(&target, &mut assignment.value));
            let values = assigned(ctx, &target, &mut finder, assignments)?;
            let condition = selection.map(|mut selection| {
                renamed(&target, &mut selection);
                finder.item(selection)
            });
            clauses.push(Clause { when: MergeCondition::Matched, condition, action: Action::Write(values) });
            clauses.push(insertion(&target, &mut finder, None)?);
        }
    }
    let mut row_change = RowChange::rows(Operation::Insert, target, finder, clauses)?;
    row_change.lacks_target = true;
    row_change.tables.push((INSERTED, Arc::new(ViewTable::new(rows, None))));
    Ok(row_change)
}

/// `WITH … INSERT` means the same as `INSERT … WITH …`.
pub fn add_with(insert: &mut Insert, with: With) -> Result<(), EngineError> {
    match &mut insert.source {
        Some(source) if source.with.is_none() => {
            source.with = Some(with);
            Ok(())
        }
        _ => Err(EngineError::unsupported("WITH before this INSERT", Some("write it in the query of the INSERT"))),
    }
}

/// The source rows with all columns of the table, under names that no expression uses: an unqualified column name refers to the target.
async fn rows_to_insert(ctx: &StatementContext, insert: Insert, types: Option<DeclaredTypes>) -> Result<LogicalPlan, EngineError> {
    let insert = ast::Statement::Insert(insert);
    let statement = match types {
        Some(types) => types.prepare(insert),
        None => insert,
    };
    let plan = match ctx.plan_query(Statement::Statement(Box::new(statement)), Vec::new()).await? {
        LogicalPlan::Statement(PlanStatement::Prepare(prepare)) => Arc::unwrap_or_clone(prepare.input),
        plan => plan,
    };
    let LogicalPlan::Dml(insert) = plan else {
        return Err(EngineError::internal("an INSERT became something else"));
    };
    let columns = insert.input.schema().iter().map(|(table, field)| {
        let column = Expr::Column(Column::new(table.cloned(), field.name()));
        column.alias(hidden(field.name()))
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::clone(&insert.input))?))
}

/// The FROM clause.
fn joined(target: &ChangeTarget, key: &[usize], rows: &LogicalPlan, ordered: bool) -> String {
    let keys: Vec<String> = key.iter().map(|column| quoted(&hidden(target.schema().field(*column).name()))).collect();
    let keys = keys.join(", ");
    let counted = if rows.max_rows() == Some(1) {
        format!("SELECT *, 1 AS {NTH} FROM {PRIVATE_SCHEMA}.{INSERTED}")
    } else if ordered {
        let numbered = format!("SELECT *, row_number() OVER () AS {ORDER} FROM {PRIVATE_SCHEMA}.{INSERTED}");
        format!("SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY {ORDER}) AS {NTH} FROM ({numbered}) AS numbered")
    } else {
        format!("SELECT *, row_number() OVER (PARTITION BY {keys}) AS {NTH} FROM {PRIVATE_SCHEMA}.{INSERTED}")
    };
    let same_key = key.iter().map(|column| {
        let name = target.schema().field(*column).name();
        format!("{EXCLUDED}.{} = {}.{}", quoted(&hidden(name)), quoted(&target.alias), quoted(name))
    });
    let same_key = same_key.collect::<Vec<_>>().join(" AND ");
    format!("({counted}) AS {EXCLUDED} LEFT JOIN {} ON {same_key}", target_text(target))
}

/// `first` and a test of each key column, because a row with a NULL key duplicates no other.
fn any_of(target: &ChangeTarget, key: &[usize], first: &str, test: &str, with: &str) -> String {
    let tests = key.iter().map(|column| {
        let name = target.schema().field(*column).name();
        format!("{EXCLUDED}.{} {test}", quoted(&hidden(name)))
    });
    std::iter::once(format!("{EXCLUDED}.{first}")).chain(tests).collect::<Vec<_>>().join(with)
}

fn insertion(target: &ChangeTarget, finder: &mut Finder, condition: Option<&str>) -> Result<Clause, EngineError> {
    let values = target.schema().fields().iter().map(|field| {
        let column = expr_of(&format!("{EXCLUDED}.{}", quoted(&hidden(field.name()))))?;
        Ok(Value::Item(finder.item(column)))
    });
    let values = values.collect::<Result<Vec<_>, EngineError>>()?;
    let condition = condition.map(|condition| Ok::<_, EngineError>(finder.item(expr_of(condition)?))).transpose()?;
    Ok(Clause { when: MergeCondition::NotMatchedByTarget, condition, action: Action::Write(values) })
}

/// Renames `excluded.x` to its name in the query.
fn renamed(target: &ChangeTarget, expr: &mut ast::Expr) {
    each_expr_mut(expr, &mut |expr| {
        if let ast::Expr::CompoundIdentifier(parts) = expr
            && let [table, column, ..] = parts.as_mut_slice()
            && target.lowered(table) == EXCLUDED
        {
            let name = target.lowered(column);
            // Any other name keeps its spelling, for the error that it does not exist.
            if target.schema().index_of(&name).is_ok() {
                *column = Ident { value: hidden(&name), quote_style: Some('"'), span: column.span };
            }
        }
    });
}

fn hidden(column: &str) -> String {
    format!("{NEW_PREFIX}{column}")
}

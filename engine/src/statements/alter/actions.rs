//! The actions of an ALTER TABLE; each applies to the result of the previous ones.

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{self, AlterTableOperation, RenameTableNameKind};
use pmem_store::StoreError;

use super::columns;
use crate::execution::StatementContext;
use crate::statements::draft::Draft;
use crate::statements::table_options::{check_tier, set_options};
use common::error::{EngineError, nearest};
use sql::order_clause::KeyColumn;
use table::catalog::resolve;
use table::constraints::{identifier, table_constraint};
use table::write::key_of;

pub async fn apply(
    ctx: &StatementContext,
    draft: &mut Draft,
    operation: AlterTableOperation,
    key: &mut Option<Vec<KeyColumn>>,
    namespace: &str,
) -> Result<(), EngineError> {
    use AlterTableOperation as Op;
    match operation {
        Op::AddColumn { if_not_exists, column_def, column_position: None, .. } => columns::add(ctx, draft, column_def, if_not_exists).await,
        Op::AddColumn { .. } => {
            Err(EngineError::unsupported("FIRST and AFTER", Some("a new column is the last one; name columns in queries")))
        }
        Op::DropColumn { column_names, if_exists, drop_behavior, .. } => {
            let cascade = drop_behavior == Some(ast::DropBehavior::Cascade);
            column_names.iter().try_for_each(|name| columns::drop(draft, &identifier(name), if_exists, cascade))
        }
        Op::RenameColumn { old_column_name, new_column_name } => {
            columns::rename(draft, &identifier(&old_column_name), &identifier(&new_column_name))
        }
        Op::AlterColumn { column_name, op } => columns::alter(ctx, draft, &identifier(&column_name), op).await,
        Op::RenameTable { table_name } => rename_table(draft, table_name, namespace),
        Op::AddConstraint { constraint, not_valid: false } => draft.declare(ctx, table_constraint(&constraint)?),
        Op::AddConstraint { .. } => {
            Err(EngineError::unsupported("NOT VALID", Some("leave it out: the rows that are there are checked when a constraint is added")))
        }
        Op::DropConstraint { if_exists, name, .. } => drop_constraint(draft, &identifier(&name), if_exists),
        Op::DropPrimaryKey { .. } => match draft.constraints.iter().find(|constraint| constraint.is_primary_key()) {
            Some(constraint) => drop_constraint(draft, &constraint.name.clone(), false),
            None => Err(StoreError::DoesNotExist { kind: "constraint", name: "PRIMARY KEY".into() }.into()),
        },
        // This stands for ORDER BY (…) in the text for the parser.
        Op::DropClusteringKey => {
            draft.key = key_of(&draft.schema(), &key.take().unwrap_or_default())?;
            Ok(())
        }
        Op::SetOptionsParens { options } => {
            let before = draft.options.clone();
            set_options(&mut draft.options, options)?;
            check_tier(&ctx.engine.store, &before, &draft.options)
        }
        other => {
            let hint =
                "there are ADD, DROP, RENAME and ALTER COLUMN, ADD and DROP CONSTRAINT, RENAME TO, SET ORDER BY (…), SET (option = value)";
            Err(EngineError::unsupported(format!("ALTER TABLE … {other}"), Some(hint)))
        }
    }
}

fn rename_table(draft: &mut Draft, name: RenameTableNameKind, namespace: &str) -> Result<(), EngineError> {
    let (RenameTableNameKind::To(name) | RenameTableNameKind::As(name)) = name;
    let name = TableReference::parse_str(&name.to_string());
    if name.schema().is_some() && resolve(&name)?.0 != namespace {
        return Err(EngineError::unsupported("moving a table to another schema", Some("use CREATE TABLE … AS SELECT")));
    }
    draft.name = name.table().to_string();
    Ok(())
}

fn drop_constraint(draft: &mut Draft, name: &str, if_exists: bool) -> Result<(), EngineError> {
    match draft.constraints.iter().position(|constraint| constraint.name == name) {
        Some(place) => {
            draft.constraints.remove(place);
            Ok(())
        }
        None if if_exists => Ok(()),
        None => {
            let near = nearest(name, draft.constraints.iter().map(|constraint| constraint.name.as_str()));
            let hint = near.map(|near| format!("did you mean \"{near}\"?"));
            let message = format!("table \"{}\" has no constraint \"{name}\"", draft.name);
            Err(EngineError::Sql { message, position: None, hint })
        }
    }
}

//! ADD, DROP, RENAME and ALTER COLUMN.

use arrow::datatypes::Field;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{AlterColumnOperation, ColumnDef, DataType as SqlType, Ident};
use pmem_store::{ColumnInfo, StoreError};

use super::widen::{initial_text, is_wider, widened_initial};
use crate::execution::StatementContext;
use crate::statements::create_table::column_field;
use crate::statements::draft::Draft;
use common::error::EngineError;
use common::type_names::column_type_name;
use table::constraints::{Rule, column_clauses, default_value, identifier, renamed};

pub async fn add(ctx: &StatementContext, draft: &mut Draft, column: ColumnDef, if_not_exists: bool) -> Result<(), EngineError> {
    let name = identifier(&column.name);
    if draft.find(&name).is_some() {
        return if if_not_exists { Ok(()) } else { Err(StoreError::AlreadyExists { kind: "column", name }.into()) };
    }
    let clauses = column_clauses(&column)?;
    let field = column_field(ctx, column.name, column.data_type).await?.with_nullable(!clauses.not_null);
    let mut info = ColumnInfo { default_sql: clauses.default, ..ColumnInfo::default() };
    if let Some(sql) = &info.default_sql {
        let value = default_value(&ctx.engine.rules, sql, &field).map_err(|error| ctx.located(error))?;
        let (value, is_same_for_all) = value;
        if !is_same_for_all {
            let hint = "add the column without it, then use ALTER COLUMN … SET DEFAULT for new rows and UPDATE for those that are there";
            return Err(EngineError::unsupported(format!("ADD COLUMN with DEFAULT {sql}, which differs from row to row,"), Some(hint)));
        }
        info.initial = initial_text(&value, field.data_type())?;
    }
    draft.push(field, info);
    clauses.constraints.into_iter().try_for_each(|declared| draft.declare(ctx, declared))
}

pub fn drop(draft: &mut Draft, name: &str, if_exists: bool, cascade: bool) -> Result<(), EngineError> {
    let place = match draft.find(name) {
        None if if_exists => return Ok(()),
        _ => draft.place(name)?,
    };
    let refuse = |message: String, hint: String| Err(EngineError::Sql { message, position: None, hint: Some(hint) });
    if draft.key.iter().any(|order| order.column == name) {
        let message = format!("table \"{}\" is kept in the order of column \"{name}\"", draft.name);
        return refuse(message, format!("change the order first: ALTER TABLE {} SET ORDER BY (…), or DROP CLUSTERING KEY", draft.name));
    }
    let id = draft.columns[place].info.id;
    let is_about = |columns: &[u32]| columns.contains(&id);
    if let Some(constraint) = draft.constraints.iter().find(|constraint| is_about(constraint.columns())).filter(|_| !cascade) {
        let message = format!("column \"{name}\" is in constraint \"{}\"", constraint.name);
        return refuse(message, "drop the constraint first, or use DROP COLUMN … CASCADE".into());
    }
    if draft.columns.len() == 1 {
        return refuse(format!("column \"{name}\" is the only one of table \"{}\"", draft.name), "use DROP TABLE".into());
    }
    draft.constraints.retain(|constraint| !is_about(constraint.columns()));
    draft.columns.remove(place);
    Ok(())
}

pub fn rename(draft: &mut Draft, old: &str, new: &str) -> Result<(), EngineError> {
    let place = draft.place(old)?;
    if old != new && draft.find(new).is_some() {
        return Err(StoreError::AlreadyExists { kind: "column", name: new.to_string() }.into());
    }
    let id = draft.columns[place].info.id;
    for constraint in &mut draft.constraints {
        if let Rule::Check { sql, columns } = &mut constraint.rule
            && columns.contains(&id)
        {
            *sql = renamed(sql, old, new)?;
        }
    }
    draft.key.iter_mut().filter(|order| order.column == old).for_each(|order| order.column = new.to_string());
    draft.columns[place].field.set_name(new);
    Ok(())
}

pub async fn alter(ctx: &StatementContext, draft: &mut Draft, name: &str, operation: AlterColumnOperation) -> Result<(), EngineError> {
    let place = draft.place(name)?;
    match operation {
        AlterColumnOperation::SetNotNull => draft.set_not_null(place),
        AlterColumnOperation::DropNotNull => drop_not_null(draft, place)?,
        AlterColumnOperation::SetDefault { value } => {
            let sql = value.to_string();
            default_value(&ctx.engine.rules, &sql, &draft.columns[place].field).map_err(|error| ctx.located(error))?;
            draft.columns[place].info.default_sql = Some(sql);
        }
        AlterColumnOperation::DropDefault => draft.columns[place].info.default_sql = None,
        AlterColumnOperation::SetDataType { data_type, using: None, .. } => set_type(ctx, draft, place, data_type).await?,
        AlterColumnOperation::SetDataType { .. } => {
            return Err(EngineError::unsupported(
                "TYPE … USING",
                Some("add a column, fill it with UPDATE, drop the old one and rename the new one"),
            ));
        }
        other => return Err(EngineError::unsupported(format!("ALTER COLUMN … {other}"), None)),
    }
    Ok(())
}

fn drop_not_null(draft: &mut Draft, place: usize) -> Result<(), EngineError> {
    let column = &mut draft.columns[place];
    let (name, id) = (column.field.name().clone(), column.info.id);
    if let Some(key) = draft.constraints.iter().find(|constraint| constraint.is_primary_key() && constraint.columns().contains(&id)) {
        let message = format!("column \"{name}\" is in the primary key \"{}\"", key.name);
        return Err(EngineError::Sql { message, position: None, hint: Some("drop that constraint first".into()) });
    }
    column.field.set_nullable(true);
    Ok(())
}

async fn set_type(ctx: &StatementContext, draft: &mut Draft, place: usize, data_type: SqlType) -> Result<(), EngineError> {
    let column = &draft.columns[place];
    let name = column.field.name().clone();
    let new_field = column_field(ctx, Ident::with_quote('"', name.as_str()), data_type).await?;
    let (from, to) = (column.field.data_type().clone(), new_field.data_type().clone());
    if from == to {
        // Revalidates the default: a tensor may have a new shape, or a fixed-size list may become a tensor.
        if let Some(sql) = &column.info.default_sql {
            default_value(&ctx.engine.rules, sql, &new_field).map_err(|error| ctx.located(error))?;
        }
        draft.columns[place].field = new_field.with_nullable(draft.columns[place].field.is_nullable());
        return Ok(());
    }
    if !is_wider(&from, &to) {
        let feature = format!("changing column \"{name}\" from {} to {}", column_type_name(&column.field), column_type_name(&new_field));
        let hint = "types can be widened: integers to longer ones, REAL to DOUBLE, DECIMAL to more digits; else add a column and fill it with UPDATE";
        return Err(EngineError::unsupported(feature, Some(hint)));
    }
    let mut info = column.info.clone();
    info.initial = widened_initial(info.initial, &from, &to)?;
    if let Some(sql) = &info.default_sql {
        let _: (ScalarValue, bool) = default_value(&ctx.engine.rules, sql, &new_field).map_err(|error| ctx.located(error))?;
    }
    let column = &mut draft.columns[place];
    column.field = Field::new(name, to, column.field.is_nullable());
    column.info = info;
    Ok(())
}

//! The columns of an ON CONFLICT clause: they must be a unique key, because nothing else can conflict.

use datafusion::sql::sqlparser::ast::{ConflictTarget, Ident, ObjectName};

use super::target::ChangeTarget;
use crate::execution::StatementContext;
use common::error::EngineError;
use table::constraints::{constraints_of, unique_keys};

/// The key that an INSERT … ON CONFLICT names, as positions of columns.
pub fn conflict_key(ctx: &StatementContext, target: &ChangeTarget, named: Option<ConflictTarget>) -> Result<Vec<usize>, EngineError> {
    let mut keys = unique_keys(&target.table.snapshot);
    match named {
        Some(ConflictTarget::Columns(names)) => {
            let columns = names.into_iter().map(|name| target.column(ctx, &ObjectName::from(vec![name])));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let is_same = |key: &Vec<usize>| key.len() == columns.len() && key.iter().all(|column| columns.contains(column));
            if keys.iter().any(is_same) {
                return Ok(columns);
            }
            let names: Vec<&str> = columns.iter().map(|column| target.schema().field(*column).name().as_str()).collect();
            let list = names.join(", ");
            Err(no_key(target, &format!(" on ({list})"), &format!("declare PRIMARY KEY ({list}) or UNIQUE ({list}), or use MERGE")))
        }
        Some(ConflictTarget::OnConstraint(name)) => match key_named(target, &name)? {
            Some(key) => Ok(key),
            None => Err(no_key(target, &format!(" named {name}"), "name the columns of a key: ON CONFLICT (id)")),
        },
        None => match (keys.pop(), keys.is_empty()) {
            (Some(key), true) => Ok(key),
            (Some(_), false) => {
                let hint = "name the columns of the key: ON CONFLICT (id)";
                Err(EngineError::unsupported("ON CONFLICT about several keys at once", Some(hint)))
            }
            (None, _) => Err(no_key(target, "", "declare a PRIMARY KEY or UNIQUE, or use MERGE")),
        },
    }
}

fn key_named(target: &ChangeTarget, name: &ObjectName) -> Result<Option<Vec<usize>>, EngineError> {
    let Some(name) = name.0.last().and_then(|part| part.as_ident()).map(|ident: &Ident| target.lowered(ident)) else {
        return Ok(None);
    };
    let table = &target.table.snapshot;
    let constraints = constraints_of(table.record())?;
    let Some(ids) = constraints.iter().find(|constraint| constraint.name == name).and_then(|constraint| constraint.key()) else {
        return Ok(None);
    };
    Ok(ids.iter().map(|id| table.columns().iter().position(|column| column.id == *id)).collect())
}

fn no_key(target: &ChangeTarget, which: &str, hint: &str) -> EngineError {
    let message = format!("table \"{}\" has no unique key{which}", target.table.snapshot.record().name);
    EngineError::Sql { message, position: None, hint: Some(hint.into()) }
}

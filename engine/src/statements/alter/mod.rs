//! ALTER TABLE: all actions of a statement are applied together, and no rows are rewritten.

mod actions;
mod columns;
mod widen;

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{self, AlterTableOperation};
use parking_lot::Mutex;
use pmem_store::{Snapshot, StoreError, TableSnapshot, said_name};

use super::draft::Draft;
use crate::execution::StatementContext;
use common::error::{EngineError, nearest};
use common::privilege::Privilege;
use common::type_names::qualified;
use sql::order_clause::KeyColumn;
use table::blocking::blocking;
use table::catalog::resolve;
use table::constraints::{check_existing, others_have_written};
use table::definition::VIEW;

/// `key` is the clause ORDER BY or CLUSTER BY, if there is one.
pub async fn alter_table(ctx: &StatementContext, alter: ast::AlterTable, key: Option<Vec<KeyColumn>>) -> Result<(), EngineError> {
    if alter.on_cluster.is_some() || alter.location.is_some() || alter.table_type.is_some() {
        return Err(EngineError::unsupported("this form of ALTER TABLE", Some("leave ON CLUSTER, LOCATION and ICEBERG out")));
    }
    let reference = TableReference::parse_str(&alter.name.to_string());
    ctx.catalog.check_stored(&reference, "ALTER TABLE of")?;
    let (namespace, name) = resolve(&reference)?;
    let Some(table) = existing(ctx, &namespace, &name, alter.if_exists)? else { return Ok(()) };
    ctx.catalog.check(|authorization| authorization.table(Privilege::Ownership, table.record()))?;
    if table.record().is_array() {
        let hint = format!("ALTER ARRAY {name} renames it, or makes it read-only");
        return Err(EngineError::unsupported(format!("ALTER TABLE of the array \"{name}\""), Some(&hint)));
    }
    let orders = alter.operations.iter().filter(|operation| matches!(operation, AlterTableOperation::DropClusteringKey)).count();
    if orders > 1 {
        return Err(EngineError::unsupported("a table with two orders", Some("use one ORDER BY (…), or DROP CLUSTERING KEY")));
    }
    let mut draft = Draft::of(&table)?;
    let mut key = key;
    for operation in alter.operations {
        actions::apply(ctx, &mut draft, operation, &mut key, &namespace).await?;
    }
    commit(ctx, &table, draft).await
}

fn existing(ctx: &StatementContext, namespace: &str, name: &str, if_exists: bool) -> Result<Option<TableSnapshot>, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    if let Some(table) = snapshot.table(namespace, name)? {
        return Ok(Some(table));
    }
    if let Some(view) = snapshot.view(namespace, name)? {
        let full_name = qualified(namespace, name);
        let hint = match view.kind == VIEW {
            true => format!("CREATE OR REPLACE VIEW {full_name} AS … gives it another query"),
            false => format!("CREATE OR REPLACE EXTERNAL TABLE {full_name} … declares it anew"),
        };
        return Err(EngineError::unsupported(format!("ALTER TABLE of the {} \"{name}\"", view.kind), Some(&hint)));
    }
    if if_exists {
        return Ok(None);
    }
    let listing = ctx.catalog.listing()?;
    let near = nearest(name, listing.iter().map(|listed| listed.name.as_str()));
    let hint = near.map(|near| format!("did you mean \"{near}\"?"));
    Err(EngineError::Sql { message: format!("table \"{}\" does not exist", said_name(namespace, name)), position: None, hint })
}

/// Checks the existing rows, including those that others commit meanwhile.
async fn commit(ctx: &StatementContext, table: &TableSnapshot, draft: Draft) -> Result<(), EngineError> {
    let Some(alteration) = draft.alteration(table)? else { return Ok(()) };
    let (rules, not_null) = draft.unproven(ctx)?;
    let proven = not_null.is_empty() && rules.checks.is_empty() && rules.keys.is_empty();
    let (scope, record) = (ctx.catalog.write_scope(), table.record().clone());
    blocking(move || {
        let mut broken = None;
        let changed = scope.change("ALTER TABLE", |transaction| {
            transaction.alter_table(&record.namespace, &record.name, alteration)?;
            let Some(now) = transaction.snapshot().table_by_id(record.id)?.filter(|_| !proven) else { return Ok(()) };
            if let Err(error) = check_existing(&now, &rules, &not_null) {
                let refused = StoreError::Refused(error.to_string());
                broken = Some(error);
                return Err(refused);
            }
            let Some(base) = transaction.base().table_by_id(record.id)? else { return Ok(()) };
            let last_table = Mutex::new(base);
            transaction.check_on_commit(Box::new(move |becoming: &std::sync::Arc<Snapshot>| {
                let Some(now) = becoming.table_by_id(record.id)? else { return Ok(()) };
                let mut last_table = last_table.lock();
                if others_have_written(&last_table, &now, becoming.version()) {
                    check_existing(&now, &rules, &not_null).map_err(|error| StoreError::Refused(error.to_string()))?;
                }
                *last_table = now;
                Ok(())
            }));
            Ok(())
        });
        changed.map_err(|error| broken.unwrap_or(error))
    })
    .await
}

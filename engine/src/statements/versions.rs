//! Runs the statements about versions.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::common::TableReference;
use pmem_store::{NamedSnapshot, StoreError, VersionInfo};

use super::alter_system::alter_system;
use super::ddl::{commit, refuse_transaction};
use crate::execution::StatementContext;
use crate::system::instants;
use common::clock::now_ms;
use common::error::EngineError;
use common::privilege::Privilege;
use sql::versions::duration::duration_ms;
use sql::versions::evaluate::constant;
use sql::versions::point::Point;
use sql::versions::statement::{Expiry, VersionStatement};
use table::blocking::blocking;
use table::catalog::past_table::{no_snapshot, version_of};
use table::catalog::resolve;

/// Returns rows for the statements that have some.
pub async fn run_versions(ctx: &StatementContext, statement: VersionStatement) -> Result<Option<RecordBatch>, EngineError> {
    match statement {
        VersionStatement::CreateSnapshot { name, if_not_exists } => {
            if !(if_not_exists && named(ctx).iter().any(|snapshot| snapshot.name == name)) {
                create_snapshot(ctx, &name)?;
            }
            Ok(None)
        }
        VersionStatement::DropSnapshot { name, if_exists } => {
            let snapshots = named(ctx);
            match snapshots.iter().any(|snapshot| snapshot.name == name) {
                true => commit(ctx, "DROP SNAPSHOT", |transaction| transaction.drop_snapshot(&name))?,
                false if if_exists => {}
                false => return Err(no_snapshot(&name, snapshots.iter().map(|snapshot| snapshot.name.as_str()))),
            }
            Ok(None)
        }
        VersionStatement::ShowSnapshots => shown(named(ctx), &ctx.engine.store.versions()?).map(Some),
        VersionStatement::Restore { table, to } => restore(ctx, &table, &to).await.map(|()| None),
        VersionStatement::Expire(expiry) => expire(ctx, expiry).await.map(Some),
        VersionStatement::AlterSystem { setting, value } => alter_system(ctx, &setting, value).await.map(|()| None),
    }
}

/// The rows of a statement that only lists; `None` for those that change something.
pub fn listed_versions(ctx: &StatementContext, statement: &VersionStatement) -> Result<Option<RecordBatch>, EngineError> {
    match statement {
        VersionStatement::ShowSnapshots => shown(named(ctx), &ctx.engine.store.versions()?).map(Some),
        _ => Ok(None),
    }
}

fn named(ctx: &StatementContext) -> Vec<NamedSnapshot> {
    ctx.catalog.snapshot().named_snapshots()
}

fn create_snapshot(ctx: &StatementContext, name: &str) -> Result<(), EngineError> {
    commit(ctx, "CREATE SNAPSHOT", |transaction| {
        if transaction.has_changed() {
            let what = "a snapshot is of a version that is committed, and this transaction has changed the store already; \
                        create it before the changes, or after COMMIT";
            return Err(StoreError::Refused(what.into()));
        }
        transaction.create_snapshot(name).map(|_| ())
    })
}

fn shown(mut named: Vec<NamedSnapshot>, versions: &[VersionInfo]) -> Result<RecordBatch, EngineError> {
    named.sort_by_key(|snapshot| snapshot.version);
    let committed = named.iter().map(|snapshot| {
        let version = versions.iter().find(|version| version.version == snapshot.version)?;
        Some(version.committed_at_ms)
    });
    let columns: [(&str, ArrayRef, bool); 4] = [
        ("name", Arc::new(StringArray::from_iter_values(named.iter().map(|snapshot| &snapshot.name))), false),
        ("version", Arc::new(Int64Array::from_iter_values(named.iter().map(|snapshot| snapshot.version as i64))), false),
        ("committed_at", instants(committed), true),
        ("created_at", instants(named.iter().map(|snapshot| Some(snapshot.created_at_ms))), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| EngineError::internal(error.to_string()))
}

async fn restore(ctx: &StatementContext, table: &TableReference, to: &Point) -> Result<(), EngineError> {
    ctx.catalog.check_stored(table, "RESTORE TABLE of")?;
    let (namespace, name) = resolve(table)?;
    let snapshot = ctx.catalog.snapshot();
    let Some(table) = snapshot.table(&namespace, &name)? else {
        return Err(StoreError::no_table(&namespace, &name).into());
    };
    ctx.catalog.check(|authorization| authorization.table(Privilege::Ownership, table.record()))?;
    let version = version_of(to, &ctx.state, &ctx.engine.store, &snapshot, table.record())?;
    let scope = ctx.catalog.write_scope();
    // This links or copies files.
    blocking(move || scope.change("RESTORE TABLE", |transaction| transaction.restore_table(&namespace, &name, version).map(|_| ()))).await
}

/// The number of expired versions, and the disk space that they release.
async fn expire(ctx: &StatementContext, expiry: Expiry) -> Result<RecordBatch, EngineError> {
    refuse_transaction(ctx, "EXPIRE VERSIONS")?;
    let store = Arc::clone(&ctx.engine.store);
    let newest = store.snapshot()?.version();
    let older_than_ms = match &expiry {
        Expiry::Before(version) if *version > newest => {
            let message = format!("there is no version {version} yet; the last one is {newest}");
            return Err(EngineError::Sql { message, position: None, hint: None });
        }
        Expiry::Before(_) => 0,
        Expiry::OlderThan(sql) => duration_ms(&constant(&ctx.state, sql)?)?,
    };
    let (before, after) = blocking(move || {
        let before = store.versions()?;
        match expiry {
            Expiry::Before(version) => store.expire_versions_before(version)?,
            Expiry::OlderThan(_) => store.expire_versions_older_than(now_ms().saturating_sub(older_than_ms))?,
        }
        Ok((before, store.versions()?))
    })
    .await?;
    let kept_bytes = |versions: &[VersionInfo]| versions.iter().map(|version| version.kept_bytes).sum::<u64>();
    let freed_bytes = kept_bytes(&before).saturating_sub(kept_bytes(&after));
    let expired = before.len().saturating_sub(after.len());
    let columns: [(&str, ArrayRef); 2] = [
        ("expired_versions", Arc::new(Int64Array::from(vec![expired as i64]))),
        ("freed_bytes", Arc::new(Int64Array::from(vec![freed_bytes as i64]))),
    ];
    RecordBatch::try_from_iter(columns).map_err(|error| EngineError::internal(error.to_string()))
}

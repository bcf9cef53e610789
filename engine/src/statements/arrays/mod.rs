//! Runs the statements about arrays.

mod create;
mod update;

use datafusion::common::TableReference;
use pmem_store::StoreError;
use pmem_store::objects::ObjectKind;

use crate::execution::StatementContext;
use crate::statements::ddl::drop_named;
use common::error::EngineError;
use common::privilege::Privilege;
use pmem_store::TableAlteration;
use sql::ArrayStatement;
use sql::arrays::ArrayChange;
use table::catalog::resolve;

/// Returns the number of cells that it has written; `None` if it writes none.
pub async fn run_arrays(ctx: &StatementContext, statement: ArrayStatement) -> Result<Option<u64>, EngineError> {
    match statement {
        ArrayStatement::Create(new) => create::create(ctx, *new).await.map(|()| None),
        ArrayStatement::Update { name, slices, query } => update::update(ctx, &name, &slices, &query).await.map(Some),
        ArrayStatement::Alter { name, change } => alter(ctx, &name, change).map(|()| None),
        ArrayStatement::Drop { name, if_exists } => drop_named(ctx, &name, if_exists, ObjectKind::Array.word()).map(|()| None),
    }
}

/// Whether it returns the number of cells that it has written.
pub fn counts(statement: &ArrayStatement) -> bool {
    matches!(statement, ArrayStatement::Update { .. })
}

fn alter(ctx: &StatementContext, name: &TableReference, change: ArrayChange) -> Result<(), EngineError> {
    let (namespace, name) = resolve(name)?;
    let snapshot = ctx.catalog.snapshot();
    let Some(record) = snapshot.table_record(&namespace, &name).filter(|record| record.is_array()) else {
        return Err(StoreError::DoesNotExist { kind: ObjectKind::Array.word(), name }.into());
    };
    ctx.catalog.check(|authorization| authorization.table(Privilege::Ownership, record))?;
    let mut alteration = TableAlteration::default();
    match change {
        ArrayChange::Rename(to) => {
            if to.schema().is_some() && resolve(&to)?.0 != namespace {
                return Err(EngineError::unsupported("moving an array to another schema", Some("name the array alone")));
            }
            alteration.name = Some(to.table().to_string());
        }
        ArrayChange::ReadOnly(is_read_only) => {
            let mut options = record.options.clone();
            options.insert("read_only".into(), is_read_only.to_string());
            alteration.options = Some(options);
        }
    }
    ctx.catalog.write_scope().check_writable()?;
    super::ddl::commit(ctx, "ALTER ARRAY", |transaction| transaction.alter_table(&namespace, &name, alteration))
}

//! ALTER … SET TIER: the tables and arrays that an object is or has get another tier; their segments are moved in the background.

use std::collections::BTreeMap;

use pmem_store::objects::{ObjectCatalog, ObjectKind, ObjectRecord};
use pmem_store::{TIER_OPTION, TableAlteration, Tier};

use super::ObjectResult;
use super::names::{check_owner, object};
use crate::execution::StatementContext;
use crate::statements::ddl::commit;
use crate::statements::table_options::check_tier;
use common::error::EngineError;
use common::type_names::qualified;
use sql::objects::ObjectName;

pub fn set_tier(ctx: &StatementContext, name: &ObjectName, tier: &str) -> Result<ObjectResult, EngineError> {
    let Some(tier) = Tier::of_word(tier) else {
        return Err(EngineError::unsupported(format!("the tier \"{tier}\""), Some("there are pmem, the store's own directory, and disk")));
    };
    check_tier(&ctx.engine.store, &BTreeMap::from([(TIER_OPTION.to_string(), tier.word().to_string())]))?;
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    let mut changes = Vec::new();
    for table in tables_of(&catalog, object(ctx, &catalog, name)?)? {
        check_owner(ctx, &table)?;
        let Some(record) = snapshot.table_record(&table.namespace, &table.name).filter(|record| record.tier() != tier.word()) else {
            continue;
        };
        let mut options = record.options.clone();
        options.insert(TIER_OPTION.into(), tier.word().into());
        changes.push((table, TableAlteration { options: Some(options), ..TableAlteration::default() }));
    }
    ctx.catalog.write_scope().check_writable()?;
    commit(ctx, "ALTER TIER", |transaction| {
        changes.into_iter().try_for_each(|(table, change)| transaction.alter_table(&table.namespace, &table.name, change))
    })?;
    Ok(ObjectResult::Nothing)
}

fn tables_of(catalog: &ObjectCatalog<'_>, object: ObjectRecord) -> Result<Vec<ObjectRecord>, EngineError> {
    match object.kind {
        ObjectKind::Table | ObjectKind::Array => Ok(vec![object]),
        ObjectKind::Group => {
            let below: Vec<_> = catalog.objects().below(object.id)?.into_iter().collect();
            let mut below = catalog.get_all(&below)?;
            below.retain(|member| matches!(member.kind, ObjectKind::Table | ObjectKind::Array));
            Ok(below)
        }
        ObjectKind::View | ObjectKind::Blob => {
            let (kind, name) = (object.kind.word(), qualified(&object.namespace, &object.name));
            let hint = if object.kind == ObjectKind::View { "it has no rows of its own" } else { "blobs share their segments" };
            Err(EngineError::unsupported(format!("a tier of the {kind} {name}"), Some(hint)))
        }
    }
}

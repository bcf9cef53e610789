//! ALTER … SET TIER and SET TIER POLICY: the tables and arrays that an object is or has get another tier, or rules for it; their segments are moved
//! in the background. Blobs too get another tier.

use std::collections::BTreeMap;

use arrow::buffer::Buffer;
use pmem_store::objects::{ObjectCatalog, ObjectKind, ObjectRecord};
use pmem_store::{TIER_OPTION, TIER_POLICY_OPTION, TableAlteration, Tier};

use super::ObjectResult;
use super::names::{check_owner, object};
use crate::execution::StatementContext;
use crate::statements::ddl::commit;
use crate::statements::table_options::check_tier;
use common::error::EngineError;
use common::type_names::qualified;
use sql::objects::ObjectName;
use table::catalog::resolve;

/// The tier ends rules that the tables may have: a table with both is given the tier first. A blob is written again, to the segments of that tier.
pub fn set_tier(ctx: &StatementContext, name: &ObjectName, tier: &str) -> Result<ObjectResult, EngineError> {
    let Some(tier) = Tier::of_word(tier) else {
        let hint = "there are memory, pmem (the store's own directory), disk and object";
        return Err(EngineError::unsupported(format!("the tier \"{tier}\""), Some(hint)));
    };
    let members = members_of(ctx, name)?;
    ctx.engine.store.tiers()?.check(tier)?;
    let snapshot = ctx.catalog.snapshot();
    let is_elsewhere =
        |blob: &&ObjectRecord| blob.kind == ObjectKind::Blob && blob.tier.as_deref().unwrap_or(Tier::Pmem.word()) != tier.word();
    let blobs: Vec<&ObjectRecord> = members.iter().filter(is_elsewhere).collect();
    let mut contents = snapshot.blobs()?.contents(&blobs.iter().map(|blob| blob.id).collect::<Vec<_>>())?;
    let mut moved = |blob: &ObjectRecord| {
        let content = contents.remove(&blob.id)?;
        Some((ObjectRecord { tier: Some(tier.word().to_string()), ..blob.clone() }, content))
    };
    let blobs: Vec<(ObjectRecord, Buffer)> = blobs.into_iter().filter_map(&mut moved).collect();
    change_options(ctx, &members, blobs, |options| {
        options.insert(TIER_OPTION.into(), tier.word().into());
        options.remove(TIER_POLICY_OPTION);
    })
}

pub fn set_policy(ctx: &StatementContext, name: &ObjectName, policy: &str) -> Result<ObjectResult, EngineError> {
    let members = members_of(ctx, name)?;
    if let [blob] = &members[..]
        && blob.kind == ObjectKind::Blob
    {
        let what = format!("rules for the tier of the blob {}", qualified(&blob.namespace, &blob.name));
        return Err(EngineError::unsupported(what, Some("blobs share segments; SET TIER moves one")));
    }
    change_options(ctx, &members, Vec::new(), |options| match policy.trim().is_empty() {
        true => drop(options.remove(TIER_POLICY_OPTION)),
        false => drop(options.insert(TIER_POLICY_OPTION.into(), policy.trim().to_lowercase())),
    })
}

/// Changes the options of the tables and arrays among these objects, and writes blobs, in one commit.
fn change_options(
    ctx: &StatementContext,
    members: &[ObjectRecord],
    blobs: Vec<(ObjectRecord, Buffer)>,
    change: impl Fn(&mut BTreeMap<String, String>),
) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let mut changes = Vec::new();
    for table in members.iter().filter(|member| member.kind.is_in_catalog()) {
        let Some(record) = snapshot.table_record(&table.namespace, &table.name) else { continue };
        let mut options = record.options.clone();
        change(&mut options);
        check_tier(&ctx.engine.store, &record.options, &options)?;
        if options != record.options {
            changes.push((table, TableAlteration { options: Some(options), ..TableAlteration::default() }));
        }
    }
    ctx.catalog.write_scope().check_writable()?;
    commit(ctx, "ALTER TIER", |transaction| {
        for (table, change) in changes {
            transaction.alter_table(&table.namespace, &table.name, change)?;
        }
        if blobs.is_empty() { Ok(()) } else { transaction.put_blobs(blobs) }
    })?;
    Ok(ObjectResult::Nothing)
}

/// The object, or what has a tier below the group. The user owns all of it.
fn members_of(ctx: &StatementContext, name: &ObjectName) -> Result<Vec<ObjectRecord>, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    // A hint to write VIEW for TABLE would lead to the next error.
    let (namespace, of_name) = resolve(&name.name)?;
    let is_view = name.kind.is_in_catalog() && snapshot.view(&namespace, &of_name)?.is_some();
    let kind = if is_view { ObjectKind::View } else { name.kind };
    let object = object(ctx, &catalog, &ObjectName { kind, name: name.name.clone() }, "ALTER")?;
    let members = match object.kind {
        ObjectKind::Table | ObjectKind::Array | ObjectKind::Blob => vec![object],
        ObjectKind::Group => {
            let below: Vec<_> = catalog.objects().below(object.id)?.into_iter().collect();
            let mut below = catalog.get_all(&below)?;
            below.retain(|member| matches!(member.kind, ObjectKind::Table | ObjectKind::Array | ObjectKind::Blob));
            below
        }
        ObjectKind::View | ObjectKind::Function => {
            let name = qualified(&object.namespace, &object.name);
            let hint = "it has no rows in the store: SET TIER moves those of tables and arrays";
            return Err(EngineError::unsupported(format!("a tier of the {} {name}", object.kind.word()), Some(hint)));
        }
    };
    members.iter().try_for_each(|member| check_owner(ctx, member))?;
    Ok(members)
}

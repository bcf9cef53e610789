//! CREATE, ALTER and DROP GROUP.

use std::collections::BTreeSet;

use datafusion::common::TableReference;
use pmem_store::StoreError;
use pmem_store::objects::{ObjectCatalog, ObjectId, ObjectKind, ObjectRecord};

use super::ObjectResult;
use super::names::{check_changeable, check_owner, group, new_object, object, put, renamed};
use super::tags::values_of;
use crate::execution::StatementContext;
use crate::statements::ddl::commit;
use common::error::EngineError;
use common::type_names::qualified;
use sql::objects::{GroupChange, ObjectName, Tag};
use table::catalog::resolve;

pub fn create(
    ctx: &StatementContext,
    name: &TableReference,
    if_not_exists: bool,
    within: Option<&TableReference>,
    tags: &[Tag],
) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    if if_not_exists && group(&catalog, name).is_ok() {
        return Ok(ObjectResult::Nothing);
    }
    let mut new = new_group(ctx, &catalog, name)?;
    new.attributes = values_of(ctx, tags)?;
    let mut changed = Vec::new();
    if let Some(within) = within {
        let around = group(&catalog, within)?;
        check_owner(ctx, &around)?;
        check_changeable(&around)?;
        new.groups.insert(around.id);
        changed.push(around);
    }
    changed.push(new);
    ctx.catalog.write_scope().check_writable()?;
    commit(ctx, "CREATE GROUP", |transaction| transaction.put_objects(changed))?;
    Ok(ObjectResult::Nothing)
}

/// A group that is not in the store yet.
pub fn new_group(ctx: &StatementContext, catalog: &ObjectCatalog<'_>, name: &TableReference) -> Result<ObjectRecord, EngineError> {
    let (namespace, name) = resolve(name)?;
    let new = new_object(ctx, ObjectKind::Group, namespace, name)?;
    catalog.objects().require_free_name(&new)?;
    Ok(new)
}

pub fn alter(ctx: &StatementContext, name: &TableReference, change: &GroupChange) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    let mut around = group(&catalog, name)?;
    check_owner(ctx, &around)?;
    if !matches!(change, GroupChange::ReadOnly(_)) {
        check_changeable(&around)?;
    }
    match change {
        GroupChange::Add(names) => {
            let members = objects(ctx, &catalog, names, "ADD")?;
            let mut changed = added_to(&catalog, &around, members)?;
            // Its row is written too, so that a transaction that drops the group conflicts with this one.
            changed.push(around);
            put(ctx, "ALTER GROUP", changed)?;
        }
        GroupChange::Remove(names) => {
            let mut members = objects(ctx, &catalog, names, "REMOVE")?;
            if let Some(other) = members.iter().find(|member| !member.groups.contains(&around.id)) {
                let (other, group) = (qualified(&other.namespace, &other.name), qualified(&around.namespace, &around.name));
                let hint = Some("system.group_members lists the members of groups".to_string());
                return Err(EngineError::Sql { message: format!("{other} is not in group {group}"), position: None, hint });
            }
            members.iter_mut().for_each(|member| {
                member.groups.remove(&around.id);
            });
            members.push(around);
            put(ctx, "ALTER GROUP", members)?;
        }
        GroupChange::Rename(to) => {
            put(ctx, "ALTER GROUP", vec![renamed(ctx, &catalog, around, to)?])?;
        }
        GroupChange::ReadOnly(is_read_only) => {
            around.is_read_only = *is_read_only;
            put(ctx, "ALTER GROUP", vec![around])?;
        }
    }
    Ok(ObjectResult::Nothing)
}

fn objects(
    ctx: &StatementContext,
    catalog: &ObjectCatalog<'_>,
    names: &[ObjectName],
    change: &str,
) -> Result<Vec<ObjectRecord>, EngineError> {
    let mut objects = Vec::with_capacity(names.len());
    let mut seen = BTreeSet::new();
    for name in names {
        let found = object(ctx, catalog, name, change)?;
        if seen.insert(found.id) {
            objects.push(found);
        }
    }
    Ok(objects)
}

/// The objects as members of the group. A group must not be below itself.
pub fn added_to(
    catalog: &ObjectCatalog<'_>,
    around: &ObjectRecord,
    mut members: Vec<ObjectRecord>,
) -> Result<Vec<ObjectRecord>, EngineError> {
    for member in &mut members {
        if member.kind == ObjectKind::Group && catalog.objects().below(member.id)?.contains(&around.id) {
            let (member, around) = (qualified(&member.namespace, &member.name), qualified(&around.namespace, &around.name));
            let message = match member == around {
                true => format!("group {member} cannot be in itself"),
                false => format!("group {member} cannot be in group {around}, which is below it"),
            };
            return Err(EngineError::Sql { message, position: None, hint: None });
        }
        member.groups.insert(around.id);
    }
    Ok(members)
}

pub fn drop_group(ctx: &StatementContext, name: &TableReference, if_exists: bool, cascade: bool) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    let dropped = match group(&catalog, name) {
        Err(EngineError::Store(StoreError::DoesNotExist { kind: "group", .. })) if if_exists => return Ok(ObjectResult::Nothing),
        found => found?,
    };
    check_owner(ctx, &dropped)?;
    check_changeable(&dropped)?;
    // Hidden members leave the group with it, and are not counted.
    let members = catalog.get_all(&catalog.objects().members(dropped.id)?)?.len();
    if members > 0 && !cascade {
        let (name, them) = (qualified(&dropped.namespace, &dropped.name), if members == 1 { "object" } else { "objects" });
        let hint = "DROP GROUP … CASCADE drops it with the groups that are in it alone; tables, views and blobs stay".to_string();
        return Err(EngineError::Sql { message: format!("group {name} has {members} {them}"), position: None, hint: Some(hint) });
    }
    let below: Vec<ObjectId> = catalog.objects().below(dropped.id)?.into_iter().collect();
    let below: Vec<ObjectRecord> = catalog.objects().get_all(&below)?;
    let gone = dropped_with(&dropped, &below);
    let (removed, mut left): (Vec<ObjectRecord>, Vec<ObjectRecord>) = below.into_iter().partition(|object| gone.contains(&object.id));
    removed.iter().try_for_each(|group| check_owner(ctx, group).and_then(|()| check_changeable(group)))?;
    left.retain(|object| !object.groups.is_disjoint(&gone));
    left.iter_mut().for_each(|object| object.groups.retain(|group| !gone.contains(group)));
    ctx.catalog.write_scope().check_writable()?;
    commit(ctx, "DROP GROUP", |transaction| {
        transaction.put_objects(left)?;
        transaction.remove_objects(&gone.iter().copied().collect::<Vec<_>>())
    })?;
    Ok(ObjectResult::Nothing)
}

/// The group, and the groups below it that are in no group that stays.
fn dropped_with(dropped: &ObjectRecord, below: &[ObjectRecord]) -> BTreeSet<ObjectId> {
    let mut gone = BTreeSet::from([dropped.id]);
    loop {
        let more = below.iter().filter(|object| {
            let may_go = object.kind == ObjectKind::Group && !gone.contains(&object.id);
            may_go && object.groups.iter().all(|group| gone.contains(group))
        });
        let more: Vec<ObjectId> = more.map(|object| object.id).collect();
        if more.is_empty() {
            return gone;
        }
        gone.extend(more);
    }
}

//! FIND, and the objects that TAG and UNTAG find.

use std::cmp::Ordering;

use datafusion::common::TableReference;
use pmem_store::Snapshot;
use pmem_store::attributes::AttributeValue;
use pmem_store::objects::{ObjectCatalog, ObjectId, ObjectRecord, PropertyKey, compare};

use super::ObjectResult;
use super::condition::{key_of, predicate_of};
use super::groups::{added_to, new_group};
use super::names::{check_changeable, check_owner, group, put};
use crate::execution::StatementContext;
use crate::objects::describe;
use common::error::EngineError;
use sql::objects::{Search, SearchOrder};

/// The objects, completed for a list.
pub fn find(ctx: &StatementContext, search: &Search) -> Result<Vec<ObjectRecord>, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let mut objects = found(ctx, &snapshot, search)?;
    describe(&ctx.engine, &snapshot, &mut objects)?;
    Ok(objects)
}

/// Adds the objects to a group, which is made if there is none of that name.
pub fn find_into(ctx: &StatementContext, search: &Search, into: &TableReference) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    let around = match group(&catalog, into) {
        Ok(around) => {
            check_owner(ctx, &around)?;
            check_changeable(&around)?;
            around
        }
        Err(_) => new_group(ctx, &catalog, into)?,
    };
    let mut members = found(ctx, &snapshot, search)?;
    members.retain(|member| member.id != around.id);
    let count = members.len() as u64;
    let mut changed = added_to(&catalog, &around, members)?;
    changed.push(around);
    put(ctx, "FIND", changed)?;
    Ok(ObjectResult::Changed(count))
}

/// Only the objects' own rows are complete.
pub fn found(ctx: &StatementContext, snapshot: &Snapshot, search: &Search) -> Result<Vec<ObjectRecord>, EngineError> {
    let catalog = ObjectCatalog::of(snapshot)?;
    let predicate = search.condition.as_deref().map(|condition| predicate_of(&ctx.state, condition)).transpose()?;
    let order: Vec<(PropertyKey, &SearchOrder)> =
        search.order.iter().map(|order| Ok((key_of(&order.key)?, order))).collect::<Result<_, EngineError>>()?;
    let needs_details = |key: &PropertyKey| matches!(key, PropertyKey::Owner | PropertyKey::SizeBytes | PropertyKey::ChangedAt);
    let mut is_described = order.iter().any(|(key, _)| needs_details(key));
    if let Some(predicate) = &predicate {
        predicate.visit_keys(&mut |key| is_described |= needs_details(key));
    }
    let mut objects = match (&predicate, &search.within) {
        (Some(predicate), _) if !is_described => catalog.search(predicate)?,
        (None, Some(within)) => {
            let below: Vec<ObjectId> = catalog.objects().below(group(&catalog, within)?.id)?.into_iter().collect();
            catalog.get_all(&below)?
        }
        _ => catalog.all()?,
    };
    if is_described {
        describe(&ctx.engine, snapshot, &mut objects)?;
        objects.retain(|object| predicate.as_ref().is_none_or(|predicate| predicate.evaluate(object) == Some(true)));
    }
    objects.retain(|object| search.kind.is_none_or(|kind| object.kind == kind));
    if let Some(within) = &search.within {
        let around = group(&catalog, within)?;
        let below = catalog.objects().below(around.id)?;
        objects.retain(|object| object.id != around.id && below.contains(&object.id));
    }
    // A search without an order has one nevertheless, so that LIMIT and OFFSET divide its result.
    objects.sort_by_cached_key(|object| object.id);
    if !order.is_empty() {
        objects.sort_by(|one, other| ordered(&order, one, other));
    }
    let limit = search.limit.unwrap_or(usize::MAX);
    Ok(objects.into_iter().skip(search.offset).take(limit).collect())
}

fn ordered(order: &[(PropertyKey, &SearchOrder)], one: &ObjectRecord, other: &ObjectRecord) -> Ordering {
    let by_key = |(key, order): &(PropertyKey, &SearchOrder)| match (key.value_in(one), key.value_in(other)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => {
            if order.nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (Some(_), None) => {
            if order.nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (Some(one), Some(other)) => {
            let ordering = compare(&one, &other).unwrap_or_else(|| rank(&one).cmp(&rank(&other)));
            if order.descending { ordering.reverse() } else { ordering }
        }
    };
    order.iter().map(by_key).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

/// Values of different types have an order too, so that the result is always the same.
fn rank(value: &AttributeValue) -> u8 {
    match value {
        AttributeValue::Boolean(_) => 0,
        AttributeValue::Integer(_) | AttributeValue::Double(_) => 1,
        AttributeValue::Timestamp(_) => 2,
        AttributeValue::Text(_) => 3,
        AttributeValue::List(_) => 4,
    }
}

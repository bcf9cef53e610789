//! Copies the rest of what belongs together to memory, when more than a share of it was read within a while.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pmem_store::attributes::AttributeValue;
use pmem_store::objects::{Comparison, ObjectCatalog, ObjectId, ObjectRecord, Predicate, PropertyKey};
use pmem_store::{Snapshot, Store, StoreError, TableId, Tier};

use super::wishes::TierWish;
use crate::compaction::prefetches::{Prefetches, Relation};
use common::clock::now_ms;
use common::type_names::qualified;

/// Tags of an object that are looked at: most objects have few.
const TAGS_MAX: usize = 64;

/// What the thread remembers of reads and prefetches.
pub struct PrefetchWatch {
    /// What an earlier process has read is not in memory any more.
    started_ms: u64,
    /// The last read that it has seen.
    seen_ms: u64,
    /// One window long.
    decided: Vec<(Relation, Instant)>,
}

/// What belongs together, as far as it lies in slower tiers.
struct Related {
    relation: Relation,
    members: BTreeSet<TableId>,
}

impl Default for PrefetchWatch {
    fn default() -> Self {
        PrefetchWatch { started_ms: now_ms(), seen_ms: 0, decided: Vec::new() }
    }
}

impl PrefetchWatch {
    /// Prefetches what is due. `go_on` is called between the steps of a copy, and ends it by an error.
    pub fn prefetch(
        &mut self,
        store: &Store,
        prefetches: &Prefetches,
        go_on: &mut dyn FnMut(u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let settings = store.tiers()?.prefetch;
        if !settings.is_on {
            return Ok(());
        }
        let snapshot = store.snapshot()?;
        let slow: BTreeSet<TableId> = snapshot
            .tables()?
            .iter()
            .filter(|table| TierWish::of(table).is_some_and(|wish| wish.may_be_slow()))
            .map(|table| table.id)
            .collect();
        if slow.len() < 2 {
            return Ok(());
        }
        let last_ms = |table: &TableId| store.touches(*table).last_ms().unwrap_or(0);
        let newest_ms = slow.iter().map(last_ms).max().unwrap_or(0);
        let since_ms = now_ms().saturating_sub(settings.window_ms).max(self.started_ms.saturating_sub(1));
        if newest_ms > self.seen_ms.max(since_ms) {
            self.seen_ms = newest_ms;
            let touched: BTreeSet<TableId> = slow.iter().copied().filter(|table| last_ms(table) > since_ms).collect();
            self.decided.retain(|(_, at)| at.elapsed() < Duration::from_millis(settings.window_ms));
            for Related { relation, members } in related(&snapshot, &slow, &touched)? {
                let (read, rest): (Vec<TableId>, Vec<TableId>) = members.iter().partition(|table| touched.contains(table));
                let is_due = read.len() as f64 > members.len() as f64 * settings.share && !rest.is_empty();
                if !is_due || self.decided.iter().any(|(decided, _)| *decided == relation) {
                    continue;
                }
                self.decided.push((relation.clone(), Instant::now()));
                prefetches.begin(relation, members.len() as u64, read.len() as u64);
                let brought = rest.into_iter().try_for_each(|table| bring(store, &snapshot, table, prefetches, go_on));
                prefetches.end(brought.err().map(|error| error.to_string()));
            }
        }
        Ok(())
    }
}

/// Copies a table's segments to memory.
fn bring(
    store: &Store,
    snapshot: &Snapshot,
    table: TableId,
    prefetches: &Prefetches,
    go_on: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let Some(snapshot) = snapshot.glance(table)? else { return Ok(()) };
    prefetches.change(|prefetch| prefetch.brought.push((table, snapshot.touches().bytes())));
    for segment in snapshot.segments().iter().filter(|segment| segment.durable_tier() > Tier::Pmem) {
        let bytes = store.move_segment(table, segment, Tier::Memory, go_on)?;
        prefetches.change(|prefetch| {
            prefetch.segments += u64::from(bytes > 0);
            prefetch.size_bytes += bytes;
        });
    }
    Ok(())
}

/// The groups and tags of what was read, each with all that lies in slower tiers.
fn related(snapshot: &Snapshot, slow: &BTreeSet<TableId>, touched: &BTreeSet<TableId>) -> Result<Vec<Related>, StoreError> {
    let catalog = ObjectCatalog::of(snapshot)?;
    let records = catalog.get_all(&touched.iter().copied().collect::<Vec<ObjectId>>())?;
    let mut related = Vec::new();
    for group in groups_above(&catalog, &records)? {
        let Some(record) = catalog.get(group)? else { continue };
        let members = catalog.objects().below(group)?.intersection(slow).copied().collect();
        related.push(Related { relation: Relation::Group(qualified(&record.namespace, &record.name)), members });
    }
    let mut tags: Vec<(String, AttributeValue)> = Vec::new();
    for (key, value) in records.iter().flat_map(|record| record.attributes.iter().take(TAGS_MAX)) {
        let is_new = !tags.iter().any(|(other, known)| other == key && known == value);
        if is_new && !matches!(value, AttributeValue::List(_)) {
            tags.push((key.to_string(), value.clone()));
        }
    }
    for (key, value) in tags {
        let attribute = PropertyKey::Attribute(key.clone());
        let predicate = Predicate::Compare { key: attribute, operator: Comparison::Equal, value: value.clone() };
        let members: BTreeSet<TableId> =
            catalog.search(&predicate)?.into_iter().map(|object| object.id).filter(|id| slow.contains(id)).collect();
        related.push(Related { relation: Relation::Tag(key, value), members });
    }
    Ok(related)
}

/// The groups of these objects, and the groups of these, at any height.
fn groups_above(catalog: &ObjectCatalog<'_>, records: &[ObjectRecord]) -> Result<BTreeSet<ObjectId>, StoreError> {
    let mut groups = BTreeSet::new();
    let mut unseen: Vec<ObjectId> = records.iter().flat_map(|record| record.groups.iter().copied()).collect();
    while let Some(id) = unseen.pop() {
        if groups.insert(id)
            && let Some(group) = catalog.get(id)?
        {
            unseen.extend(group.groups.iter().copied());
        }
    }
    Ok(groups)
}

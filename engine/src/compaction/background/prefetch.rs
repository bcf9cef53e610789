//! Copies the rest of what belongs together to memory, when more than a share of it was read within a while.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use pmem_store::attributes::{AttributeValue, put_sort_key};
use pmem_store::objects::{Comparison, ObjectCatalog, ObjectId, ObjectKind, ObjectRecord, Predicate, PropertyKey};
use pmem_store::{Snapshot, Store, StoreError, TableId, TableRecord, Tier, is_slow_tier};

use super::wishes::TierWish;
use crate::compaction::prefetches::{Prefetches, Relation};
use common::clock::now_ms;
use common::type_names::qualified;

/// Tags of an object that are looked at: most objects have few.
const TAGS_MAX: usize = 64;
/// Groups, and tags with a value, that are looked at in one round.
const RELATIONS_MAX: usize = 256;

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
    members: BTreeSet<ObjectId>,
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
        let slow = SlowObjects::of(&snapshot)?;
        if slow.tables.is_empty() {
            return Ok(());
        }
        let since_ms = now_ms().saturating_sub(settings.window_ms).max(self.started_ms.saturating_sub(1));
        let touched: BTreeSet<ObjectId> = store.touched_since(since_ms).into_iter().filter(|id| slow.may_have(*id)).collect();
        let newest_ms = touched.iter().filter_map(|id| store.touches(*id).last_ms()).max().unwrap_or(0);
        if newest_ms > self.seen_ms {
            self.seen_ms = newest_ms;
            self.decided.retain(|(_, at)| at.elapsed() < Duration::from_millis(settings.window_ms));
            for Related { relation, members } in related(&snapshot, &slow, &touched, go_on)? {
                let (read, rest): (Vec<ObjectId>, Vec<ObjectId>) = members.iter().partition(|id| touched.contains(id));
                let is_due = read.len() as f64 > members.len() as f64 * settings.share && !rest.is_empty();
                if !is_due || self.decided.iter().any(|(decided, _)| *decided == relation) {
                    continue;
                }
                self.decided.push((relation.clone(), Instant::now()));
                prefetches.begin(relation, members.len() as u64, read.len() as u64);
                let brought = bring(store, &snapshot, &slow, &rest, prefetches, go_on);
                prefetches.end(brought.err().map(|error| error.to_string()));
            }
        }
        Ok(())
    }
}

/// What may lie in slower tiers than the store's directory.
struct SlowObjects {
    /// Arrays are tables too.
    tables: BTreeSet<TableId>,
    others: BTreeSet<TableId>,
}

impl SlowObjects {
    fn of(snapshot: &Snapshot) -> Result<SlowObjects, StoreError> {
        let is_slow = |table: &TableRecord| TierWish::of(table).is_some_and(|wish| wish.may_be_slow());
        let (slow, others): (Vec<TableRecord>, Vec<TableRecord>) = snapshot.tables()?.into_iter().partition(is_slow);
        let ids = |tables: Vec<TableRecord>| tables.into_iter().map(|table| table.id).collect();
        Ok(SlowObjects { tables: ids(slow), others: ids(others) })
    }

    /// Reads of blobs are counted in slower tiers alone.
    fn may_have(&self, id: ObjectId) -> bool {
        !self.others.contains(&id)
    }

    fn has(&self, object: &ObjectRecord) -> bool {
        self.tables.contains(&object.id) || (object.kind == ObjectKind::Blob && object.tier.as_deref().is_some_and(is_slow_tier))
    }
}

/// Brings tables and arrays to memory segment by segment. Blobs share segments: from an object store come the batches that have them.
fn bring(
    store: &Store,
    snapshot: &Snapshot,
    slow: &SlowObjects,
    objects: &[ObjectId],
    prefetches: &Prefetches,
    go_on: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let begin = |id: ObjectId| prefetches.change(|prefetch| prefetch.brought.push((id, store.touches(id).bytes())));
    let count = |size_bytes: u64| {
        prefetches.change(|prefetch| {
            prefetch.segments += u64::from(size_bytes > 0);
            prefetch.size_bytes += size_bytes;
        });
    };
    let (tables, blobs): (Vec<ObjectId>, Vec<ObjectId>) = objects.iter().partition(|id| slow.tables.contains(id));
    for table in tables {
        let Some(snapshot) = snapshot.glance(table)? else { continue };
        begin(table);
        for segment in snapshot.segments().iter().filter(|segment| segment.durable_tier() > Tier::Pmem) {
            count(store.move_segment(table, segment, Tier::Memory, go_on)?);
        }
    }
    if !blobs.is_empty() {
        blobs.iter().for_each(|blob| begin(*blob));
        for found in snapshot.blobs()?.slow(&blobs)? {
            count(match found.segment.durable_tier() {
                Tier::Object => found.fetch()?,
                _ => store.move_segment(found.table, &found.segment, Tier::Memory, go_on)?,
            });
            go_on(0)?;
        }
    }
    Ok(())
}

/// The groups and tags of what was read, each with all that lies in slower tiers: those that most of it has, if there are very many.
fn related(
    snapshot: &Snapshot,
    slow: &SlowObjects,
    touched: &BTreeSet<ObjectId>,
    go_on: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<Vec<Related>, StoreError> {
    let catalog = ObjectCatalog::of(snapshot)?;
    let records = catalog.get_all(&touched.iter().copied().collect::<Vec<ObjectId>>())?;
    let mut related = Vec::new();
    for group in groups_above(&catalog, &records)?.into_iter().take(RELATIONS_MAX) {
        go_on(0)?;
        let Some(record) = catalog.get(group)? else { continue };
        let below: Vec<ObjectId> = catalog.objects().below(group)?.into_iter().filter(|id| slow.may_have(*id)).collect();
        let members = catalog.get_all(&below)?.iter().filter(|object| slow.has(object)).map(|object| object.id).collect();
        related.push(Related { relation: Relation::Group(qualified(&record.namespace, &record.name)), members });
    }
    for (key, value) in most_frequent_tags(&records) {
        go_on(0)?;
        let attribute = PropertyKey::Attribute(key.to_string());
        let predicate = Predicate::Compare { key: attribute, operator: Comparison::Equal, value: value.clone() };
        let members = catalog.search(&predicate)?.iter().filter(|object| slow.has(object)).map(|object| object.id).collect();
        related.push(Related { relation: Relation::Tag(key.to_string(), value), members });
    }
    Ok(related)
}

fn most_frequent_tags(records: &[ObjectRecord]) -> Vec<(&str, AttributeValue)> {
    let mut counts: HashMap<(&str, Vec<u8>), (usize, AttributeValue)> = HashMap::new();
    for (key, value) in records.iter().flat_map(|record| record.attributes.iter().take(TAGS_MAX)) {
        if !matches!(value, AttributeValue::List(_)) {
            let mut sort_key = Vec::new();
            value.each_scalar(&mut |value| put_sort_key(&mut sort_key, value));
            counts.entry((key, sort_key)).or_insert((0, value)).0 += 1;
        }
    }
    let mut tags: Vec<_> = counts.into_iter().map(|((key, sort_key), (count, value))| (Reverse(count), key, sort_key, value)).collect();
    tags.sort_unstable_by(|one, other| (one.0, one.1, &one.2).cmp(&(other.0, other.1, &other.2)));
    tags.into_iter().take(RELATIONS_MAX).map(|(_, key, _, value)| (key, value)).collect()
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

//! Moves segments to the tier of their table, one in each round: what changes meanwhile is seen before the next one.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use pmem_store::{Store, StoreError, StoreTiers, TableId, TableRecord, TableSegment, TableSnapshot, Tier};

use super::wishes::TierWish;
use crate::compaction::tier_moves::TierMoves;
use common::clock::now_ms;

/// The wait after a failure, doubled after each further one.
const AGAIN: Duration = Duration::from_secs(30);
const AGAIN_MAX: Duration = Duration::from_secs(3_600);
/// Rules are looked at once a day at least.
const DAY_MS: u64 = 86_400_000;

/// What the thread remembers of segments that could not be moved, or whose old file is still mapped.
#[derive(Default)]
pub struct TierWatch {
    /// As they were in the last round.
    tiers: Option<StoreTiers>,
    failed: HashMap<(TableId, u64), Failure>,
    /// Whether the object store was searched for what no segment leads to.
    is_swept: bool,
    /// When the rules of a table have to be looked at again.
    policy_due: Option<Instant>,
    /// Their old files take space until the mapping is released, which a reader may prevent.
    unreleased: Vec<TableSegment>,
}

struct Failure {
    count: u32,
    not_before: Instant,
}

/// A table that has a tier or rules.
struct Candidate {
    table: TableSnapshot,
    wish: TierWish,
    /// How long it was neither read nor changed.
    unused_ms: u64,
}

impl Candidate {
    /// The tier in which a segment is to lie; `in_memory` are those that fit into memory.
    fn wanted(&self, segment: &TableSegment, in_memory: &HashSet<(TableId, u64)>) -> Tier {
        let (given, durable) = (self.wish.given, segment.durable_tier());
        match &self.wish.policy {
            _ if in_memory.contains(&(self.table.record().id, segment.id())) => Tier::Memory,
            Some(policy) => policy.tier(given.max(Tier::Pmem), durable, self.unused_ms),
            None if given == Tier::Memory => durable,
            None => given,
        }
    }
}

impl TierWatch {
    /// Moves a segment, if one is not where it is to be; returns whether there was one. `go_on` is called between the steps of a move, and
    /// ends it by an error.
    pub fn move_next(
        &mut self,
        store: &Store,
        moves: &TierMoves,
        go_on: &mut dyn FnMut(u64) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        self.unreleased.retain(|segment| segment.open().is_ok_and(|segment| !segment.release_mapping()));
        self.sweep_objects(store);
        let tiers = store.tiers()?;
        if self.tiers.as_ref() != Some(&tiers) {
            // With another limit, or in another directory, there may be room.
            self.failed.clear();
            self.tiers = Some(tiers.clone());
        }
        let candidates = self.candidates(store)?;
        let in_memory = chosen_for_memory(&candidates, tiers.limit_bytes(Tier::Memory).unwrap_or(u64::MAX));
        let (mut misplaced, mut without_room) = (Vec::new(), Vec::new());
        for candidate in &candidates {
            for segment in candidate.table.segments() {
                let (table, wanted) = (candidate.table.record(), candidate.wanted(segment, &in_memory));
                if is_misplaced(segment, wanted) && tiers.check(wanted).is_ok() {
                    misplaced.push((table, segment, wanted));
                } else if candidate.wish.given == Tier::Memory && wanted != Tier::Memory {
                    without_room.push((table, segment));
                }
            }
        }
        let misplaced_keys = misplaced.iter().map(|(table, segment, _)| (table.id, segment.id()));
        let keys: HashSet<_> = misplaced_keys.chain(without_room.iter().map(|(table, segment)| (table.id, segment.id()))).collect();
        self.failed.retain(|key, _| keys.contains(key));
        if let Some((table, segment, wanted)) = misplaced.into_iter().find(|(table, segment, _)| self.may_be_tried(table.id, segment)) {
            self.move_segment(store, table, segment, wanted, moves, go_on);
            return Ok(true);
        }
        let full = without_room.into_iter().find(|(table, segment)| self.may_be_tried(table.id, segment));
        if let Some((table, segment)) = full {
            let (bytes, limit_bytes) = (segment.record().sealed.size_bytes, tiers.limit_bytes(Tier::Memory).unwrap_or_default());
            moves.begin(table, segment, Tier::Memory);
            moves.end(Some(StoreError::TierFull { tier: Tier::Memory.word(), bytes, limit_bytes }.to_string()));
            self.failed_again((table.id, segment.id()));
        }
        Ok(full.is_some())
    }

    /// It is tried again later.
    fn failed_again(&mut self, key: (TableId, u64)) {
        let count = self.failed.get(&key).map_or(0, |failure| failure.count);
        let wait = (AGAIN * 2_u32.saturating_pow(count)).min(AGAIN_MAX);
        self.failed.insert(key, Failure { count: count + 1, not_before: Instant::now() + wait });
    }

    /// Tables that were never given a tier or rules are not looked at, and none is kept in memory for this.
    fn candidates(&mut self, store: &Store) -> Result<Vec<Candidate>, StoreError> {
        let snapshot = store.snapshot()?;
        let mut candidates = Vec::new();
        self.policy_due = None;
        for record in snapshot.tables()? {
            let Some(wish) = TierWish::of(&record) else { continue };
            let Some(table) = snapshot.glance(record.id)? else { continue };
            let mut unused_ms = 0;
            if let Some(policy) = &wish.policy {
                let used_ms = record.created_at_ms.unwrap_or(0).max(table.touches().last_use_ms());
                unused_ms = now_ms().saturating_sub(used_ms);
                let step = policy.next_step_ms(unused_ms).map(|step_ms| Instant::now() + Duration::from_millis(step_ms.min(DAY_MS)));
                self.policy_due = self.policy_due.into_iter().chain(step).min();
            }
            candidates.push(Candidate { table, wish, unused_ms });
        }
        Ok(candidates)
    }

    /// Once, after the store was opened. If the object store does not answer, the next process does it.
    fn sweep_objects(&mut self, store: &Store) {
        if !std::mem::replace(&mut self.is_swept, true)
            && let Err(error) = store.sweep_object_tier()
        {
            tracing::warn!(%error, "the object store could not be searched for remains of moves");
        }
    }

    /// When to look again although nothing is committed.
    pub fn next(&self) -> Option<Duration> {
        let failed = self.failed.values().map(|failure| failure.not_before);
        let due = failed.chain(self.policy_due).map(|at| at.saturating_duration_since(Instant::now()));
        due.chain((!self.unreleased.is_empty()).then_some(AGAIN)).min()
    }

    fn may_be_tried(&self, table: TableId, segment: &TableSegment) -> bool {
        self.failed.get(&(table, segment.id())).is_none_or(|failure| failure.not_before <= Instant::now())
    }

    fn move_segment(
        &mut self,
        store: &Store,
        table: &TableRecord,
        segment: &TableSegment,
        tier: Tier,
        moves: &TierMoves,
        go_on: &mut dyn FnMut(u64) -> Result<(), StoreError>,
    ) {
        moves.begin(table, segment, tier);
        let moved = store.move_segment(table.id, segment, tier, go_on);
        moves.end(moved.as_ref().err().map(ToString::to_string));
        let key = (table.id, segment.id());
        match moved {
            Ok(_) => {
                self.failed.remove(&key);
                if tier != Tier::Memory {
                    self.unreleased.push(segment.clone());
                }
            }
            Err(error) => {
                let name = &table.name;
                tracing::warn!(table = %name, %error, "a segment could not be moved to the tier of its table; it is tried again later");
                self.failed_again(key);
            }
        }
    }
}

/// Copies in memory of rows in slower tiers stay until their memory is needed: reads and prefetches have made them.
fn is_misplaced(segment: &TableSegment, wanted: Tier) -> bool {
    match wanted {
        Tier::Memory => segment.tier() != Tier::Memory,
        Tier::Pmem => segment.tier() != Tier::Pmem,
        Tier::Disk | Tier::Object => segment.durable_tier() != wanted,
    }
}

/// The segments of tables of the tier in memory that fit: of the tables of which most was read lately.
fn chosen_for_memory(candidates: &[Candidate], limit_bytes: u64) -> HashSet<(TableId, u64)> {
    let mut tables: Vec<&TableSnapshot> =
        candidates.iter().filter(|candidate| candidate.wish.given == Tier::Memory).map(|candidate| &candidate.table).collect();
    tables.sort_by_key(|table| std::cmp::Reverse(table.touches().recent_bytes()));
    let mut left_bytes = limit_bytes;
    let mut fits = |segment: &&TableSegment| {
        let left = left_bytes.checked_sub(segment.record().sealed.size_bytes);
        left_bytes = left.unwrap_or(left_bytes);
        left.is_some()
    };
    let mut chosen = HashSet::new();
    for table in tables {
        chosen.extend(table.segments().iter().filter(&mut fits).map(|segment| (table.record().id, segment.id())));
    }
    chosen
}

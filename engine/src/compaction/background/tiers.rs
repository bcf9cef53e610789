//! Moves segments to the tier of their table, one in each round: what changes meanwhile is seen before the next one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use pmem_store::{Store, StoreError, TIER_OPTION, TableId, TableRecord, TableSegment, TableSnapshot, Tier};

use super::control::Control;
use crate::compaction::rate_limiter::RateLimiter;
use crate::compaction::tier_moves::TierMoves;

/// The wait after a failure, doubled after each further one.
const AGAIN: Duration = Duration::from_secs(30);
const AGAIN_MAX: Duration = Duration::from_secs(3_600);

/// What the thread remembers of segments that could not be moved, or whose old file is still mapped.
#[derive(Default)]
pub struct TierWatch {
    failed: HashMap<(TableId, u64), Failure>,
    /// Their old files take space until the mapping is released, which a reader may prevent.
    unreleased: Vec<TableSegment>,
}

struct Failure {
    count: u32,
    not_before: Instant,
}

impl TierWatch {
    /// Moves a segment, if one is not where it is to be; returns whether there was one. `meanwhile` is called between the steps of a move.
    pub fn move_next(
        &mut self,
        store: &Store,
        moves: &TierMoves,
        control: &Control,
        pace: &mut RateLimiter,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<bool, StoreError> {
        self.unreleased.retain(|segment| segment.open().is_ok_and(|segment| !segment.release_mapping()));
        let has_disk = store.disk_tier()?.is_some();
        let snapshot = store.snapshot()?;
        // Tables that were never given a tier are not looked at, and none is kept in memory for this.
        let given = snapshot.tables()?.into_iter().filter_map(with_tier).filter(|(_, tier)| has_disk || *tier == Tier::Pmem);
        for (record, tier) in given {
            let Some(table) = snapshot.glance(record.id)? else { continue };
            if let Some(segment) = self.misplaced(&table, tier) {
                self.move_segment(store, &table, segment, tier, moves, control, pace, meanwhile);
                return Ok(!control.is_stopping());
            }
        }
        Ok(false)
    }

    /// When to look again although nothing is committed.
    pub fn next(&self) -> Option<Duration> {
        let failed = self.failed.values().map(|failure| failure.not_before.saturating_duration_since(Instant::now()));
        failed.chain((!self.unreleased.is_empty()).then_some(AGAIN)).min()
    }

    /// The first segment that is not in this tier, and may be tried.
    fn misplaced<'a>(&self, table: &'a TableSnapshot, tier: Tier) -> Option<&'a TableSegment> {
        let may_be_tried = |segment: &&TableSegment| {
            let failure = self.failed.get(&(table.record().id, segment.id()));
            failure.is_none_or(|failure| failure.not_before <= Instant::now())
        };
        table.segments().iter().filter(may_be_tried).find(|segment| segment.tier() != tier)
    }

    #[expect(clippy::too_many_arguments, reason = "all of what a move needs is lent by the thread")]
    fn move_segment(
        &mut self,
        store: &Store,
        table: &TableSnapshot,
        segment: &TableSegment,
        tier: Tier,
        moves: &TierMoves,
        control: &Control,
        pace: &mut RateLimiter,
        meanwhile: &mut dyn FnMut(),
    ) {
        moves.begin(table.record(), segment, tier);
        let moved = store.move_segment(table.record().id, segment, tier, &mut |bytes| {
            meanwhile();
            if let Some(pause) = pace.wrote(bytes) {
                control.pause(pause);
            }
            match control.is_stopping() {
                true => Err(StoreError::Refused("the engine is being closed".into())),
                false => Ok(()),
            }
        });
        moves.end(moved.as_ref().err().map(ToString::to_string));
        let key = (table.record().id, segment.id());
        match moved {
            Ok(_) => {
                self.failed.remove(&key);
                self.unreleased.push(segment.clone());
            }
            Err(error) => {
                let name = &table.record().name;
                tracing::warn!(table = %name, %error, "a segment could not be moved to the tier of its table; it is tried again later");
                let count = self.failed.get(&key).map_or(0, |failure| failure.count);
                let wait = (AGAIN * 2_u32.saturating_pow(count)).min(AGAIN_MAX);
                self.failed.insert(key, Failure { count: count + 1, not_before: Instant::now() + wait });
            }
        }
    }
}

fn with_tier(record: TableRecord) -> Option<(TableRecord, Tier)> {
    let tier = record.options.get(TIER_OPTION).and_then(|word| Tier::of_word(word))?;
    Some((record, tier))
}

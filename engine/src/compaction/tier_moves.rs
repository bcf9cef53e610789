//! Moves of segments to the tier of their table: the one that runs, and the most recent finished ones.

use std::collections::VecDeque;

use parking_lot::Mutex;
use pmem_store::{TableRecord, TableSegment, Tier};

use common::clock::now_ms;

/// How many are remembered.
const LAST_MAX: usize = 200;

#[derive(Debug, Clone)]
pub struct MoveInfo {
    pub namespace: String,
    pub table: String,
    pub segment_id: u64,
    pub from: Tier,
    pub to: Tier,
    pub size_bytes: u64,
    pub started_at_ms: u64,
    /// `None` while it runs.
    pub finished_at_ms: Option<u64>,
    /// Why the rows have stayed where they were.
    pub error: Option<String>,
}

/// Only the maintenance thread moves segments, one after the other.
#[derive(Debug, Default)]
pub struct TierMoves(Mutex<VecDeque<MoveInfo>>);

impl TierMoves {
    pub fn begin(&self, table: &TableRecord, segment: &TableSegment, to: Tier) {
        let mut moves = self.0.lock();
        if moves.len() == LAST_MAX {
            moves.pop_front();
        }
        moves.push_back(MoveInfo {
            namespace: table.namespace.clone(),
            table: table.name.clone(),
            segment_id: segment.id(),
            from: segment.tier(),
            to,
            size_bytes: segment.record().sealed.size_bytes,
            started_at_ms: now_ms(),
            finished_at_ms: None,
            error: None,
        });
    }

    /// Ends the move that has begun last.
    pub fn end(&self, error: Option<String>) {
        if let Some(last) = self.0.lock().back_mut() {
            last.finished_at_ms = Some(now_ms());
            last.error = error;
        }
    }

    /// The oldest first.
    pub fn all(&self) -> Vec<MoveInfo> {
        self.0.lock().iter().cloned().collect()
    }
}

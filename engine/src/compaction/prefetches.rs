//! Prefetches: which there were, what each has brought to memory, and whether that was read.

use std::collections::VecDeque;

use parking_lot::Mutex;
use pmem_store::TableId;
use pmem_store::attributes::AttributeValue;

use common::clock::now_ms;

/// How many are remembered.
const LAST_MAX: usize = 200;

/// What belongs together.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// Everything below the group of this name.
    Group(String),
    /// What has this tag with this value.
    Tag(String, AttributeValue),
}

#[derive(Debug, Clone)]
pub struct PrefetchInfo {
    pub relation: Relation,
    /// Tables and arrays of slower tiers that belong together, and how many of them were read.
    pub members: u64,
    pub touched: u64,
    /// What was brought: the tables and arrays, each with the bytes of it that had been read until then.
    pub brought: Vec<(TableId, u64)>,
    pub segments: u64,
    pub size_bytes: u64,
    pub started_at_ms: u64,
    /// `None` while it runs.
    pub finished_at_ms: Option<u64>,
    /// Why it has not brought all of it.
    pub error: Option<String>,
}

/// Only the maintenance thread prefetches, one relation after the other.
#[derive(Debug, Default)]
pub struct Prefetches(Mutex<VecDeque<PrefetchInfo>>);

impl Prefetches {
    pub fn begin(&self, relation: Relation, members: u64, touched: u64) {
        let mut all = self.0.lock();
        if all.len() == LAST_MAX {
            all.pop_front();
        }
        all.push_back(PrefetchInfo {
            relation,
            members,
            touched,
            brought: Vec::new(),
            segments: 0,
            size_bytes: 0,
            started_at_ms: now_ms(),
            finished_at_ms: None,
            error: None,
        });
    }

    /// Changes the one that has begun last.
    pub fn change(&self, change: impl FnOnce(&mut PrefetchInfo)) {
        if let Some(last) = self.0.lock().back_mut() {
            change(last);
        }
    }

    pub fn end(&self, error: Option<String>) {
        self.change(|last| (last.finished_at_ms, last.error) = (Some(now_ms()), error));
    }

    /// The oldest first.
    pub fn all(&self) -> Vec<PrefetchInfo> {
        self.0.lock().iter().cloned().collect()
    }
}

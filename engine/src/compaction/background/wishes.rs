//! Where the segments of a table are to lie, by its options.

use pmem_store::{TIER_OPTION, TIER_POLICY_OPTION, TableRecord, Tier};

use crate::compaction::tier_policy::TierPolicy;

/// The tier that a table was given, and the rules that move it away from there.
pub struct TierWish {
    pub given: Tier,
    pub policy: Option<TierPolicy>,
}

impl TierWish {
    /// `None` for a table that was never given a tier or rules.
    pub fn of(table: &TableRecord) -> Option<TierWish> {
        let given = table.options.get(TIER_OPTION).and_then(|word| Tier::of_word(word));
        // It was checked when it was set.
        let policy = table.options.get(TIER_POLICY_OPTION).and_then(|text| TierPolicy::parse(text).ok());
        (given.is_some() || policy.is_some()).then(|| TierWish { given: given.unwrap_or(Tier::Pmem), policy })
    }

    /// Whether its segments may lie in a tier that is slower than the store's own directory.
    pub fn may_be_slow(&self) -> bool {
        self.given > Tier::Pmem || self.policy.is_some()
    }
}

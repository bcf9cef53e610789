//! Tiers of sizes. By rows and not by bytes: a segment has some hundred bytes however few its rows,
//! and eight segments of one row would never be more than one.

/// So many of a tier are rewritten together: fewer make a row be rewritten more often, more of them
/// leave more segments to be read.
pub const FAN_IN: usize = 8;

/// 0 for one row, and one more for each factor of [`FAN_IN`].
pub fn tier(rows: u64) -> u32 {
    let mut tier = 0;
    let mut most = 1u64;
    while rows > most {
        most = most.saturating_mul(FAN_IN as u64);
        tier += 1;
    }
    tier
}

/// The highest tier with at least [`FAN_IN`] members.
pub fn full_tier(tiers: impl Iterator<Item = u32>) -> Option<u32> {
    let mut counts = std::collections::BTreeMap::new();
    tiers.for_each(|tier| *counts.entry(tier).or_insert(0usize) += 1);
    counts.into_iter().rev().find(|(_, count)| *count >= FAN_IN).map(|(tier, _)| tier)
}

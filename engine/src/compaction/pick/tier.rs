//! Size tiers. They count rows and not bytes: a segment has a few hundred bytes however few its rows are, and eight segments of one row
//! would never leave their tier.

/// How many segments of a tier are rewritten together: with fewer, rows are rewritten more often; with more, reads visit more segments.
pub const FAN_IN: usize = 8;

/// 0 for one row, plus one for each factor of [`FAN_IN`].
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

//! Rules that move a table when it was not used for long: `disk after 30 days, object after 365 days, back on use`.

use datafusion::common::ScalarValue;
use pmem_store::Tier;

use common::error::EngineError;
use sql::versions::duration::duration_ms;

const BACK_ON_USE: &str = "back on use";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierPolicy {
    /// How long a table was not used, and the tier that it then has; to slower tiers after longer times.
    steps: Vec<(u64, Tier)>,
    /// Whether a use brings it back to the tier that it was given.
    comes_back: bool,
}

impl TierPolicy {
    pub fn parse(text: &str) -> Result<TierPolicy, EngineError> {
        let mut policy = TierPolicy { steps: Vec::new(), comes_back: false };
        for rule in text.split(',').map(|rule| rule.trim().to_lowercase()) {
            if rule == BACK_ON_USE {
                policy.comes_back = true;
                continue;
            }
            let Some((tier, time)) = rule.split_once(" after ") else { return Err(invalid(&rule)) };
            let tier = Tier::of_word(tier.trim()).filter(|tier| *tier > Tier::Pmem).ok_or_else(|| invalid(&rule))?;
            let after_ms = duration_ms(&ScalarValue::from(time.trim()))?;
            if policy.steps.last().is_some_and(|(before_ms, faster)| *before_ms >= after_ms || *faster >= tier) {
                return Err(invalid(&rule));
            }
            policy.steps.push((after_ms, tier));
        }
        match policy.steps.is_empty() {
            true => Err(invalid(text)),
            false => Ok(policy),
        }
    }

    pub fn tiers(&self) -> impl Iterator<Item = Tier> {
        self.steps.iter().map(|(_, tier)| *tier)
    }

    /// The tier of rows that lie in `current`, of a table with the tier `given` that was not used for this time.
    pub fn tier(&self, given: Tier, current: Tier, unused_ms: u64) -> Tier {
        let step = self.steps.iter().rev().find(|(after_ms, _)| *after_ms <= unused_ms).map(|(_, tier)| *tier);
        // It moves down, never up.
        let tier = step.map_or(given, |tier| tier.max(given));
        if self.comes_back || tier >= current { tier } else { current }
    }

    /// The time until the next step.
    pub fn next_step_ms(&self, unused_ms: u64) -> Option<u64> {
        self.steps.iter().map(|(after_ms, _)| *after_ms).find(|after_ms| *after_ms > unused_ms).map(|after_ms| after_ms - unused_ms)
    }
}

fn invalid(rule: &str) -> EngineError {
    let hint = "write 'disk after 30 days, object after 365 days': slower tiers after longer times, and 'back on use' if a use is to bring it back";
    EngineError::Sql { message: format!("\"{rule}\" is no rule of a tier policy"), position: None, hint: Some(hint.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn what_is_not_used_moves_down_step_by_step() {
        let policy = TierPolicy::parse("disk after 30 days, OBJECT AFTER 365 days").unwrap();
        let tier = |days: u64, current| policy.tier(Tier::Pmem, current, days * DAY_MS);
        assert_eq!((tier(0, Tier::Pmem), tier(29, Tier::Pmem), tier(30, Tier::Pmem)), (Tier::Pmem, Tier::Pmem, Tier::Disk));
        assert_eq!((tier(400, Tier::Pmem), tier(400, Tier::Disk)), (Tier::Object, Tier::Object));
        // Without the rule a use does not bring it back.
        assert_eq!((tier(0, Tier::Disk), tier(31, Tier::Object)), (Tier::Disk, Tier::Object));
        assert_eq!((policy.next_step_ms(DAY_MS), policy.next_step_ms(400 * DAY_MS)), (Some(29 * DAY_MS), None));
    }

    #[test]
    fn a_use_brings_back_what_was_given_a_faster_tier() {
        let policy = TierPolicy::parse("object after 1 hour, back on use").unwrap();
        assert_eq!(policy.tier(Tier::Pmem, Tier::Object, 0), Tier::Pmem);
        assert_eq!(policy.tier(Tier::Disk, Tier::Object, 0), Tier::Disk);
        assert_eq!(policy.tier(Tier::Object, Tier::Object, 0), Tier::Object);
        assert_eq!(policy.tier(Tier::Pmem, Tier::Pmem, 3_600_000), Tier::Object);
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for text in [
            "",
            "back on use",
            "disk",
            "disk after",
            "disk after soon",
            "pmem after 1 day",
            "memory after 1 day",
            "tape after 1 day",
            "object after 1 day, disk after 2 days",
            "disk after 2 days, object after 1 day",
            "disk after 1 day, disk after 2 days",
        ] {
            TierPolicy::parse(text).unwrap_err();
        }
    }
}

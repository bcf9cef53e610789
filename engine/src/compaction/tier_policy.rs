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
            let Some((tier, time)) = rule.split_once(" after ") else {
                return Err(invalid(&rule, "it does not say after what time"));
            };
            let tier = slow_tier(tier.trim()).map_err(|reason| invalid(&rule, &reason))?;
            let after_ms = duration_ms(&ScalarValue::from(time.trim()))?;
            match policy.steps.last() {
                Some((_, before)) if *before >= tier => {
                    let (tier, before) = (tier.word(), before.word());
                    return Err(invalid(&rule, &format!("{tier} is no slower tier than {before}, which the rule before it names")));
                }
                Some((before_ms, _)) if *before_ms >= after_ms => {
                    return Err(invalid(&rule, "its time is not longer than that of the rule before it"));
                }
                _ => policy.steps.push((after_ms, tier)),
            }
        }
        match policy.steps.is_empty() {
            true => Err(invalid(text, "it moves nothing to a slower tier")),
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

/// The tier to which a rule moves; an error says why there can be no such rule.
fn slow_tier(word: &str) -> Result<Tier, String> {
    match Tier::of_word(word) {
        Some(tier @ (Tier::Disk | Tier::Object)) => Ok(tier),
        Some(Tier::Memory | Tier::Pmem) => Err(format!("rules move rows to disk and object, and {word} is faster")),
        None => Err(format!("there is no tier \"{word}\"")),
    }
}

fn invalid(rule: &str, reason: &str) -> EngineError {
    let hint = "write 'disk after 30 days, object after 365 days': slower tiers after longer times, and 'back on use' if a use is to bring it back";
    EngineError::Sql { message: format!("\"{rule}\" is no rule of a tier policy: {reason}"), position: None, hint: Some(hint.into()) }
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
        for (text, reason) in [
            ("", "does not say after what time"),
            ("back on use", "moves nothing to a slower tier"),
            ("disk", "does not say after what time"),
            ("disk after", "does not say after what time"),
            ("disk after soon", "is not a duration"),
            ("pmem after 1 day", "pmem is faster"),
            ("memory after 1 day", "memory is faster"),
            ("tape after 1 day", "there is no tier \"tape\""),
            ("object after 1 day, disk after 2 days", "disk is no slower tier than object"),
            ("disk after 2 days, object after 1 day", "is not longer than that of the rule before it"),
            ("disk after 1 day, disk after 2 days", "disk is no slower tier than disk"),
        ] {
            let error = TierPolicy::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}

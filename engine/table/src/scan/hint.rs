//! Whether a condition that need not be tested is worth its test.
//!
//! A join tests the keys of the rows that it gets anyway. Its filter for the scan only saves work, and where most rows pass it costs more: the
//! test, and the copy of the rows of a zone that passes almost whole.

use std::cell::Cell;

/// Rows after which the share of those that passed says something about the next ones; half of the older ones are forgotten then.
const ROWS_KNOWN: usize = 65_536;
/// Of this many zones one is tested even where it was of no use before: rows that lie together may have other keys.
const TESTED_EVERY: usize = 16;

/// What a condition did to the rows so far.
#[derive(Debug, Default)]
pub struct Hint {
    tested: Cell<usize>,
    passed: Cell<usize>,
    zones: Cell<usize>,
}

impl Hint {
    /// Whether to test the next zone.
    pub fn is_worth_it(&self) -> bool {
        let (tested, passed) = (self.tested.get(), self.passed.get());
        let is_useless = tested >= ROWS_KNOWN && passed > tested / 4 * 3;
        if is_useless {
            self.zones.set(self.zones.get() + 1);
        }
        !is_useless || self.zones.get().is_multiple_of(TESTED_EVERY)
    }

    pub fn learn(&self, tested: usize, passed: usize) {
        let (tested, passed) = (self.tested.get() + tested, self.passed.get() + passed);
        let is_much = tested > 2 * ROWS_KNOWN;
        self.tested.set(if is_much { tested / 2 } else { tested });
        self.passed.set(if is_much { passed / 2 } else { passed });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the zones are tested, of which each has this share of rows that pass.
    fn tested(hint: &Hint, zones: usize, passed: usize) -> usize {
        (0..zones)
            .filter(|_| {
                let is_tested = hint.is_worth_it();
                if is_tested {
                    hint.learn(8_192, passed);
                }
                is_tested
            })
            .count()
    }

    #[test]
    fn a_condition_that_most_rows_pass_is_tested_now_and_then() {
        assert_eq!(tested(&Hint::default(), 1_000, 4_000), 1_000);
        let few = tested(&Hint::default(), 1_000, 8_000);
        assert!((60..80).contains(&few), "{few}");
    }

    #[test]
    fn a_condition_becomes_useful_where_rows_do_not_pass() {
        let hint = Hint::default();
        tested(&hint, 1_000, 8_192);
        let tested = tested(&hint, 1_000, 0);
        assert!(tested > 850, "{tested}");
    }
}

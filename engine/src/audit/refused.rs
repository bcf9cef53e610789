//! Refused logins. A client without a password can cause any number of them, so only some are recorded.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::entry::cut;
use super::table::AuditRow;
use super::writer::AuditWriter;
use common::clock::now_ms;
use common::error::kind::ErrorKind;

/// A name gets at most one row in this time.
const NAME_EVERY: Duration = Duration::from_secs(10);
/// All names together get at most this number of rows in `ROWS_EVERY`.
const ROWS_MAX: usize = 20;
const ROWS_EVERY: Duration = Duration::from_secs(60);
/// Input from outside is truncated; no user has a longer name.
const NAME_BYTES_MAX: usize = 128;
const REASON_BYTES_MAX: usize = 500;

impl AuditWriter {
    /// Records a refused login, unless there were too many recently.
    pub fn refused_login(&self, user: &str, peer: &str, reason: &str) {
        let user = cut(user, NAME_BYTES_MAX);
        let Some(left_out) = self.refused.row_for(&user, Instant::now()) else { return };
        let mut message = cut(&format!("{reason}, from {peer}"), REASON_BYTES_MAX);
        if left_out > 0 {
            message.push_str(&format!("; {left_out} more before this have no row"));
        }
        self.keep(AuditRow {
            time_ms: now_ms(),
            user: user.into(),
            statement: "LOGIN".into(),
            kind: Some("login"),
            outcome: ErrorKind::Unauthenticated.name(),
            message: Some(message),
            ..AuditRow::default()
        });
    }
}

#[derive(Debug, Default)]
pub struct RefusedLogins(Mutex<RefusedState>);

/// **Invariant:** it holds no more names than there are rows in `ROWS_EVERY`.
#[derive(Debug, Default)]
struct RefusedState {
    names: HashMap<String, Instant>,
    rows: VecDeque<Instant>,
    left_out: u64,
}

impl RefusedLogins {
    /// Whether this login gets a row: then how many got none since the last row.
    fn row_for(&self, user: &str, now: Instant) -> Option<u64> {
        let mut inner = self.0.lock();
        let inner = &mut *inner;
        inner.names.retain(|_, last| now.saturating_duration_since(*last) < NAME_EVERY);
        while inner.rows.front().is_some_and(|row| now.saturating_duration_since(*row) >= ROWS_EVERY) {
            inner.rows.pop_front();
        }
        if inner.rows.len() >= ROWS_MAX || inner.names.contains_key(user) {
            inner.left_out += 1;
            return None;
        }
        inner.rows.push_back(now);
        inner.names.insert(user.to_string(), now);
        Some(std::mem::take(&mut inner.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_has_a_row_in_ten_seconds_and_the_next_one_says_how_many_had_none() {
        let (logins, start) = (RefusedLogins::default(), Instant::now());
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(logins.row_for("ann", start), Some(0));
        assert_eq!(logins.row_for("ann", after(1)), None);
        assert_eq!(logins.row_for("ann", after(9)), None);
        assert_eq!(logins.row_for("bob", after(9)), Some(2));
        assert_eq!(logins.row_for("ann", after(10)), Some(0));
    }

    #[test]
    fn however_many_names_are_tried_there_are_few_rows_and_little_is_remembered() {
        let (logins, start) = (RefusedLogins::default(), Instant::now());
        let rows =
            (0..6_000u32).filter(|number| logins.row_for(&number.to_string(), start + Duration::from_millis(50) * *number).is_some());
        // 6,000 logins in steps of 50 ms take 300 seconds.
        assert_eq!(rows.count(), 5 * ROWS_MAX);
        assert!(logins.0.lock().names.len() <= ROWS_MAX);
        assert!(logins.0.lock().left_out > 0);
    }
}

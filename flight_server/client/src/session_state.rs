//! The state of a session that a new one would lack, as far as its statements show.

use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct SessionState {
    has_settings: bool,
    has_prepared: bool,
    has_temporary: bool,
    is_in_transaction: bool,
    used: Instant,
}

impl Default for SessionState {
    fn default() -> SessionState {
        SessionState { has_settings: false, has_prepared: false, has_temporary: false, is_in_transaction: false, used: Instant::now() }
    }
}

impl SessionState {
    /// The server has answered.
    pub fn mark_used(&mut self) {
        self.used = Instant::now();
    }

    pub fn idle(&self) -> Duration {
        self.used.elapsed()
    }

    /// Records a statement. One that might leave state in the session counts as having left it.
    pub fn record_statement(&mut self, sql: &str) {
        let has_word = |words: &[&str]| words_of(sql).any(|word| words.iter().any(|keyword| word.eq_ignore_ascii_case(keyword)));
        let first = words_of(without_comments(sql)).next().unwrap_or_default().to_ascii_uppercase();
        match first.as_str() {
            "SET" | "RESET" => self.has_settings = true,
            "PREPARE" => self.has_prepared = true,
            "BEGIN" | "START" => self.is_in_transaction = true,
            "COMMIT" | "END" | "ABORT" => self.is_in_transaction = false,
            "ROLLBACK" if !has_word(&["TO"]) => self.is_in_transaction = false,
            _ => {}
        }
        self.has_temporary |= has_word(&["VOLATILE", "TEMP", "TEMPORARY"]);
    }

    /// The state that is lost with the session, in words; empty if there is none.
    pub fn lost_state(&self) -> String {
        let all = [
            (self.has_settings, "what was SET"),
            (self.has_prepared, "prepared statements"),
            (self.has_temporary, "temporary tables"),
            (self.is_in_transaction, "the open transaction"),
        ];
        let lost: Vec<&str> = all.into_iter().filter(|(is_held, _)| *is_held).map(|(_, what)| what).collect();
        lost.join(", ")
    }
}

/// The words of a text, including those in quotes and comments.
fn words_of(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

/// The text from the first word outside of comments.
fn without_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        if let Some(line) = rest.strip_prefix("--") {
            rest = line.split_once('\n').map_or("", |(_, next)| next).trim_start();
        } else if rest.starts_with("/*") {
            rest = after_comment(rest).trim_start();
        } else {
            return rest;
        }
    }
}

/// Block comments nest.
fn after_comment(sql: &str) -> &str {
    let (mut depth, mut rest) = (0, sql);
    while let Some(at) = rest.find(['/', '*']) {
        rest = &rest[at..];
        match () {
            () if rest.starts_with("/*") => (depth, rest) = (depth + 1, &rest[2..]),
            () if rest.starts_with("*/") => (depth, rest) = (depth - 1, &rest[2..]),
            () => rest = &rest[1..],
        }
        if depth == 0 {
            return rest;
        }
    }
    ""
}

/// A duration in readable form.
pub fn time_text(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(statements: &[&str]) -> String {
        let mut session_state = SessionState::default();
        statements.iter().for_each(|sql| session_state.record_statement(sql));
        session_state.lost_state()
    }

    #[test]
    fn statements_that_only_read_or_write_tables_leave_no_state_in_the_session() {
        let plain = [
            "SELECT 1",
            "INSERT INTO t VALUES (1)",
            "CREATE TABLE t (a INT)",
            "SHOW ALL",
            "EXPLAIN SELECT 1",
            "UPDATE t SET a = 1",
            "",
            "--",
            "/*",
            "-- SET a",
        ];
        assert_eq!(lost(&plain), "");
    }

    #[test]
    fn the_state_that_a_new_session_would_lack_is_named() {
        assert_eq!(lost(&["set threads = 2"]), "what was SET");
        assert_eq!(lost(&["/* a /* b */ c */ -- d\n SET threads = 2"]), "what was SET");
        assert_eq!(lost(&["SELECT '--' AS a INTO VOLATILE c"]), "temporary tables");
        assert_eq!(lost(&["PREPARE p AS SELECT 1", "BEGIN"]), "prepared statements, the open transaction");
        assert_eq!(lost(&["SELECT 1 AS a INTO VOLATILE c"]), "temporary tables");
        assert_eq!(lost(&["CREATE TEMP TABLE c (a INT)"]), "temporary tables");
        assert_eq!(lost(&["START TRANSACTION", "ROLLBACK TO SAVEPOINT a"]), "the open transaction");
        for end in ["COMMIT", "rollback", "END;"] {
            assert_eq!(lost(&["BEGIN", "SELECT 1", end]), "", "{end}");
        }
    }

    #[test]
    fn durations_are_written_in_a_fitting_unit() {
        let text = |seconds| time_text(Duration::from_secs(seconds));
        assert_eq!([text(7), text(1_800), text(90_000)], ["7 s", "30 min", "25 h"]);
    }
}

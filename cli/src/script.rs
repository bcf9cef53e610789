//! Splits a stream of lines (a file, a pipe, the text of `-c`) into statements and meta commands.
//!
//! It returns a statement as soon as it has read the line that ends it, so that a program can
//! keep `quiver` running and talk to it over pipes. The engine decides where a statement
//! ends (`Split`); this module handles the lines, and finds the commands in them. Tested in `tests/suite`.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use super::lexer::{self, Kind};

/// One statement in a text: its start, its end, and whether a `;` ends it.
pub struct StatementText {
    pub start: usize,
    pub end: usize,
    pub complete: bool,
}

/// Finds the statements of a text.
pub type Split = fn(&str) -> Vec<StatementText>;

#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    Statement {
        sql: String,
        line: usize,
    },
    /// A meta command: from a `\` to the end of its line, or a line that starts with a dot and a letter where a statement could start.
    Meta {
        text: String,
        line: usize,
    },
}

pub struct Script<R> {
    input: R,
    split: Split,
    /// Whether the last statement runs without a `;`.
    runs_rest: bool,
    /// Text that was read but not returned yet, and the number of the line it starts on.
    pending: String,
    pending_line: usize,
    /// The start of `pending` that has only whole tokens, and whether these are blanks and comments.
    scanned: usize,
    has_only_blanks: bool,
    line_next: usize,
    ready: VecDeque<Item>,
}

impl<R: BufRead> Script<R> {
    /// A script whose last statement needs no `;`.
    pub fn new(input: R, split: Split) -> Self {
        let pending = String::new();
        Script {
            input,
            split,
            runs_rest: true,
            pending,
            pending_line: 1,
            scanned: 0,
            has_only_blanks: true,
            line_next: 1,
            ready: VecDeque::new(),
        }
    }

    /// What a person types: a statement without a `;` goes on in the next text.
    pub fn interactive(input: R, split: Split) -> Self {
        Script { runs_rest: false, ..Script::new(input, split) }
    }

    /// The next item, `None` at the end.
    pub fn next_item(&mut self) -> io::Result<Option<Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            let Some(line) = self.read_line()? else {
                return Ok(if self.runs_rest { self.last_item() } else { None });
            };
            self.take_line(&line);
        }
    }

    fn take_line(&mut self, line: &str) {
        let number = self.line_next;
        self.line_next += 1;
        if self.is_blank() {
            self.clear();
            self.pending_line = number;
        }
        let from = self.pending.len();
        self.pending.push_str(line);
        let mut command = self.scan(from).map(|at| self.pending.split_off(at));
        // Only a line with a `;` can end a statement. Calling the engine after every line would
        // take time quadratic in the length of one long INSERT.
        if self.pending[from..].contains(';') && self.hand_out_complete() && command.is_none() {
            command = self.scan(0).map(|at| self.pending.split_off(at));
        }
        if let Some(text) = command {
            self.pending.push('\n');
            self.scan(self.scanned);
            self.ready.push_back(Item::Meta { text: text.trim().to_string(), line: number });
        }
    }

    /// Reads the tokens of a line that begins at `from`. Returns the start of a command, where it ends.
    fn scan(&mut self, from: usize) -> Option<usize> {
        // A long text of many lines is not read again for each of them.
        let open = self.pending[self.scanned..].chars().next();
        let may_close = |sign: char| open.is_some_and(|open| sign == if matches!(open, 'e' | 'E') { '\'' } else { open });
        if self.scanned < from && !self.pending[from..].contains(may_close) {
            return None;
        }
        let start = self.scanned;
        for token in lexer::tokens(&self.pending[start..]) {
            let text = &self.pending[start + token.start..];
            let is_dot = self.has_only_blanks && text.starts_with('.') && text[1..].starts_with(|c: char| c.is_ascii_alphabetic());
            if token.kind == Kind::Command || is_dot {
                return Some(self.scanned);
            }
            if token.closed {
                self.scanned = start + token.end;
                self.has_only_blanks &= matches!(token.kind, Kind::Blank | Kind::Comment);
            }
        }
        None
    }

    /// Whether there is no statement yet, and no open comment.
    pub fn is_blank(&self) -> bool {
        self.has_only_blanks && self.scanned == self.pending.len()
    }

    fn clear(&mut self) {
        self.pending.clear();
        self.scanned = 0;
        self.has_only_blanks = true;
    }

    /// The statement that has no end yet, and its line.
    pub fn unfinished(&self) -> Option<(String, usize)> {
        let blanks = self.pending.len() - self.pending.trim_start().len();
        let line = self.pending_line + self.pending[..blanks].matches('\n').count();
        (!self.is_blank()).then(|| (self.pending.trim().to_string(), line))
    }

    /// The same, for a command that runs or drops it.
    pub fn take_unfinished(&mut self) -> Option<(String, usize)> {
        let unfinished = self.unfinished();
        self.clear();
        unfinished
    }

    /// False if no statement is complete.
    fn hand_out_complete(&mut self) -> bool {
        let parts = (self.split)(&self.pending);
        let Some(last) = parts.iter().rposition(|part| part.complete) else {
            return false;
        };
        for part in &parts[..=last] {
            self.ready.push_back(statement(&self.pending, self.pending_line, part));
        }
        // The text of a statement has no blanks at its end.
        let behind = &self.pending[parts[last].end..];
        let rest = self.pending.len() - behind.trim_start().strip_prefix(';').unwrap_or(behind).len();
        self.pending_line += self.pending[..rest].matches('\n').count();
        self.pending.drain(..rest);
        self.scanned = 0;
        self.has_only_blanks = true;
        true
    }

    fn last_item(&mut self) -> Option<Item> {
        if !self.is_blank() {
            let parts = (self.split)(&self.pending);
            self.ready.extend(parts.iter().map(|part| statement(&self.pending, self.pending_line, part)));
        }
        self.clear();
        self.ready.pop_front()
    }

    fn read_line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        if self.input.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let mut line = String::from_utf8(bytes).map_err(|_| {
            let reason = format!("line {} is not valid UTF-8", self.line_next);
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })?;
        if self.line_next == 1 && line.starts_with('\u{feff}') {
            line.remove(0);
        }
        Ok(Some(line))
    }
}

fn statement(text: &str, line_first: usize, part: &StatementText) -> Item {
    Item::Statement { sql: text[part.start..part.end].to_string(), line: line_first + text[..part.start].matches('\n').count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in for the engine that understands `'` and `;`.
    fn split(text: &str) -> Vec<StatementText> {
        let mut parts = Vec::new();
        let (mut start, mut quoted) = (0, false);
        let mut add = |from: usize, end: usize, complete| {
            let start = end - text[from..end].trim_start().len();
            if start < end {
                parts.push(StatementText { start, end: start + text[start..end].trim_end().len(), complete });
            }
        };
        for (at, sign) in text.char_indices() {
            quoted ^= sign == '\'';
            if sign == ';' && !quoted {
                add(start, at, true);
                start = at + 1;
            }
        }
        add(start, text.trim_end().len().max(start), false);
        parts
    }

    fn items(text: &str) -> Vec<String> {
        let mut script = Script::new(text.as_bytes(), split);
        let mut items = Vec::new();
        while let Some(item) = script.next_item().unwrap() {
            items.push(match item {
                Item::Statement { sql, line } => format!("{line}:{sql}"),
                Item::Meta { text, line } => format!("{line}:{text}"),
            });
        }
        items
    }

    #[test]
    fn statements_know_the_line_they_start_on() {
        assert_eq!(items("select 1;\n\nselect\n 2; select 3;\n"), ["1:select 1", "3:select\n 2", "4:select 3"]);
    }

    #[test]
    fn the_last_statement_needs_no_semicolon() {
        assert_eq!(items("select 1"), ["1:select 1"]);
        assert_eq!(items("select 1; select\n2"), ["1:select 1", "1:select\n2"]);
        assert_eq!(items(""), [""; 0]);
    }

    #[test]
    fn a_backslash_in_quotes_or_comments_is_no_meta_command() {
        assert_eq!(items("\\timing on\nselect '\n\\dt\n';\n\\q\n"), ["1:\\timing on", "2:select '\n\\dt\n'", "5:\\q"]);
        assert_eq!(items("/* a\n\\x */ select $$\n\\x\n$$;\n"), ["1:/* a\n\\x */ select $$\n\\x\n$$"]);
        assert_eq!(items("select 1; -- \\x\n"), ["1:select 1"]);
    }

    #[test]
    fn a_meta_command_may_follow_a_statement_and_stand_inside_of_one() {
        assert_eq!(items("select 1; \\x it's\nselect 2;\n"), ["1:select 1", "1:\\x it's", "2:select 2"]);
        assert_eq!(items("select\n  \\x\n1;\n"), ["2:\\x", "1:select\n  \n1"]);
    }

    #[test]
    fn a_line_with_a_dot_and_a_word_is_a_meta_command_between_statements() {
        assert_eq!(items(".tables\nselect a\n.b;\n  .quit\n"), ["1:.tables", "2:select a\n.b", "4:.quit"]);
        assert_eq!(items("select 1; .tables\nselect .5;\n"), ["1:select 1", "1:.tables", "2:select .5"]);
    }

    #[test]
    fn comments_and_blanks_alone_are_nothing_to_run() {
        for (text, is_blank) in [(" \n-- select\n/* 1 */ ", true), ("-- x\nselect 1", false), ("/* still\nopen", false)] {
            let mut script = Script::interactive(text.as_bytes(), split);
            assert_eq!(script.next_item().unwrap(), None);
            assert_eq!(script.is_blank(), is_blank, "{text}");
        }
    }

    /// Enter started another line after `select 1 ;`.
    #[test]
    fn nothing_is_left_of_a_statement_with_blanks_before_its_semicolon() {
        for text in ["select 1 ;\n", "select 1\n;\n", "select 1;\n"] {
            let mut script = Script::interactive(text.as_bytes(), split);
            assert_eq!(script.next_item().unwrap(), Some(Item::Statement { sql: "select 1".into(), line: 1 }));
            assert_eq!(script.next_item().unwrap(), None);
            assert!(script.is_blank(), "{text}");
        }
    }

    #[test]
    fn a_command_can_take_the_statement_before_it() {
        let mut script = Script::interactive("\n select\n1 \\g\nselect 2;\nselect".as_bytes(), split);
        assert_eq!(script.next_item().unwrap(), Some(Item::Meta { text: "\\g".into(), line: 3 }));
        assert_eq!(script.take_unfinished(), Some(("select\n1".into(), 2)));
        assert_eq!(script.next_item().unwrap(), Some(Item::Statement { sql: "select 2".into(), line: 4 }));
        assert_eq!(script.next_item().unwrap(), None);
        assert_eq!(script.take_unfinished(), Some(("select".into(), 5)));
        assert!(script.is_blank());
    }

    #[test]
    fn a_statement_is_returned_before_the_next_line_is_read() {
        struct OneLineThenPanic(bool);
        impl io::Read for OneLineThenPanic {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                assert!(!std::mem::replace(&mut self.0, true), "read ahead");
                let line = b"select 1;\n";
                buffer[..line.len()].copy_from_slice(line);
                Ok(line.len())
            }
        }
        let input = io::BufReader::new(OneLineThenPanic(false));
        let mut script = Script::new(input, split);
        let first = script.next_item().unwrap();
        assert!(matches!(first, Some(Item::Statement { .. })));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_with_their_line() {
        let text: &[u8] = b"select 1;\nselect '\xff';\n";
        let mut script = Script::new(text, split);
        assert!(script.next_item().is_ok());
        let refused = script.next_item().unwrap_err();
        assert!(refused.to_string().contains("line 2"), "{refused}");
    }
}

//! Splits a stream of lines (a file, a pipe, the text of `-c`) into statements and meta commands.
//!
//! It returns a statement as soon as it has read the line that ends it, so that a program can
//! keep `quiver` running and talk to it over pipes. The engine decides where a statement
//! ends (`Split`); this module only handles the lines. Tested in `tests/suite`.

use std::collections::VecDeque;
use std::io::{self, BufRead};

/// One statement in a text: its start, its end, and whether a `;` ends it.
pub struct StatementText {
    pub start: usize,
    pub end: usize,
    pub complete: bool,
}

/// Finds the statements of a text.
pub type Split = fn(&str) -> Vec<StatementText>;

/// Whether a text has only blanks and comments.
pub type IsBlank = fn(&str) -> bool;

#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    Statement {
        sql: String,
        line: usize,
    },
    /// A meta command: a line that starts with `\` where a statement could start.
    Meta {
        text: String,
        line: usize,
    },
}

pub struct Script<R> {
    input: R,
    split: Split,
    is_blank: IsBlank,
    /// Text that was read but not returned yet, and the number of the line it starts on.
    pending: String,
    pending_line: usize,
    line_next: usize,
    ready: VecDeque<Item>,
}

impl<R: BufRead> Script<R> {
    pub fn new(input: R, split: Split, is_blank: IsBlank) -> Self {
        Script { input, split, is_blank, pending: String::new(), pending_line: 1, line_next: 1, ready: VecDeque::new() }
    }

    /// The next item, `None` at the end. The last statement needs no `;`.
    pub fn next_item(&mut self) -> io::Result<Option<Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            let Some(line) = self.read_line()? else {
                return Ok(self.last_item());
            };
            self.take_line(&line);
        }
    }

    fn take_line(&mut self, line: &str) {
        let number = self.line_next;
        self.line_next += 1;
        if (self.is_blank)(&self.pending) {
            self.pending.clear();
            self.pending_line = number;
            if line.trim_start().starts_with('\\') {
                let text = line.trim().to_string();
                self.ready.push_back(Item::Meta { text, line: number });
                return;
            }
        }
        self.pending.push_str(line);
        // Only a line with a `;` can end a statement. Calling the engine after every line would
        // take time quadratic in the length of one long INSERT.
        if line.contains(';') {
            self.hand_out_complete();
        }
    }

    fn hand_out_complete(&mut self) {
        let parts = (self.split)(&self.pending);
        let Some(last) = parts.iter().rposition(|part| part.complete) else {
            return;
        };
        for part in &parts[..=last] {
            self.ready.push_back(statement(&self.pending, self.pending_line, part));
        }
        let mut rest = parts[last].end;
        if self.pending[rest..].starts_with(';') {
            rest += 1;
        }
        self.pending_line += self.pending[..rest].matches('\n').count();
        self.pending.drain(..rest);
    }

    fn last_item(&mut self) -> Option<Item> {
        let pending = std::mem::take(&mut self.pending);
        if (self.is_blank)(&pending) {
            return None;
        }
        let parts = (self.split)(&pending);
        let items = parts.iter().map(|part| statement(&pending, self.pending_line, part));
        self.ready.extend(items);
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
                parts.push(StatementText { start, end, complete });
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
        let mut script = Script::new(text.as_bytes(), split, |text| text.trim().is_empty());
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
    fn a_backslash_line_is_a_meta_command_only_between_statements() {
        assert_eq!(items("\\timing on\nselect '\n\\dt\n';\n\\q\n"), ["1:\\timing on", "2:select '\n\\dt\n'", "5:\\q"]);
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
        let mut script = Script::new(input, split, |text| text.trim().is_empty());
        let first = script.next_item().unwrap();
        assert!(matches!(first, Some(Item::Statement { .. })));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_with_their_line() {
        let text: &[u8] = b"select 1;\nselect '\xff';\n";
        let mut script = Script::new(text, split, |text| text.trim().is_empty());
        assert!(script.next_item().is_ok());
        let refused = script.next_item().unwrap_err();
        assert!(refused.to_string().contains("line 2"), "{refused}");
    }
}

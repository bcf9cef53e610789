//! Splits bytes into JSON records with their lines.
//!
//! If the first line is a whole value, every line is a record: then a broken line affects no other.
//! Otherwise records are found by counting brackets.

use std::io::{self, Read};

use super::parser::Parser;
use crate::import::window::Window;

const RECORD_BYTES_MAX: usize = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Lines,
    /// Values one after another, over any number of lines.
    Values,
    /// Elements of one array.
    Array,
}

impl Framing {
    /// The framing of the text that begins with `head`.
    pub fn of(head: &[u8]) -> Framing {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut text = Parser::new(str::from_utf8(line).unwrap_or_default());
        let is_whole = text.value().and_then(|token| text.rest_of(&token, 0)).is_ok();
        if head.starts_with(b"[") {
            // Arrays of several lines are no records: they are refused at the first one, so that none of them is left out.
            let has_next = head[line.len()..].trim_ascii_start().starts_with(b"[");
            return if is_whole && has_next { Framing::Lines } else { Framing::Array };
        }
        // A first line that is broken, but not merely unfinished, is a broken line.
        let is_begun = matches!(line.trim_ascii_end().last(), Some(b'{' | b'[' | b',' | b':'));
        if is_whole || !is_begun { Framing::Lines } else { Framing::Values }
    }
}

#[derive(Debug)]
pub(super) enum FrameError {
    Io(io::Error),
    /// The record is bad; the next call returns the next one.
    Bad {
        line: u64,
        problem: String,
    },
    /// Nothing can be read after this.
    Broken {
        line: u64,
        problem: String,
    },
}

pub(super) struct Frames<R> {
    window: Window<R>,
    framing: Framing,
    line: u64,
    state: FrameState,
}

#[derive(Clone, Copy, PartialEq)]
enum FrameState {
    Begin,
    /// Before the first element of the array.
    First,
    Next,
    Done,
}

impl<R: Read> Frames<R> {
    pub fn new(reader: R, framing: Framing) -> Self {
        Frames { window: Window::new(reader), framing, line: 1, state: FrameState::Begin }
    }

    /// The next record's text and the line it begins on.
    pub fn next_frame(&mut self) -> Result<Option<(&str, u64)>, FrameError> {
        if self.state == FrameState::Done || !self.separator()? {
            self.state = FrameState::Done;
            return Ok(None);
        }
        let line = self.line;
        let length = self.extent(line)?;
        str::from_utf8(self.advance(length))
            .map(|text| Some((text, line)))
            .map_err(|_| FrameError::Bad { line, problem: "its text is not UTF-8".to_owned() })
    }

    fn advance(&mut self, length: usize) -> &[u8] {
        let passed = self.window.pass(length);
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        passed
    }

    /// Reads more; returns `false` at the end of the file.
    fn fill(&mut self) -> Result<bool, FrameError> {
        if self.window.is_eof() {
            return Ok(false);
        }
        if self.window.data().len() >= RECORD_BYTES_MAX {
            let problem = "the record that begins here is longer than 256 MiB".to_owned();
            return Err(FrameError::Broken { line: self.line, problem });
        }
        self.window.fill().map_err(FrameError::Io)?;
        Ok(true)
    }

    /// The next byte that is not white space; it is not consumed.
    fn peek(&mut self) -> Result<Option<u8>, FrameError> {
        loop {
            let data = self.window.data();
            match data.iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(at) => {
                    let byte = data[at];
                    self.advance(at);
                    return Ok(Some(byte));
                }
                None => {
                    self.advance(data.len());
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Consumes the separator before a record; `false` if no record follows.
    fn separator(&mut self) -> Result<bool, FrameError> {
        let next = self.peek()?;
        if self.framing != Framing::Array {
            self.state = FrameState::Next;
            return Ok(next.is_some());
        }
        let broken = |line, problem: &str| Err(FrameError::Broken { line, problem: problem.to_owned() });
        match (self.state, next) {
            (FrameState::Begin, Some(b'[')) => {
                self.advance(1);
                self.state = FrameState::First;
                self.separator()
            }
            (FrameState::First | FrameState::Next, Some(b']')) => {
                self.advance(1);
                match self.peek()? {
                    None => Ok(false),
                    Some(_) => broken(self.line, "there is text after the end of the array"),
                }
            }
            (FrameState::First, Some(_)) => {
                self.state = FrameState::Next;
                Ok(true)
            }
            (FrameState::Next, Some(b',')) => {
                self.advance(1);
                match self.peek()? {
                    Some(b']' | b',') => broken(self.line, "an element is missing in the array"),
                    Some(_) => Ok(true),
                    None => broken(self.line, "the file ends in the middle of the array"),
                }
            }
            (_, None) => broken(self.line, "the file ends in the middle of the array"),
            _ => broken(self.line, "there is no comma between two elements of the array"),
        }
    }

    /// The number of bytes of the record that begins at `start`.
    fn extent(&mut self, line: u64) -> Result<usize, FrameError> {
        loop {
            let data = self.window.data();
            let length = match self.framing {
                Framing::Lines => data.iter().position(|byte| *byte == b'\n'),
                Framing::Values | Framing::Array => value_extent(data),
            };
            if let Some(length) = length {
                return Ok(length);
            }
            if !self.fill()? {
                let rest = self.window.data();
                if self.framing == Framing::Lines || scalar_is_whole(rest) {
                    return Ok(rest.len());
                }
                let problem = "the file ends in the middle of the record that begins here".to_owned();
                return Err(FrameError::Broken { line, problem });
            }
        }
    }
}

/// The number of bytes up to the end of the first value; `None` if its end is not in `data`.
fn value_extent(data: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    while at < data.len() {
        match data[at] {
            b'"' => {
                at += 1;
                while *data.get(at)? != b'"' {
                    at += if data[at] == b'\\' { 2 } else { 1 };
                }
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                // The closing bracket of the enclosing array does not belong to a scalar.
                let Some(outer) = depth.checked_sub(1) else { return Some(at.max(1)) };
                depth = outer;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return Some(at.max(1)),
            _ => {}
        }
        at += 1;
    }
    None
}

fn scalar_is_whole(data: &[u8]) -> bool {
    !data.is_empty() && !matches!(data[0], b'{' | b'[' | b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str) -> (Vec<(String, u64)>, Option<FrameError>) {
        let mut frames = Frames::new(text.as_bytes(), Framing::of(text.as_bytes()));
        let mut records = Vec::new();
        loop {
            match frames.next_frame() {
                Ok(Some((text, line))) => records.push((text.trim_end().to_owned(), line)),
                Ok(None) => return (records, None),
                Err(error) => return (records, Some(error)),
            }
        }
    }

    #[test]
    fn records_are_lines_values_or_elements() {
        let expected = [("{\"a\":1}".to_owned(), 1), ("{\"a\":\"]}\\\"\"}".to_owned(), 3)];
        assert_eq!(frames("{\"a\":1}\n\n{\"a\":\"]}\\\"\"}\n").0, expected);
        assert_eq!(frames("[{\"a\":1},\n\n{\"a\":\"]}\\\"\"} ]\n").0, expected);
        let pretty = "{\n\"a\":1\n}\n{\n\"a\":2\n}";
        assert_eq!(frames(pretty).0.iter().map(|frame| frame.1).collect::<Vec<_>>(), [1, 4]);
        let list = "{\"a\": [\n {\"b\": 1},\n {\"b\": 2}\n ]\n}\n";
        assert_eq!(frames(list).0, [(list.trim_end().to_owned(), 1)]);
        assert!(frames("[]").1.is_none() && frames("[]").0.is_empty());
    }

    #[test]
    fn a_cut_array_says_so() {
        for text in ["[{\"a\":1}", "[{\"a\":1},", "[{\"a\"", "[{\"a\":1} {\"a\":2}]", "[{}] x", "[{},]"] {
            assert!(matches!(frames(text).1, Some(FrameError::Broken { .. })), "{text}");
        }
    }
}

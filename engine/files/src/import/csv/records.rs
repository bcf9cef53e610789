//! Splits bytes into records: RFC 4180 with LF, CRLF or CR; quotes are doubled inside quotes.
//!
//! A record is parsed only when all of it is in the buffer. If the buffer ends before, more is
//! read and the record is parsed again. Buffers double, so that costs at most twice.

use std::io::{self, Read};

use crate::import::window::Window;

/// A quote that is never closed must not read a whole file into memory.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// A line of delimiters must not make as many columns either.
const FIELDS_MAX: usize = 100_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Syntax {
    pub delimiter: u8,
    pub quote: u8,
    /// The sign before a quote, or before itself, that belongs to the text.
    pub escape: Option<u8>,
    /// A line that begins with it is no row.
    pub comment: Option<u8>,
    /// Spaces between a delimiter and a quote are no text.
    pub has_spaced_quotes: bool,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    start: usize,
    end: usize,
    is_quoted: bool,
    /// The text had doubled quotes; the scratch buffer has it unescaped.
    is_scratch: bool,
}

/// One record, borrowed from the buffer.
pub(super) struct Record<'a> {
    text: &'a str,
    scratch: &'a str,
    fields: &'a [Field],
    /// Physical line of its first byte, from 1.
    pub line: u64,
}

impl<'a> Record<'a> {
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// The text of a field and whether it was quoted.
    pub fn field(&self, index: usize) -> (&'a str, bool) {
        let field = self.fields[index];
        let text = if field.is_scratch { self.scratch } else { self.text };
        (&text[field.start..field.end], field.is_quoted)
    }

    /// It ends with a delimiter, behind which there is nothing.
    pub fn ends_empty(&self) -> bool {
        self.len() > 1 && self.field(self.len() - 1) == ("", false)
    }

    pub fn is_blank(&self) -> bool {
        self.len() == 1 && self.field(0) == ("", false)
    }
}

#[derive(Debug)]
pub(super) enum RecordError {
    Io(io::Error),
    /// Only this record is bad; the next call returns the next one.
    Bad {
        line: u64,
        problem: String,
    },
    /// A quote is not closed before the end of the file (or before the limit of a record). After `skip_line`
    /// the reader can continue.
    Unclosed {
        line: u64,
    },
}

pub(super) struct Records<R> {
    window: Window<R>,
    syntax: Syntax,
    line: u64,
    fields: Vec<Field>,
    scratch: Vec<u8>,
}

enum Parsed {
    /// The bytes of the record with its line end, and its number of physical lines. A text after a closing
    /// quote makes it a bad one.
    Record {
        bytes: usize,
        lines: u64,
        has_stray_text: bool,
    },
    NeedMore,
    /// The bytes of a comment with its line end.
    Comment {
        bytes: usize,
    },
    Unclosed,
    TooMany,
    End,
}

impl<R: Read> Records<R> {
    pub fn new(reader: R, syntax: Syntax) -> Self {
        Records { window: Window::new(reader), syntax, line: 1, fields: Vec::new(), scratch: Vec::new() }
    }

    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, RecordError> {
        let (bytes, lines, has_stray_text) = loop {
            match self.parse() {
                Parsed::Record { bytes, lines, has_stray_text } => {
                    break (bytes, lines, has_stray_text);
                }
                Parsed::End => return Ok(None),
                Parsed::Comment { bytes } => {
                    self.window.pass(bytes);
                    self.line += 1;
                }
                Parsed::Unclosed => return Err(RecordError::Unclosed { line: self.line }),
                Parsed::TooMany => {
                    let problem = format!("line {} has more than {FIELDS_MAX} fields", self.line);
                    return Err(RecordError::Io(io::Error::new(io::ErrorKind::InvalidData, problem)));
                }
                Parsed::NeedMore if self.window.data().len() >= RECORD_BYTES_MAX => {
                    return Err(RecordError::Unclosed { line: self.line });
                }
                Parsed::NeedMore => self.window.fill().map_err(RecordError::Io)?,
            }
        };
        let line = self.line;
        let record = self.window.pass(bytes);
        self.line += lines;
        if has_stray_text {
            let problem = "there is text after a closing quote".to_owned();
            return Err(RecordError::Bad { line, problem });
        }
        let text = match str::from_utf8(record) {
            Ok(text) => text,
            Err(error) => {
                let before = &record[..error.valid_up_to()];
                let line = line + before.iter().filter(|byte| **byte == b'\n').count() as u64;
                let problem = "its text is not UTF-8 (the encoding latin-1 or windows-1252 may be right)".to_owned();
                return Err(RecordError::Bad { line, problem });
            }
        };
        // These are pieces of valid text, cut at ASCII bytes.
        let scratch = str::from_utf8(&self.scratch).unwrap_or_default();
        Ok(Some(Record { text, scratch, fields: &self.fields, line }))
    }

    /// Skips the physical line at which the next record would begin; `false` if nothing is left.
    pub fn skip_line(&mut self) -> bool {
        let data = self.window.data();
        match data.iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                self.window.pass(at + 1);
                self.line += 1;
                true
            }
            None => {
                self.window.pass(data.len());
                !self.window.is_eof()
            }
        }
    }

    /// Skips the first physical lines of the text, whatever quotes are in them.
    pub fn skip_lines(&mut self, lines: u64) -> io::Result<()> {
        while self.line <= lines {
            let is_end = self.window.is_eof();
            let had_line_end = self.window.data().contains(&b'\n');
            self.skip_line();
            match (had_line_end, is_end) {
                (true, _) => {}
                (false, true) => return Ok(()),
                (false, false) => self.window.fill()?,
            }
        }
        Ok(())
    }

    fn parse(&mut self) -> Parsed {
        self.fields.clear();
        self.scratch.clear();
        let (data, is_eof) = (self.window.data(), self.window.is_eof());
        let Syntax { delimiter, quote, escape, comment, has_spaced_quotes } = self.syntax;
        if data.is_empty() {
            return if is_eof { Parsed::End } else { Parsed::NeedMore };
        }
        if data.first() == comment.as_ref() {
            return match data.iter().position(|byte| *byte == b'\n') {
                Some(at) => Parsed::Comment { bytes: at + 1 },
                None if is_eof => Parsed::Comment { bytes: data.len() },
                None => Parsed::NeedMore,
            };
        }
        let (mut at, mut lines, mut has_stray_text) = (0, 0, false);
        loop {
            let spaces = if has_spaced_quotes { data[at..].iter().take_while(|byte| **byte == b' ').count() } else { 0 };
            let is_quoted = data.get(at + spaces) == Some(&quote);
            if is_quoted {
                at += spaces;
            }
            let mut field = Field { start: at, end: at, is_quoted, is_scratch: false };
            if is_quoted {
                match quoted(data, at, (quote, escape), is_eof, &mut self.scratch, &mut lines) {
                    Quoted::Field { start, end, after, is_scratch } => {
                        (field.start, field.end, field.is_scratch) = (start, end, is_scratch);
                        at = after;
                    }
                    Quoted::NeedMore => return Parsed::NeedMore,
                    Quoted::Unclosed => return Parsed::Unclosed,
                }
            }
            let plain = at;
            at += data[at..].iter().position(|byte| *byte == delimiter || *byte == b'\n' || *byte == b'\r').unwrap_or(data.len() - at);
            if is_quoted {
                has_stray_text |= !data[plain..at].iter().all(|byte| *byte == b' ');
            } else {
                field.end = at;
            }
            if self.fields.len() == FIELDS_MAX {
                return Parsed::TooMany;
            }
            self.fields.push(field);
            match data.get(at) {
                None if !is_eof => return Parsed::NeedMore,
                None => return Parsed::Record { bytes: at, lines: lines + 1, has_stray_text },
                Some(byte) if *byte == delimiter => at += 1,
                Some(b'\r') if at + 1 == data.len() && !is_eof => return Parsed::NeedMore,
                Some(byte) => {
                    let is_crlf = *byte == b'\r' && data.get(at + 1) == Some(&b'\n');
                    let bytes = at + 1 + usize::from(is_crlf);
                    return Parsed::Record { bytes, lines: lines + 1, has_stray_text };
                }
            }
        }
    }
}

enum Quoted {
    Field { start: usize, end: usize, after: usize, is_scratch: bool },
    NeedMore,
    Unclosed,
}

/// The field whose opening quote is at `open`.
fn quoted(data: &[u8], open: usize, (quote, escape): (u8, Option<u8>), is_eof: bool, scratch: &mut Vec<u8>, lines: &mut u64) -> Quoted {
    let scratch_start = scratch.len();
    let mut piece = open + 1;
    let mut at = piece;
    let mut is_scratch = false;
    loop {
        let Some(distance) = data[at..].iter().position(|byte| *byte == quote || *byte == b'\n' || Some(*byte) == escape) else {
            return if is_eof { Quoted::Unclosed } else { Quoted::NeedMore };
        };
        at += distance;
        if data[at] == b'\n' {
            *lines += 1;
            at += 1;
            continue;
        }
        let is_escape = data[at] != quote;
        match data.get(at + 1) {
            None if !is_eof => return Quoted::NeedMore,
            // The sign stays where it escapes nothing.
            Some(next) if is_escape && (*next == quote || Some(*next) == escape) => {
                scratch.extend_from_slice(&data[piece..at]);
                is_scratch = true;
                piece = at + 1;
                at += 2;
            }
            _ if is_escape => at += 1,
            Some(next) if *next == quote => {
                scratch.extend_from_slice(&data[piece..=at]);
                is_scratch = true;
                at += 2;
                piece = at;
            }
            _ if is_scratch => {
                scratch.extend_from_slice(&data[piece..at]);
                let (start, end) = (scratch_start, scratch.len());
                return Quoted::Field { start, end, after: at + 1, is_scratch };
            }
            _ => return Quoted::Field { start: piece, end: at, after: at + 1, is_scratch },
        }
    }
}

#[cfg(test)]
mod tests;

//! The part of a text file that is in memory: it was read, and is not consumed yet.

use std::io::{self, Read};

pub(super) const CHUNK_BYTES: usize = 256 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) struct Window<R> {
    reader: R,
    buf: Vec<u8>,
    start: usize,
    end: usize,
    is_begun: bool,
    is_eof: bool,
}

impl<R: Read> Window<R> {
    pub fn new(reader: R) -> Self {
        Window { reader, buf: vec![0; CHUNK_BYTES], start: 0, end: 0, is_begun: false, is_eof: false }
    }

    pub fn data(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    /// No bytes follow [`Window::data`].
    pub fn is_eof(&self) -> bool {
        self.is_eof
    }

    /// Consumes the first `length` bytes of the data and returns them.
    pub fn pass(&mut self, length: usize) -> &[u8] {
        let passed = self.start..self.start + length;
        self.start = passed.end;
        &self.buf[passed]
    }

    /// Reads more after the unconsumed data; doubles the memory if there is no room. A
    /// byte order mark at the beginning of the file is skipped.
    pub fn fill(&mut self) -> io::Result<()> {
        self.buf.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buf.len() {
            self.buf.resize(self.buf.len() * 2, 0);
        }
        while self.end < self.buf.len() && !self.is_eof {
            match self.reader.read(&mut self.buf[self.end..]) {
                Ok(0) => self.is_eof = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if !self.is_begun && self.data().starts_with(BYTE_ORDER_MARK) {
            self.start = BYTE_ORDER_MARK.len();
        }
        self.is_begun = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_passed_only_at_the_beginning() {
        let mut window = Window::new("\u{feff}a\u{feff}b".as_bytes());
        window.fill().unwrap();
        assert_eq!(window.data(), "a\u{feff}b".as_bytes());
        assert_eq!(window.pass(1), b"a");
        window.fill().unwrap();
        assert_eq!((window.data(), window.is_eof()), ("\u{feff}b".as_bytes(), true));
    }

    #[test]
    fn what_was_not_passed_stays_and_memory_grows_behind_it() {
        let text: Vec<u8> = (0..3 * CHUNK_BYTES).map(|at| (at % 251) as u8).collect();
        let mut window = Window::new(text.as_slice());
        window.fill().unwrap();
        assert_eq!(window.pass(100), &text[..100]);
        window.fill().unwrap();
        assert_eq!(window.data(), &text[100..CHUNK_BYTES + 100]);
        window.fill().unwrap();
        assert_eq!(window.data(), &text[100..2 * CHUNK_BYTES + 100]);
        assert!(!window.is_eof());
        window.fill().unwrap();
        assert_eq!((window.data(), window.is_eof()), (&text[100..], true));
    }
}

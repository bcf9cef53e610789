//! Text in other encodings than UTF-8. The user says which: bytes do not tell Latin-1 from its relatives.

use std::io::{self, Read};
use std::str::FromStr;

const CHUNK_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    #[default]
    Utf8,
    /// Little-endian, unless a byte order mark says otherwise.
    Utf16,
    Utf16Be,
    Latin1,
    Windows1252,
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "utf-8" | "utf8" => Ok(Encoding::Utf8),
            "utf-16" | "utf16" | "utf-16le" | "utf-16-le" => Ok(Encoding::Utf16),
            "utf-16be" | "utf-16-be" => Ok(Encoding::Utf16Be),
            "latin-1" | "latin1" | "iso-8859-1" => Ok(Encoding::Latin1),
            "windows-1252" | "cp1252" => Ok(Encoding::Windows1252),
            _ => Err(format!("\"{name}\" is not an encoding that is supported: use utf-8, utf-16, latin-1 or windows-1252")),
        }
    }
}

/// The characters of the bytes 0x80 to 0x9f in Windows-1252. The five that it leaves open are control characters, as in browsers.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–',
    '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text of `reader` as UTF-8. It keeps a byte order mark.
pub struct Utf8Text<R> {
    reader: R,
    encoding: Encoding,
    is_begun: bool,
    /// Bytes of a character that is not complete yet.
    pending: Vec<u8>,
    text: Vec<u8>,
    start: usize,
}

impl<R: Read> Utf8Text<R> {
    pub fn new(reader: R, encoding: Encoding) -> Self {
        Utf8Text { reader, encoding, is_begun: false, pending: Vec::new(), text: Vec::new(), start: 0 }
    }

    /// Reads and converts a chunk; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let before = self.pending.len();
        self.pending.resize(before + CHUNK_BYTES, 0);
        let read = self.reader.read(&mut self.pending[before..]);
        self.pending.truncate(before + *read.as_ref().unwrap_or(&0));
        let is_end = read? == 0;
        if is_end && self.pending.is_empty() {
            return Ok(false);
        }
        if !self.is_begun && self.encoding == Encoding::Utf16 && self.pending.starts_with(b"\xfe\xff") {
            self.encoding = Encoding::Utf16Be;
        }
        self.is_begun |= self.pending.len() >= 2;
        let mut text = String::new();
        let length = match self.encoding {
            Encoding::Utf8 => return Err(io::Error::new(io::ErrorKind::InvalidInput, "text in UTF-8 needs no conversion")),
            Encoding::Utf16 => utf16(&self.pending, u16::from_le_bytes, is_end, &mut text)?,
            Encoding::Utf16Be => utf16(&self.pending, u16::from_be_bytes, is_end, &mut text)?,
            Encoding::Latin1 => {
                text.extend(self.pending.iter().map(|byte| char::from(*byte)));
                self.pending.len()
            }
            Encoding::Windows1252 => {
                text.extend(self.pending.iter().map(|byte| match byte {
                    0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
                    byte => char::from(*byte),
                }));
                self.pending.len()
            }
        };
        self.pending.drain(..length);
        (self.text, self.start) = (text.into_bytes(), 0);
        Ok(true)
    }
}

/// Appends the complete characters, and returns the number of their bytes.
fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, is_end: bool, text: &mut String) -> io::Result<usize> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect::<Vec<_>>();
    let is_half = |unit: &u16| (0xd800..0xdc00).contains(unit);
    let whole = units.len() - usize::from(!is_end && units.last().is_some_and(is_half));
    for character in char::decode_utf16(units[..whole].iter().copied()) {
        text.push(character.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "its text is not UTF-16"))?);
    }
    if is_end && !bytes.len().is_multiple_of(2) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its text is not UTF-16: it ends within a character"));
    }
    Ok(whole * 2)
}

impl<R: Read> Read for Utf8Text<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.start == self.text.len() {
            if !self.fill()? {
                return Ok(0);
            }
        }
        let read = (&self.text[self.start..]).read(buf)?;
        self.start += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let length = buf.len().min(1);
            self.0.read(&mut buf[..length])
        }
    }

    fn text(bytes: &[u8], encoding: Encoding) -> io::Result<String> {
        let mut text = String::new();
        Utf8Text::new(Slow(bytes), encoding).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn text_of_every_encoding_is_read_in_pieces_of_any_size() {
        let original = "\u{feff}a,é,€,🚀\n";
        let units: Vec<u16> = original.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert_eq!(text(&little, Encoding::Utf16).unwrap(), original);
        assert_eq!(text(&big, Encoding::Utf16).unwrap(), original);
        assert_eq!(text(&big, Encoding::Utf16Be).unwrap(), original);
        assert_eq!(text(b"a\xe9\xa4\n", Encoding::Latin1).unwrap(), "aé¤\n");
        assert_eq!(text(b"a\xe9\x80\n", Encoding::Windows1252).unwrap(), "aé€\n");
    }

    #[test]
    fn half_a_character_is_an_error() {
        assert!(text(b"a\0b", Encoding::Utf16).is_err());
        assert!(text(b"\x00\xd8a\0", Encoding::Utf16).is_err());
        assert!(text(b"\x00\xd8", Encoding::Utf16).is_err());
    }
}

//! Tokens of one JSON text (RFC 8259, strictly). Numbers stay texts, because the column decides their type.

use std::borrow::Cow;

use super::lexemes::{escape, is_number};

/// Deeper nesting is refused, because types are walked recursively.
pub(super) const DEPTH_MAX: usize = 64;

#[derive(Debug, PartialEq)]
pub(super) enum Token<'a> {
    Null,
    Bool(&'a str),
    Number(&'a str),
    Text(Cow<'a, str>),
    Object,
    Array,
}

/// The error message for the text.
pub(super) type Broken = String;

pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str) -> Self {
        Parser { text, at: 0, depth: 0 }
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expected(&mut self, what: &str) -> Broken {
        match self.peek() {
            None => format!("it is not valid JSON: it ends where {what} should be"),
            Some(_) => {
                let rest = &self.text[self.at..];
                let rest: String = rest.chars().take_while(|c| !c.is_control()).take(20).collect();
                format!("it is not valid JSON: {rest:?} stands where {what} should be")
            }
        }
    }

    /// The next value: complete if it is a scalar, else only its opening bracket.
    pub fn value(&mut self) -> Result<Token<'a>, Broken> {
        match self.peek() {
            Some(b'"') => self.string().map(Token::Text),
            Some(b'{') => self.open().map(|()| Token::Object),
            Some(b'[') => self.open().map(|()| Token::Array),
            Some(b'-' | b'0'..=b'9') => self.number().map(Token::Number),
            Some(b't') => self.word("true").map(Token::Bool),
            Some(b'f') => self.word("false").map(Token::Bool),
            Some(b'n') => self.word("null").map(|_| Token::Null),
            _ => Err(self.expected("a value")),
        }
    }

    fn open(&mut self) -> Result<(), Broken> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("it is nested deeper than {DEPTH_MAX} levels"));
        }
        Ok(())
    }

    /// The next key of the object just opened; `None` at its end.
    pub fn key(&mut self, is_first: bool) -> Result<Option<Cow<'a, str>>, Broken> {
        if !self.more(is_first, b'}')? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key"));
        }
        let key = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.expected("a colon"));
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Whether the array just opened has a next element.
    pub fn element(&mut self, is_first: bool) -> Result<bool, Broken> {
        self.more(is_first, b']')
    }

    fn more(&mut self, is_first: bool, close: u8) -> Result<bool, Broken> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if is_first => Ok(true),
            _ => Err(self.expected(if close == b'}' { "a comma or }" } else { "a comma or ]" })),
        }
    }

    /// Skips the rest of a value after its first `token`, and returns its text.
    pub fn rest_of(&mut self, token: &Token<'_>, from: usize) -> Result<&'a str, Broken> {
        self.pass(token)?;
        Ok(&self.text[from..self.at])
    }

    /// The position of the next value.
    pub fn position(&mut self) -> usize {
        self.peek();
        self.at
    }

    fn pass(&mut self, token: &Token<'_>) -> Result<(), Broken> {
        let mut is_first = true;
        match token {
            Token::Object => {
                while self.key(std::mem::take(&mut is_first))?.is_some() {
                    let value = self.value()?;
                    self.pass(&value)?;
                }
            }
            Token::Array => {
                while self.element(std::mem::take(&mut is_first))? {
                    let value = self.value()?;
                    self.pass(&value)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub fn end(&mut self) -> Result<(), Broken> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the record")),
        }
    }

    fn word(&mut self, word: &'static str) -> Result<&'static str, Broken> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(word)
    }

    fn number(&mut self) -> Result<&'a str, Broken> {
        let rest = &self.text[self.at..];
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.bytes().take_while(|byte| is_part(byte)).count();
        let number = &rest[..length];
        if !is_number(number.as_bytes()) {
            return Err(self.expected("a number"));
        }
        self.at += length;
        Ok(number)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Broken> {
        let rest = &self.text[self.at + 1..];
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        match rest.bytes().position(|byte| special(&byte)) {
            Some(end) if rest.as_bytes()[end] == b'"' => {
                self.at += end + 2;
                Ok(Cow::Borrowed(&rest[..end]))
            }
            Some(end) if rest.as_bytes()[end] == b'\\' => self.escaped(rest, end).map(Cow::Owned),
            Some(_) => Err("it is not valid JSON: a text contains a line end or control character".to_owned()),
            None => Err("it is not valid JSON: a text is not closed".to_owned()),
        }
    }

    /// A string with escapes; the first escape is at `at` in `rest` (the text after the quote).
    fn escaped(&mut self, rest: &'a str, mut at: usize) -> Result<String, Broken> {
        let bad = || "it is not valid JSON: a text has a wrong escape".to_owned();
        let bytes = rest.as_bytes();
        let mut text = rest[..at].to_owned();
        loop {
            let plain = at;
            at += bytes[at..].iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
            text.push_str(&rest[plain..at]);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at += at + 2;
                    return Ok(text);
                }
                Some(b'\\') => {
                    let (character, length) = escape(&bytes[at + 1..]).ok_or_else(bad)?;
                    text.push(character);
                    at += 1 + length;
                }
                _ => return Err("it is not valid JSON: a text is not closed".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Result<(), Broken> {
        let mut parser = Parser::new(text);
        let token = parser.value()?;
        parser.rest_of(&token, 0)?;
        parser.end()
    }

    #[test]
    fn valid_json_is_read_and_invalid_json_refused() {
        for good in ["{}", "[]", " { \"a\" : [ 1 , -0.5e+3 , null , true ] } ", "\"\\u00e9\\ud83d\\ude00\"", "0"] {
            assert!(whole(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "{",
            "{\"a\":}",
            "{\"a\" 1}",
            "[1 2]",
            "[1,]",
            "{,}",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            "tru",
            "\"a",
            "\"\\x\"",
            "\"\\ud800\"",
            "{} {}",
            "'a'",
            "\"a\nb\"",
            "nul",
            "\"\\ud800\\u0041\"",
        ] {
            assert!(whole(bad).is_err(), "{bad}");
        }
        assert!(whole(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn escapes_become_their_characters() {
        let token = Parser::new("\"a\\n\\\"\\u00e9\\ud83d\\ude00b\"").value();
        assert_eq!(token, Ok(Token::Text("a\n\"é😀b".into())));
    }
}

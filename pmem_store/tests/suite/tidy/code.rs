//! A minimal parser of Rust: comments, strings, words, the extent of functions.

/// `text` with spaces instead of the content of comments, strings and character literals. Quotes and line ends stay.
pub fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => line_end(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => comment_end(&chars, at),
            '"' => string_end(&chars, at, raw_hashes(&chars, at)),
            '\'' => literal_end(&chars, at),
            other => {
                out.push(other);
                at += 1;
                continue;
            }
        };
        for char in &chars[at..end] {
            out.push(if matches!(char, '\n' | '"') { *char } else { ' ' });
        }
        at = end;
    }
    out
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|char| *char == '\n').map_or(chars.len(), |length| at + length)
}

fn comment_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut at) = (0, at);
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

/// For the quote at `quote`: `None` for an ordinary string, else the number of `#` of a raw one.
fn raw_hashes(chars: &[char], quote: usize) -> Option<usize> {
    let hashes = chars[..quote].iter().rev().take_while(|char| **char == '#').count();
    let is_raw = chars[..quote - hashes].last() == Some(&'r');
    is_raw.then_some(hashes)
}

fn string_end(chars: &[char], quote: usize, raw: Option<usize>) -> usize {
    let mut at = quote + 1;
    while at < chars.len() {
        match (chars[at], raw) {
            ('\\', None) => at += 1,
            ('"', None) => return at + 1,
            ('"', Some(hashes)) if chars[at + 1..].iter().take(hashes).filter(|char| **char == '#').count() == hashes => {
                return at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    chars.len()
}

/// The end of a character literal; for a lifetime, of the tick alone.
fn literal_end(chars: &[char], tick: usize) -> usize {
    match (chars.get(tick + 1), chars.get(tick + 2)) {
        (Some('\\'), _) => {
            let rest = chars.get(tick + 3..).unwrap_or_default();
            rest.iter().position(|char| *char == '\'').map_or(chars.len(), |length| tick + length + 4)
        }
        (Some(_), Some('\'')) => tick + 3,
        _ => tick + 1,
    }
}

/// The byte offsets of `word` in `code` where it is not a part of a longer word.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| !part(code[..*at].chars().next_back()) && !part(code[at + word.len()..].chars().next()))
}

/// Counts from 1.
pub fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

pub struct Function {
    pub name: String,
    /// Counts from 1.
    pub line: usize,
    pub lines: usize,
}

/// Every function with a body, including nested ones.
pub fn functions(code: &str) -> Vec<Function> {
    let functions = words(code, "fn").filter_map(|at| {
        let rest = code[at + 2..].trim_start();
        let name: String = rest.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
        if name.is_empty() {
            return None; // a function type
        }
        let start = at + code[at..].find(['{', ';']).filter(|end| code.as_bytes()[at + end] == b'{')?;
        let line = line_of(code, at);
        Some(Function { name, line, lines: line_of(code, block_end(code, start)) - line + 1 })
    });
    functions.collect()
}

/// The position at which the brace at `start` is closed.
fn block_end(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (offset, char) in code[start..].char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return start + offset;
        }
    }
    code.len()
}

#[test]
fn comments_and_strings_are_not_code() {
    let text = "let a = \"redb::\"; // redb::\n/* a /* b */ redb:: */ r#\"x \" redb::\"# 'r' b'\\'' &'a str redb::X";
    assert_eq!(blanked(text).matches("redb::").count(), 1);
    assert_eq!(blanked(text).lines().count(), 2);
}

#[test]
fn a_function_ends_with_its_brace() {
    let code = blanked("fn a(x: [u8; 2]);\nfn b() {\n  if x { \"}\" } else { '}' }\n}\nlet c: fn(u8) -> u8;\n");
    let functions: Vec<_> = functions(&code).into_iter().map(|function| (function.name, function.line, function.lines)).collect();
    assert_eq!(functions, [("b".to_string(), 2, 3)]);
}

//! Texts of lists: `[1, NULL, 2]` as DuckDB and Quiver write them, or `{1,NULL,2}` as PostgreSQL does.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, StringViewArray, StringViewBuilder};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;

use super::nested::cast_shown;
use super::texts::wrong_text;

/// Texts as lists of any kind. If `safe`, a text that is not a list becomes NULL.
pub fn lists_of_texts(texts: &StringViewArray, to: &DataType, safe: bool) -> Result<ArrayRef> {
    let mut elements = StringViewBuilder::new();
    let (mut lengths, mut valid) = (Vec::with_capacity(texts.len()), Vec::with_capacity(texts.len()));
    for text in texts {
        let parts = text.map(|text| elements_of(text).ok_or(text));
        if let Some(Err(text)) = parts
            && !safe
        {
            return Err(wrong_text(text, to).into());
        }
        let parts = parts.and_then(|parts| parts.ok());
        valid.push(parts.is_some());
        lengths.push(parts.as_ref().map_or(0, Vec::len));
        parts.into_iter().flatten().for_each(|part| elements.append_option(part));
    }
    let item = Arc::new(Field::new_list_field(DataType::Utf8View, true));
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
    let lists = ListArray::try_new(Arc::clone(&item), offsets, Arc::new(elements.finish()), Some(NullBuffer::from(valid)))?;
    let (from, to) = (Field::new("", DataType::List(item), true), Field::new("", to.clone(), true));
    cast_shown(&(Arc::new(lists) as ArrayRef), &from, &to, safe)
}

/// The elements between the brackets, or `None` if the text is not a list. An inner list is an element with its brackets.
fn elements_of(text: &str) -> Option<Vec<Option<String>>> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.or_else(|| text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')))?;
    if inner.trim().is_empty() {
        return Some(Vec::new());
    }
    let (mut elements, mut start, mut open, mut quote) = (Vec::new(), 0, Vec::new(), None);
    let mut chars = inner.char_indices();
    while let Some((place, char)) = chars.next() {
        match (quote, char) {
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(mark), _) if char == mark => quote = None,
            (Some(_), _) => {}
            // Within a word it is an apostrophe.
            (None, '"' | '\'') if is_start(&inner[start..place]) || !open.is_empty() => quote = Some(char),
            (None, '[') => open.push(']'),
            (None, '{') => open.push('}'),
            (None, ']' | '}') => (open.pop() == Some(char)).then_some(())?,
            (None, ',') if open.is_empty() => {
                elements.push(element(&inner[start..place])?);
                start = place + 1;
            }
            _ => {}
        }
    }
    if quote.is_some() || !open.is_empty() {
        return None;
    }
    elements.push(element(&inner[start..])?);
    Some(elements)
}

fn is_start(before: &str) -> bool {
    before.trim().is_empty()
}

/// One element; the outer `None` means that it is missing or malformed.
fn element(text: &str) -> Option<Option<String>> {
    let text = text.trim();
    let mut chars = text.chars();
    match chars.next()? {
        mark @ ('"' | '\'') => {
            let mut made = String::with_capacity(text.len());
            loop {
                match chars.next()? {
                    '\\' => made.push(chars.next()?),
                    char if char == mark => break,
                    char => made.push(char),
                }
            }
            chars.next().is_none().then_some(Some(made))
        }
        _ if text.eq_ignore_ascii_case("null") => Some(None),
        _ => Some(Some(text.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<Vec<Option<String>>> {
        elements_of(text)
    }

    fn of(parts: &[Option<&str>]) -> Option<Vec<Option<String>>> {
        Some(parts.iter().map(|part| part.map(str::to_string)).collect())
    }

    #[test]
    fn elements_are_between_commas_that_are_in_no_bracket_and_no_quotes() {
        assert_eq!(parts(" [1, NULL,2 ] "), of(&[Some("1"), None, Some("2")]));
        assert_eq!(parts("{1,2}"), of(&[Some("1"), Some("2")]));
        assert_eq!(parts("[]"), of(&[]));
        assert_eq!(parts("[[1, 2], [3]]"), of(&[Some("[1, 2]"), Some("[3]")]));
        assert_eq!(
            parts(r#"['a, b', "it's", it's, 'NULL', 'a\'b']"#),
            of(&[Some("a, b"), Some("it's"), Some("it's"), Some("NULL"), Some("a'b")])
        );
        assert_eq!(parts("[[']', 'x'], []]"), of(&[Some("[']', 'x']"), Some("[]")]));
    }

    #[test]
    fn what_is_no_list_is_none() {
        for text in ["", "abc", "[1", "1]", "[1,]", "[,]", "[1, 2}", "['a]", "['a' b]", "[[1]", "[1]]", "[1}2]"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}

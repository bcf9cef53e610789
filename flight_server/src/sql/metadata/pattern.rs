//! The patterns of metadata calls: `%` stands for any text, `_` for one character.

use crate::sessions::CATALOG;

/// The escape character, which makes a following `%` or `_` literal.
pub const ESCAPE: char = '\\';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Any,
    One,
    Char(char),
}

/// How names are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Exact,
    Ignored,
}

impl Case {
    pub fn is_same(self, one: &str, other: &str) -> bool {
        match self {
            Case::Exact => one == other,
            Case::Ignored => one.to_lowercase() == other.to_lowercase(),
        }
    }

    fn is_same_char(self, one: char, other: char) -> bool {
        one == other || self == Case::Ignored && one.to_lowercase().eq(other.to_lowercase())
    }
}

/// What fits as it is spelled. If nothing does, case is ignored: an unquoted `FLIGHTS` is the table `flights` in SQL too, and
/// the JDBC driver tells tools that names are stored in upper case.
pub fn fitting<T>(items: Vec<T>, fits: impl Fn(&T, Case) -> bool) -> Vec<T> {
    let case = if items.iter().any(|item| fits(item, Case::Exact)) { Case::Exact } else { Case::Ignored };
    items.into_iter().filter(|item| fits(item, case)).collect()
}

/// No pattern matches everything.
#[derive(Debug, Clone)]
pub struct Pattern(Option<Vec<Part>>);

impl Pattern {
    pub fn new(pattern: Option<&str>) -> Pattern {
        Pattern(pattern.map(parts))
    }

    pub fn fits(&self, name: &str, case: Case) -> bool {
        self.0.as_ref().is_none_or(|parts| fits(parts, name, case))
    }
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        parts.push(match char {
            // Several `%` in a row mean the same as one, and each would cost time for every name.
            '%' if parts.last() == Some(&Part::Any) => continue,
            '%' => Part::Any,
            '_' => Part::One,
            // In front of another character it stands for itself: names may contain it.
            ESCAPE => match chars.next_if(|next| matches!(next, '%' | '_' | &ESCAPE)) {
                Some(escaped) => Part::Char(escaped),
                None => Part::Char(ESCAPE),
            },
            other => Part::Char(other),
        });
    }
    parts
}

/// Backtracks to the last `%` only, so that the cost is at most the length of the pattern times that of the name.
fn fits(parts: &[Part], name: &str, case: Case) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut part) = (0, 0);
    let mut last_any = None;
    while at < name.len() {
        match parts.get(part) {
            Some(Part::Any) => {
                last_any = Some((part, at));
                part += 1;
            }
            Some(Part::One) => (at, part) = (at + 1, part + 1),
            Some(Part::Char(char)) if case.is_same_char(*char, name[at]) => (at, part) = (at + 1, part + 1),
            _ => match last_any {
                Some((any, from)) => {
                    last_any = Some((any, from + 1));
                    (at, part) = (from + 1, any + 1);
                }
                None => return false,
            },
        }
    }
    parts[part..].iter().all(|part| *part == Part::Any)
}

/// Whether a filter, which is not a pattern, matches the only catalog. An empty text matches objects without
/// a catalog.
pub fn is_in_catalog(filter: Option<&str>) -> bool {
    filter.is_none_or(|name| Case::Ignored.is_same(name, CATALOG))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Pattern::new(Some(pattern)).fits(name, Case::Exact)
    }

    #[test]
    fn without_a_pattern_every_name_fits() {
        assert!(Pattern::new(None).fits("", Case::Exact) && Pattern::new(None).fits("a%", Case::Exact));
    }

    #[test]
    fn a_percent_sign_is_any_text_and_an_underscore_one_character() {
        assert!(fits("%", "") && fits("a%", "a") && fits("a%c%", "abcd") && fits("%b%b", "abab") && fits("_é_", "aéb"));
        assert!(!fits("a%c", "abcd") && !fits("_", "") && !fits("_", "ab") && !fits("", "a") && !fits("A", "a"));
    }

    #[test]
    fn escaped_wildcards_are_literal() {
        assert!(fits("a\\_b", "a_b") && !fits("a\\_b", "axb"));
        assert!(fits("100\\%", "100%") && !fits("100\\%", "1000"));
        assert!(fits("a\\\\b", "a\\b") && fits("a\\b", "a\\b") && fits("a\\", "a\\"));
    }

    #[test]
    fn another_case_fits_only_where_nothing_fits_as_it_is_spelled() {
        let names = |pattern: &str| {
            let pattern = Pattern::new(Some(pattern));
            fitting(vec!["Aé", "aé", "b_"], |name, case| pattern.fits(name, case))
        };
        assert_eq!(names("Aé"), ["Aé"]);
        assert_eq!(names("AÉ"), ["Aé", "aé"]);
        assert_eq!(names("B\\_"), ["b_"]);
        assert!(names("C%").is_empty());
    }

    #[test]
    fn a_pattern_of_many_percent_signs_is_matched_fast() {
        assert!(!fits(&"%a".repeat(2_000), &"a".repeat(1_999)));
    }

    #[test]
    fn an_empty_catalog_is_none_and_an_absent_one_any() {
        assert!(is_in_catalog(None) && is_in_catalog(Some(CATALOG)) && is_in_catalog(Some("QUIVER")));
        assert!(!is_in_catalog(Some("")) && !is_in_catalog(Some("%")));
    }
}

//! Decides whether the first record is a header, and names the columns.

use std::collections::HashSet;

use crate::import::infer::{SeenTypes, classify, is_soft_null};

/// Whether the first record holds names, and whether that is more than a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Yes,
    Probably,
    No,
}

/// A header has a name in every field (the first may be empty: pandas writes its index so), and no
/// name is a number, a date or a truth value. When no column below is typed the file could as well
/// be all data; then the names must at least differ, and the record is still a header, because people
/// mean that most of the time. `header: false` says otherwise.
///
/// Names may also be empty, twice there, or numbers, like the years of a table with a column for each. Then the
/// columns below decide: a field that could not be a value of its column is a name.
pub(super) fn header(first: &[String], below: &[SeenTypes]) -> Header {
    let named = |(index, (name, types)): (usize, (&String, &SeenTypes))| {
        let is_empty = name.trim().is_empty();
        let is_name = || classify(name).is_word() && !is_value(name, *types);
        (is_empty && index == 0 && first.len() > 1) || (!is_empty && !is_soft_null(name) && is_name())
    };
    let has_typed_column = below.iter().any(|types| types.is_typed());
    let distinct: HashSet<&String> = first.iter().collect();
    let all_named = first.iter().zip(below).enumerate().all(named);
    if all_named && has_typed_column {
        return Header::Yes;
    }
    let is_header = match has_typed_column {
        true => has_names_above_values(first, below),
        false => all_named && distinct.len() == first.len() || is_name_of_texts(first, below, distinct.len()),
    };
    if is_header { Header::Probably } else { Header::No }
}

/// Whether the field could be a value of a column that is no text, as `yes` among truth values.
fn is_value(name: &str, types: SeenTypes) -> bool {
    let mut together = types;
    together.add(classify(name));
    types.is_typed() && together.is_typed()
}

/// All columns are texts: some field is a word, few are empty, and not all are the same.
fn is_name_of_texts(first: &[String], below: &[SeenTypes], distinct: usize) -> bool {
    let empty = first.iter().filter(|name| name.trim().is_empty()).count();
    let has_word = first.iter().any(|name| !is_soft_null(name) && classify(name).is_word());
    let has_texts = below.iter().any(|types| types.is_text());
    has_texts && has_word && distinct > 1 && empty * 2 < first.len()
}

/// Whether more fields could not be values of their columns than could.
fn has_names_above_values(first: &[String], below: &[SeenTypes]) -> bool {
    let has_word = first.iter().any(|name| !is_soft_null(name) && classify(name).is_word());
    let mut labels = Vec::new();
    let (mut names, mut values) = (0, 0);
    for (name, types) in first.iter().zip(below).filter(|(name, types)| !is_soft_null(name.trim()) && types.is_typed()) {
        if classify(name).is_number() && types.is_number() {
            labels.push((name.trim(), types.has_fractions_only()));
        } else if is_value(name, *types) {
            values += 1;
        } else {
            names += 1;
        }
    }
    let numbers = labels.iter().map(|(name, _)| name.parse::<i64>().ok()).collect::<Option<Vec<_>>>().unwrap_or_default();
    let distinct: HashSet<&i64> = numbers.iter().collect();
    let are_distinct = has_word && numbers.len() > 1 && distinct.len() == numbers.len();
    let are_years = are_distinct
        && numbers.iter().all(|number| (1000..3000).contains(number))
        && numbers.windows(2).all(|pair| (pair[0] - pair[1]).abs() == 1);
    for (_, is_above_fractions) in &labels {
        // Whole numbers stand above columns that have none, or they count years.
        if are_years || are_distinct && *is_above_fractions {
            names += 1;
        } else {
            values += 1;
        }
    }
    names > values
}

/// Names from a header: trimmed; an empty one becomes `column0`, a second `a` becomes `a_1`.
pub(super) fn names_from(header: &[String]) -> Vec<String> {
    let mut lower_names: HashSet<String> = HashSet::new();
    let mut names = Vec::with_capacity(header.len());
    for (index, field) in header.iter().enumerate() {
        let name = match field.trim() {
            "" => format!("column{index}"),
            name => name.to_owned(),
        };
        let mut unique = name.clone();
        let mut number = 1;
        while !lower_names.insert(unique.to_lowercase()) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        names.push(unique);
    }
    names
}

/// Names of a file without a header.
pub(super) fn names_by_position(columns: usize) -> Vec<String> {
    (0..columns).map(|index| format!("column{index}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_first_record_with_a_value_is_data() {
        let typed = [SeenTypes::INT, SeenTypes::TEXT];
        let is_header = |first: &[&str], below: &[SeenTypes]| header(&strings(first), below) != Header::No;
        assert_eq!(header(&strings(&["id", "name"]), &typed), Header::Yes);
        assert!(is_header(&["", "name"], &typed));
        assert!(!is_header(&["1", "name"], &typed));
        assert!(!is_header(&["NA", "name"], &typed));
        assert!(is_header(&["x", "x"], &typed));
        assert!(!is_header(&["x", "x"], &[SeenTypes::TEXT, SeenTypes::TEXT]));
        assert!(!is_header(&["1", "x"], &[SeenTypes::default(), SeenTypes::default()]));
    }

    #[test]
    fn a_name_may_be_empty_twice_there_or_a_number_if_it_is_no_value_of_its_column() {
        let (int, float, text, bool) = (SeenTypes::INT, SeenTypes::FLOAT, SeenTypes::TEXT, SeenTypes::BOOL);
        let header = |first: &[&str], below: &[SeenTypes]| header(&strings(first), below);
        assert_eq!(header(&["id", "", "age"], &[int, text, int]), Header::Probably);
        assert_eq!(header(&["A", "B", "B"], &[text, text, text]), Header::Probably);
        assert_eq!(header(&["Country", "1960", "1961"], &[text, float, float]), Header::Probably);
        assert_eq!(header(&["Country", "1960", "1961"], &[text, int, int]), Header::Probably);
        assert_eq!(header(&["id", "1001", "1007"], &[text, bool, bool]), Header::Probably);
        assert_eq!(header(&["Museum", "2011", "2010"], &[text, text, text]), Header::Probably);
        assert_eq!(header(&["id", "7", "4"], &[text, int, int]), Header::No);
        assert_eq!(header(&["0", "0"], &[float, float]), Header::No);
        let mut truth = classify("yes");
        truth.add(classify("no"));
        assert_eq!(header(&["yes", "no"], &[truth, truth]), Header::No);
        assert_eq!(header(&["no", "y"], &[int, float]), Header::Yes);
        assert_eq!(header(&["a", "0.5", "1.5"], &[text, float, float]), Header::No);
    }

    #[test]
    fn names_are_made_unique() {
        assert_eq!(names_from(&strings(&["", " a ", "A", "a"])), ["column0", "a", "A_1", "a_2"]);
    }
}

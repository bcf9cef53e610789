//! Decides whether the first record is a header, and names the columns.

use std::collections::HashSet;

use crate::import::infer::{SeenTypes, classify, is_soft_null};

/// A header has a name in every field (the first may be empty: pandas writes its index so), and no
/// name is a number, a date or a truth value. When no column below is typed the file could as well
/// be all data; then the names must at least differ, and the record is still a header, because people
/// mean that most of the time. `header: false` says otherwise.
pub(super) fn is_header(first: &[String], below: &[SeenTypes]) -> bool {
    let named = |(index, name): (usize, &String)| {
        let is_empty = name.trim().is_empty();
        (is_empty && index == 0 && first.len() > 1) || (!is_empty && !is_soft_null(name) && classify(name) == SeenTypes::TEXT)
    };
    let has_typed_column = below.iter().any(|types| !types.is_text() && *types != SeenTypes::default());
    let distinct: HashSet<&String> = first.iter().collect();
    first.iter().enumerate().all(named) && (has_typed_column || distinct.len() == first.len())
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
        assert!(is_header(&strings(&["id", "name"]), &typed));
        assert!(is_header(&strings(&["", "name"]), &typed));
        assert!(!is_header(&strings(&["1", "name"]), &typed));
        assert!(!is_header(&strings(&["id", ""]), &typed));
        assert!(!is_header(&strings(&["NA", "name"]), &typed));
        assert!(is_header(&strings(&["x", "x"]), &typed));
        assert!(!is_header(&strings(&["x", "x"]), &[SeenTypes::TEXT, SeenTypes::TEXT]));
    }

    #[test]
    fn names_are_made_unique() {
        assert_eq!(names_from(&strings(&["", " a ", "A", "a"])), ["column0", "a", "A_1", "a_2"]);
    }
}

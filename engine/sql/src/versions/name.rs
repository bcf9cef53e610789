//! The name under which DataFusion looks up a table at a version.

/// Separates a table's name from the clause. It is a no-break space, so a plan or an error with the name stays readable, and no typed name
/// contains it.
const MARK: char = '\u{a0}';

/// `clause` is the text after FOR.
pub fn versioned_name(table: &str, clause: &str) -> String {
    format!("{table}{MARK}FOR {clause}")
}

/// The table and the clause, if the name has one.
pub fn split_name(name: &str) -> Option<(&str, &str)> {
    let (table, clause) = name.split_once(MARK)?;
    Some((table, clause.strip_prefix("FOR ")?))
}

/// The name without its clause.
pub fn base_name(name: &str) -> &str {
    split_name(name).map_or(name, |(table, _)| table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_its_clause_are_found_again() {
        let name = versioned_name("My \"t\"", "VERSION AS OF 'a FOR b'");
        assert_eq!(split_name(&name), Some(("My \"t\"", "VERSION AS OF 'a FOR b'")));
        assert_eq!((base_name(&name), base_name("t FOR x")), ("My \"t\"", "t FOR x"));
    }
}

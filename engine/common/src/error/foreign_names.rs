//! Names from other database systems, with what to write here instead.

use crate::file_format::is_file_name;

/// Functions that do not exist here.
const FUNCTIONS: [(&[&str], &str); 17] = [
    (&["format_datetime"], "to_char(x, …) writes a time as text"),
    (&["str_to_date", "parse_datetime"], "to_date(x, …) and to_timestamp(x, …) read a time from text, or CAST(x AS TIMESTAMP)"),
    (&["dateadd", "timestampadd", "adddate"], "add an interval: x + INTERVAL '1 day'"),
    (&["date_sub", "subdate"], "subtract an interval: x - INTERVAL '1 day'"),
    (&["timestampdiff", "age"], "subtract one from the other: a - b; date_diff('month', a, b) counts the months that begin in between"),
    (&["sysdate", "getutcdate"], "write now()"),
    (&["percentile", "percentile_disc"], "write percentile_cont(0.9) WITHIN GROUP (ORDER BY x), or median(x)"),
    (&["charindex", "locate"], "write strpos(text, part)"),
    (&["list_value", "array"], "write the list in brackets: [1, 2]"),
    (&["struct_pack"], "write the struct in braces: {a: 1}"),
    (&["any"], "write first_value(x ORDER BY …)"),
    (&["unix_timestamp"], "write to_unixtime(x)"),
    (&["to_number"], "cast the text: CAST(x AS DECIMAL(10, 2))"),
    (&["newid"], "write uuid()"),
    (&["current_database", "database"], "a store is one database, which has no name"),
    (&["format", "printf"], "write concat(x, ' ', y)"),
    (&["nextval"], "there are no sequences: row_number() OVER () numbers rows"),
];

const FILES: &str = "SELECT * FROM 'x.csv' reads a file, and so do read_csv, read_parquet, read_json and read_arrow; COPY t FROM 'x.csv' \
                     and `quiver import` load it, and COPY t TO 'x.csv' writes it";

const JSON: &str = "there is no type JSON: import the JSON, and its objects become structs, of which x['field'] is a field";

/// Statements that do not exist here, by their first words.
const STATEMENTS: [(&str, &str); 17] = [
    ("SHOW DATABASES", "a store is one database: SHOW SCHEMAS lists its schemas"),
    ("USE", "a store is one database: write schema.table"),
    ("VACUUM", "OPTIMIZE TABLE t rewrites what is small or much deleted, and it is done by itself as well"),
    ("ANALYZE", "leave it out: statistics are made as rows are written"),
    ("PRAGMA", "SHOW ALL lists the settings, SET changes one, and DESCRIBE t shows the columns of a table"),
    ("INSTALL", "leave it out: there are no extensions"),
    ("LOAD", "leave it out: there are no extensions; COPY t FROM 'file' loads rows"),
    ("ATTACH", "a store is one database; --store names it"),
    ("EXPORT DATABASE", "BACKUP TO 'directory' copies the store, and COPY t TO 'file' a table"),
    ("IMPORT DATABASE", "COPY t FROM 'file' loads a table"),
    ("CREATE SEQUENCE", "row_number() OVER () numbers rows"),
    ("CREATE MACRO", "make a view of what is computed"),
    ("CREATE OR REPLACE MACRO", "make a view of what is computed"),
    ("RENAME TABLE", "write ALTER TABLE t RENAME TO u"),
    ("DESCRIBE TABLE", "write DESCRIBE t"),
    ("PIVOT", "use an aggregate with FILTER (WHERE …) for each column"),
    ("UNPIVOT", "use UNION ALL with a SELECT for each column"),
];

pub fn instead_of_function(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if name.starts_with("json") || name.starts_with("to_json") || name.ends_with("to_json") {
        return Some(JSON);
    }
    FUNCTIONS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, hint)| *hint)
}

/// `read_csv('x')` and similar.
pub fn instead_of_table_function(name: &str) -> Option<&'static str> {
    let is_reader = ["read_", "csv_", "parquet_", "json_", "sniff_"].iter().any(|start| name.starts_with(start)) || name.ends_with("_scan");
    is_reader.then_some(FILES).or_else(|| instead_of_catalog(name))
}

/// The tables in which other systems list tables.
pub fn instead_of_catalog(name: &str) -> Option<&'static str> {
    let is_catalog = ["pg_", "sqlite_", "duckdb_", "pragma_"].iter().any(|start| name.starts_with(start));
    is_catalog.then_some("SHOW TABLES and DESCRIBE t list tables and columns, and so do information_schema; SHOW ALL lists settings")
}

/// A file where only a table can be: as the target of an INSERT.
pub fn instead_of_file(name: &str) -> Option<&'static str> {
    is_file_name(name).then_some(FILES)
}

/// A hint for an unsupported feature.
pub fn instead_of_feature(feature: &str) -> Option<&'static str> {
    if feature.starts_with("the operator -") || feature.starts_with("the operator #") || feature.starts_with("the operator @?") {
        return Some(JSON);
    }
    let begins = |start: &str| feature.strip_prefix(start).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()));
    STATEMENTS.iter().find(|(start, _)| begins(start)).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;

    #[test]
    fn what_is_there_has_no_other_name() {
        let state = SessionContext::new().state();
        let there = state.scalar_functions().keys().chain(state.aggregate_functions().keys()).chain(state.window_functions().keys());
        let there: Vec<&String> = there.collect();
        let named = FUNCTIONS.iter().flat_map(|(names, _)| *names).copied();
        let both: Vec<&str> = named.filter(|name| there.iter().any(|other| other.as_str() == *name)).collect();
        assert_eq!(both, Vec::<&str>::new(), "these functions are there");
    }

    #[test]
    fn names_of_other_systems_have_a_hint() {
        assert!(instead_of_function("FORMAT_DATETIME").is_some_and(|hint| hint.contains("to_char")));
        assert!(instead_of_function("json_extract").is_some() && instead_of_function("sum").is_none());
        assert!(instead_of_table_function("read_csv").is_some() && instead_of_table_function("range").is_none());
        assert!(instead_of_table_function("duckdb_tables").is_some() && instead_of_catalog("pg_class").is_some());
        assert!(instead_of_file("a/B.CSV").is_some() && instead_of_file("flights").is_none());
        assert!(instead_of_feature("USE x").is_some() && instead_of_feature("USER").is_none());
    }
}

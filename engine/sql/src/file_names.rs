//! Files in FROM have a name for their columns: `SELECT flights.year FROM 'data/flights.csv.gz'`.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Select, TableAlias, TableFactor, TableWithJoins, VisitorMut};

use crate::walk::walk_statement_mut;
use common::file_format::is_file_name;

pub fn name_files(statement: &mut Statement) {
    let _ = walk_statement_mut(statement, &mut Selects);
}

struct Selects;

impl VisitorMut for Selects {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut names = HashSet::new();
        add_names(&select.from, &mut names);
        name_all(&mut select.from, &mut names);
        ControlFlow::Continue(())
    }
}

/// Adds the names that the statement gives itself, in lower case.
fn add_names(from: &[TableWithJoins], names: &mut HashSet<String>) {
    for table in from {
        for factor in std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)) {
            let name = match factor {
                TableFactor::Table { alias: Some(alias), .. }
                | TableFactor::Derived { alias: Some(alias), .. }
                | TableFactor::TableFunction { alias: Some(alias), .. }
                | TableFactor::Function { alias: Some(alias), .. }
                | TableFactor::UNNEST { alias: Some(alias), .. }
                | TableFactor::NestedJoin { alias: Some(alias), .. } => Some(&alias.name),
                TableFactor::Table { name, alias: None, .. } if short_name(name).is_none() => {
                    name.0.last().and_then(|part| part.as_ident())
                }
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    add_names(std::slice::from_ref(table_with_joins.as_ref()), names);
                    None
                }
                _ => None,
            };
            names.extend(name.map(|name| name.value.to_lowercase()));
        }
    }
}

/// Of two files of one name, the second keeps its path, and so does a file with the name of a table.
fn name_all(from: &mut [TableWithJoins], names: &mut HashSet<String>) {
    for table in from {
        for factor in std::iter::once(&mut table.relation).chain(table.joins.iter_mut().map(|join| &mut join.relation)) {
            match factor {
                TableFactor::Table { name, alias: alias @ None, args: None, .. } => {
                    if let Some(name) = short_name(name).filter(|name| names.insert(name.to_lowercase())) {
                        let name = Ident::with_quote('"', name);
                        *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
                    }
                }
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    name_all(std::slice::from_mut(table_with_joins.as_mut()), names);
                }
                _ => {}
            }
        }
    }
}

/// The name of the file up to its first dot, of a path in single quotes; `None` for a pattern or a directory.
fn short_name(table: &ObjectName) -> Option<String> {
    let [part] = table.0.as_slice() else { return None };
    let path = part.as_ident().filter(|ident| ident.quote_style == Some('\'') && is_file_name(&ident.value))?;
    let file = path.value.rsplit('/').next()?;
    let name = file.split('.').next().filter(|name| !name.is_empty() && !file.contains(['*', '?', '[']))?;
    Some(name.to_string())
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;
    use crate::QuiverDialect;

    #[test]
    fn a_file_does_not_take_the_name_of_a_table() {
        for from in ["t JOIN 't.csv' USING (id)", "'t.csv' JOIN s AS T USING (id)", "('t.csv' JOIN (SELECT 1 AS id) AS t USING (id))"] {
            let mut statements = DFParser::parse_sql_with_dialect(&format!("SELECT * FROM {from}"), &QuiverDialect).unwrap();
            name_files(&mut statements[0]);
            assert!(!statements[0].to_string().contains("\"t\""), "{}", statements[0]);
        }
    }

    fn named(path: &str) -> Option<String> {
        short_name(&ObjectName::from(vec![Ident::with_quote('\'', path)]))
    }

    #[test]
    fn a_file_is_called_by_its_name_up_to_the_first_dot() {
        assert_eq!(named("data/d.x/flights.csv.gz").as_deref(), Some("flights"));
        assert_eq!(named("a b.parquet").as_deref(), Some("a b"));
        for path in ["data/*.csv", "data/", "/", ".csv", "t"] {
            assert_eq!(named(path), None, "{path}");
        }
        assert_eq!(short_name(&ObjectName::from(vec![Ident::with_quote('"', "f.csv")])), None);
    }
}

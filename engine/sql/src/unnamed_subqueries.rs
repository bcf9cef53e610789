//! Several subqueries without aliases in one FROM: `FROM (SELECT 1 AS a), (SELECT 2 AS a)`. DataFusion does not allow two unqualified
//! columns of the same name, so each subquery gets an alias, as in PostgreSQL.

use std::ops::ControlFlow;

use crate::walk::walk_statement_mut;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Ident, Select, TableAlias, TableFactor, TableWithJoins, VisitorMut};

const NAME: &str = "unnamed_subquery";

pub fn name_subqueries(statement: &mut Statement) {
    let _ = walk_statement_mut(statement, &mut Selects);
}

struct Selects;

impl VisitorMut for Selects {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut aliases = Vec::new();
        unnamed(&mut select.from, &mut aliases);
        // A single one causes no conflict, and messages show its columns without a qualifier.
        if aliases.len() > 1 {
            for (place, alias) in aliases.into_iter().enumerate() {
                let name = if place == 0 { NAME.to_string() } else { format!("{NAME}_{place}") };
                *alias = Some(TableAlias { explicit: true, name: Ident::with_quote('"', name), columns: Vec::new(), at: None });
            }
        }
        ControlFlow::Continue(())
    }
}

fn unnamed<'a>(from: &'a mut [TableWithJoins], found: &mut Vec<&'a mut Option<TableAlias>>) {
    for table in from {
        for factor in std::iter::once(&mut table.relation).chain(table.joins.iter_mut().map(|join| &mut join.relation)) {
            match factor {
                TableFactor::Derived { alias, .. } if alias.is_none() => found.push(alias),
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    unnamed(std::slice::from_mut(table_with_joins.as_mut()), found);
                }
                _ => {}
            }
        }
    }
}

//! Refuses `DELETE flights`. The parser reads it as `DELETE FROM flights`, which would delete all rows, though something else may have
//! been meant.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{FromTable, Spanned, Statement as SqlStatement, Visitor};

use super::locate::offset_of;
use crate::walk::{into_result, walk_statement};
use common::error::EngineError;

pub fn check_from(sql: &str, statement: &Statement) -> Result<(), EngineError> {
    into_result(walk_statement(statement, &mut MissingFrom { sql }))
}

struct MissingFrom<'a> {
    sql: &'a str,
}

impl Visitor for MissingFrom<'_> {
    type Break = EngineError;

    fn pre_visit_statement(&mut self, statement: &SqlStatement) -> ControlFlow<EngineError> {
        let SqlStatement::Delete(delete) = statement else { return ControlFlow::Continue(()) };
        let FromTable::WithoutKeyword(tables) = &delete.from else { return ControlFlow::Continue(()) };
        let Some(table) = tables.first() else { return ControlFlow::Continue(()) };
        let start = table.relation.span().start;
        ControlFlow::Break(EngineError::Sql {
            message: format!("syntax error: expected: FROM, found: {}", table.relation),
            position: (start.line > 0).then(|| offset_of(self.sql, start.line, start.column)),
            hint: Some(format!("write DELETE FROM {}", table.relation)),
        })
    }
}

//! Resolves an unqualified name to the session's temporary table of that name, if there is one, by qualifying it with the schema `temp`.
//!
//! Texts of views are not changed: they mean the same to everybody.

use std::ops::ControlFlow;

use datafusion::common::TableReference;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::planner::{IdentNormalizer, object_name_to_table_reference};
use datafusion::sql::sqlparser::ast::{
    self, Ident, ObjectName, ObjectNamePart, Query, ShowCreateObject, TableFactor, TableObject, VisitorMut,
};

use super::cte_scopes::CteScopes;
use common::error::EngineError;
use common::names::TEMP;
use sql::walk::{WalkMut, into_result};
use table::temporary::TemporaryTables;

/// Changes the statement in place. `lowers_names` says whether unquoted names are read in lower case.
pub fn qualify_temporary_names(tables: &TemporaryTables, statement: &mut Statement, lowers_names: bool) -> Result<(), EngineError> {
    if tables.is_empty() {
        return Ok(());
    }
    let mut names = TemporaryNames { tables, lowers_names, ctes: CteScopes::default(), is_view: false };
    into_result(match statement {
        Statement::Statement(statement) => statement.walk_mut(&mut names),
        Statement::Explain(explain) => return qualify_temporary_names(tables, &mut explain.statement, lowers_names),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.walk_mut(&mut names),
            CopyToSource::Relation(name) => names.name(name),
        },
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    })
}

struct TemporaryNames<'a> {
    tables: &'a TemporaryTables,
    lowers_names: bool,
    ctes: CteScopes,
    is_view: bool,
}

impl TemporaryNames<'_> {
    fn is_cte(&self, name: &TableReference) -> bool {
        matches!(name, TableReference::Bare { table } if self.ctes.contains(table))
    }

    fn name(&self, name: &mut ObjectName) -> ControlFlow<EngineError> {
        let reference = object_name_to_table_reference(name.clone(), self.lowers_names).ok();
        let Some(reference) = reference.filter(|reference| !self.is_cte(reference)) else { return ControlFlow::Continue(()) };
        let Some(table) = self.tables.named(&reference) else { return ControlFlow::Continue(()) };
        if self.is_view {
            let hint = "a view is everybody's, and the table is this session's: name a stored table, with its schema if need be, as main.t";
            return ControlFlow::Break(EngineError::unsupported(format!("a view of the temporary table \"{}\"", table.name), Some(hint)));
        }
        if reference.schema().is_none() {
            name.0.insert(0, ObjectNamePart::Identifier(Ident::new(TEMP)));
        }
        ControlFlow::Continue(())
    }
}

impl VisitorMut for TemporaryNames<'_> {
    type Break = EngineError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<EngineError> {
        let normalizer = IdentNormalizer::new(self.lowers_names);
        self.ctes.enter(query, |name| normalizer.normalize(name.clone()));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<EngineError> {
        self.ctes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<EngineError> {
        match factor {
            TableFactor::Table { name, args: None, .. } => self.name(name),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Table names outside of FROM. A table that is created keeps the given name.
    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<EngineError> {
        match statement {
            ast::Statement::Insert(insert) => match &mut insert.table {
                TableObject::TableName(name) => self.name(name),
                _ => ControlFlow::Continue(()),
            },
            ast::Statement::Truncate(truncate) => truncate.table_names.iter_mut().try_for_each(|table| self.name(&mut table.name)),
            ast::Statement::ExplainTable { table_name, .. } => self.name(table_name),
            ast::Statement::ShowCreate { obj_type: ShowCreateObject::Table, obj_name } => self.name(obj_name),
            ast::Statement::ShowColumns { show_options, .. } => {
                let name = show_options.show_in.as_mut().and_then(|shown| shown.parent_name.as_mut());
                name.map_or(ControlFlow::Continue(()), |name| self.name(name))
            }
            ast::Statement::CreateView(_) => {
                self.is_view = true;
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

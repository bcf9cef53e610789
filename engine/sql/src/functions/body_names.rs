//! Names in a body that would mean something else than they seem to.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, Select, SelectItem, TableFactor, Value, ValueWithSpan, Visitor};

use super::statement::Parameter;
use crate::merged_names::normalized;
use crate::walk::{Walk, into_result};
use common::error::EngineError;

/// An error for an output column with the name of a parameter, which ORDER BY would take for the parameter; for a table with the name of the
/// function, which `f.p` would mean, too; and for `$3` where there is no third parameter.
pub fn check_names(query: &Query, function: &str, parameters: &[Parameter]) -> Result<(), EngineError> {
    struct Names<'a>(&'a str, &'a [Parameter]);
    impl Visitor for Names<'_> {
        type Break = EngineError;

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<EngineError> {
            let aliases = select.projection.iter().filter_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias } => Some((expr, normalized(alias))),
                _ => None,
            });
            for (expr, alias) in aliases {
                // `n AS n` is the parameter under its name.
                let is_itself = matches!(expr, Expr::Identifier(name) if normalized(name) == alias);
                if !is_itself && self.1.iter().any(|parameter| parameter.name == alias) {
                    return refused(format!("a column of the body of {} is called \"{alias}\", as one of its parameters is", self.0));
                }
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<EngineError> {
            let TableFactor::Table { name, alias: None, args: None, .. } = factor else { return ControlFlow::Continue(()) };
            match name.0.last().and_then(|name| name.as_ident()).is_some_and(|name| normalized(name) == self.0) {
                true => refused(format!("the body of {} reads a table of that name; give the table an alias", self.0)),
                false => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<EngineError> {
            let Value::Placeholder(name) = &value.value else { return ControlFlow::Continue(()) };
            let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
            match number.is_some_and(|number| (1..=self.1.len()).contains(&number)) {
                true => ControlFlow::Continue(()),
                false => refused(format!("{name} is no parameter of {}, which has {}", self.0, self.1.len())),
            }
        }
    }
    into_result(query.walk(&mut Names(function, parameters)))
}

fn refused(message: String) -> ControlFlow<EngineError> {
    ControlFlow::Break(EngineError::Sql { message, position: None, hint: None })
}

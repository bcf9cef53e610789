//! Calls in FROM of functions of users that are not in SQL.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{self, Query};

use super::function_code::table_function;
use super::function_signatures::{check_arguments, statement_of, types_of};
use super::provider::StoreCatalog;
use crate::user_tables::UserTable;
use common::error::EngineError;
use common::user_functions::PortableFunction;
use sql::functions::{FunctionDefinition, Parameter, call_query};

/// The rows of a call in FROM. `arguments` are in the order of the parameters; that for a table is a text with its name, or a query.
pub async fn code_table(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    portable: Arc<PortableFunction>,
    arguments: Vec<ast::Expr>,
) -> Result<LogicalPlan> {
    let types = types_of(catalog, state, definition).await?;
    let (mut parameters, mut values, mut queries) = (Vec::new(), Vec::new(), Vec::new());
    for (parameter, argument) in definition.parameters.iter().zip(arguments) {
        if parameter.is_table() {
            queries.push(table_query(definition, parameter, argument)?);
        } else {
            parameters.push(parameter.clone());
            values.push(argument);
        }
    }
    let values = catalog.views.plan(state, statement_of(call_query(&parameters, values)?)).await?;
    check_arguments(definition, &values).map_err(EngineError::into_datafusion)?;
    let mut inputs = vec![values];
    for query in queries {
        inputs.push(catalog.views.plan(state, statement_of(query)).await?);
    }
    let function = table_function(catalog, state, definition, &types, portable).map_err(EngineError::into_datafusion)?;
    UserTable::plan(&Arc::new(function), inputs)
}

fn table_query(definition: &FunctionDefinition, parameter: &Parameter, argument: ast::Expr) -> Result<Query> {
    match argument {
        ast::Expr::Subquery(query) => Ok(*query),
        ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::SingleQuotedString(name), .. }) => {
            let table = TableReference::parse_str(&name).to_quoted_string();
            sql::fragments::query_of(&format!("SELECT * FROM {table}")).map_err(DataFusionError::from)
        }
        other => {
            let message = format!("the argument {} of {} is {other}, and no table", parameter.name, definition.signature());
            let hint = Some(format!("write its name as a text, {}('points'), or a query in parentheses", definition.name.table()));
            Err(EngineError::Sql { message, position: None, hint }.into_datafusion())
        }
    }
}

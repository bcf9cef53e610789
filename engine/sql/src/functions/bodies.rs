//! The queries that a definition stands for.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Ident, Query, Select, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::parameters::{cast, with_parameters};
use super::statement::{FunctionDefinition, Parameter, ResultColumn};
use crate::fragments::{expr_of, query_of};
use common::names::FUNCTION_PARAMETERS as PARAMETERS;

/// `SELECT expr`
pub fn select_of(expr: Expr) -> Result<Box<Query>, ParserError> {
    let mut query = query_of("SELECT 1")?;
    if let Some(select) = select_mut(&mut query) {
        select.projection = vec![SelectItem::UnnamedExpr(expr)];
    }
    Ok(Box::new(query))
}

/// A query of one row of NULLs, which has a column for each parameter in its type.
pub fn signature_query(parameters: &[Parameter]) -> Result<Query, ParserError> {
    let mut query = query_of("SELECT 1")?;
    if let Some(select) = select_mut(&mut query).filter(|_| !parameters.is_empty()) {
        let null = expr_of("NULL")?;
        let columns = parameters
            .iter()
            .map(|parameter| SelectItem::ExprWithAlias { expr: cast(null.clone(), &parameter.data_type), alias: quoted(&parameter.name) });
        select.projection = columns.collect();
    }
    Ok(query)
}

/// One row with the arguments of a call, in the types of the parameters.
pub fn call_query(parameters: &[Parameter], arguments: Vec<Expr>) -> Result<Query, ParserError> {
    let mut query = signature_query(parameters)?;
    if let Some(select) = select_mut(&mut query) {
        for (item, argument) in select.projection.iter_mut().zip(arguments) {
            if let SelectItem::ExprWithAlias { expr: Expr::Cast { expr, .. }, .. } = item {
                **expr = argument;
            }
        }
    }
    Ok(query)
}

/// The query of a scalar function over the relation of its parameters: `SELECT CAST(body AS type) FROM (…) AS __parameters`.
pub fn scalar_query(definition: &FunctionDefinition, returns: &DataType, query: &Query) -> Result<Query, ParserError> {
    let mut query = query.clone();
    let names: Vec<&str> = definition.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    with_parameters(&mut query, definition.name.table(), &names, |at| parameter_column(names[at]));
    let relation = signature_query(&definition.parameters)?;
    if let Some(select) = select_mut(&mut query) {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(body) | SelectItem::ExprWithAlias { expr: body, .. } = item {
                let body = cast(if_no_null(definition, body.clone())?, returns);
                *item = SelectItem::ExprWithAlias { expr: body, alias: quoted("result") };
            }
        }
        select.from = vec![derived(relation, PARAMETERS, Vec::new())];
    }
    Ok(query)
}

/// The query of a table function with values for its parameters.
pub fn table_query(
    definition: &FunctionDefinition,
    columns: &[ResultColumn],
    query: &Query,
    arguments: &[Expr],
) -> Result<Query, ParserError> {
    let mut query = query.clone();
    let names: Vec<&str> = definition.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let values: Vec<Expr> = arguments.iter().zip(&definition.parameters).map(|(value, to)| cast(value.clone(), &to.data_type)).collect();
    with_parameters(&mut query, definition.name.table(), &names, |at| values[at].clone());
    if columns.is_empty() {
        return Ok(query);
    }
    let mut around = query_of("SELECT 1")?;
    if let Some(select) = select_mut(&mut around) {
        let items = columns.iter().map(|column| SelectItem::ExprWithAlias {
            expr: cast(Expr::Identifier(quoted(&column.name)), &column.data_type),
            alias: quoted(&column.name),
        });
        select.projection = items.collect();
        select.from = vec![derived(query, "result", columns.iter().map(|column| quoted(&column.name)).collect())];
    }
    Ok(around)
}

/// The body, or NULL if an argument of a strict function is NULL.
fn if_no_null(definition: &FunctionDefinition, body: Expr) -> Result<Expr, ParserError> {
    let mut conditions = definition.parameters.iter().map(|parameter| parameter_column(&parameter.name));
    let Some(first) = conditions.next().filter(|_| definition.is_strict) else { return Ok(body) };
    let is_null = |column: Expr| Expr::IsNull(Box::new(column));
    let any = conditions.map(is_null).fold(is_null(first), |left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::Or,
        right: Box::new(right),
    });
    let mut case = expr_of("CASE WHEN a THEN NULL ELSE b END")?;
    if let Expr::Case { conditions, else_result, .. } = &mut case {
        conditions.iter_mut().for_each(|when| when.condition = any.clone());
        *else_result = Some(Box::new(body));
    }
    Ok(case)
}

fn parameter_column(name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![quoted(PARAMETERS), quoted(name)])
}

fn select_mut(query: &mut Query) -> Option<&mut Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

fn derived(query: Query, alias: &str, columns: Vec<Ident>) -> TableWithJoins {
    let columns = columns.into_iter().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
    let alias = TableAlias { explicit: true, name: quoted(alias), columns, at: None };
    let relation = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(alias), sample: None };
    TableWithJoins { relation, joins: Vec::new() }
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

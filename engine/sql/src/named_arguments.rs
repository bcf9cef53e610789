//! Rewrites calls of table functions for DataFusion. It finds only names in lower case, and refuses named arguments in FROM: those of
//! functions that support them, as in `kmeans('t', 'x', k => 20)` and `read_csv('x.csv', header = true)`, become one struct,
//! `{'k': 20}`. All others stay and are refused.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DictionaryField, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, TableFactor,
};

use common::error::EngineError;
use common::file_format::FILE_READERS;
use common::names::KMEANS;

/// Makes the name lower case, and replaces supported named arguments by a struct; `factor` may be any part of FROM.
pub fn pack_named_arguments(factor: &mut TableFactor) -> Result<(), EngineError> {
    let (name, arguments) = match factor {
        TableFactor::Table { name, args: Some(arguments), .. } => (name, &mut arguments.args),
        TableFactor::Function { name, args, .. } => (name, args),
        _ => return Ok(()),
    };
    fold(name);
    if !takes_names(name) || !arguments.iter().any(is_named) {
        return Ok(());
    }
    let mut fields = Vec::new();
    let mut packed = Vec::new();
    for argument in arguments.drain(..) {
        match named(argument) {
            Ok(field) => fields.push(field),
            Err(argument) if fields.is_empty() => packed.push(argument),
            Err(argument) => {
                let message = format!("{name} has {argument} behind arguments with names");
                let hint = Some("put arguments without a name first".to_string());
                return Err(EngineError::Sql { message, position: None, hint });
            }
        }
    }
    packed.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Dictionary(fields))));
    *arguments = packed;
    Ok(())
}

fn fold(function: &mut ObjectName) {
    for part in &mut function.0 {
        if let ObjectNamePart::Identifier(name) = part
            && name.quote_style.is_none()
        {
            name.value.make_ascii_lowercase();
        }
    }
}

fn takes_names(function: &ObjectName) -> bool {
    let [part] = function.0.as_slice() else { return false };
    let mut names = FILE_READERS.into_iter().map(|(name, _)| name).chain([KMEANS]);
    part.as_ident().is_some_and(|name| names.any(|other| name.value.eq_ignore_ascii_case(other)))
}

/// `x = 1` names an argument, too: a table function sees no column `x`.
fn is_named(argument: &FunctionArg) -> bool {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Eq, .. })) => {
            matches!(left.as_ref(), Expr::Identifier(_))
        }
        FunctionArg::Unnamed(_) => false,
        _ => true,
    }
}

/// The name and value, or the unchanged argument.
fn named(argument: FunctionArg) -> Result<DictionaryField, FunctionArg> {
    let field = |name: Ident, value: Expr| DictionaryField { key: Ident::new(name.value.to_lowercase()), value: Box::new(value) };
    match argument {
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => Ok(field(name, value)),
        FunctionArg::ExprNamed { name: Expr::Identifier(name), arg: FunctionArgExpr::Expr(value), .. } => Ok(field(name, value)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Eq, right })) => match *left {
            Expr::Identifier(name) => Ok(field(name, *right)),
            left => {
                let comparison = Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Eq, right };
                Err(FunctionArg::Unnamed(FunctionArgExpr::Expr(comparison)))
            }
        },
        other => Err(other),
    }
}

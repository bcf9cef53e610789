//! Calls become expressions.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, SelectItem, VisitorMut,
};

use super::definition::{DEFINED, Definition, Parameter, is_defined};
use crate::merged_names::normalized;
use crate::walk::WalkMut;
use common::error::EngineError;

/// Changes the expression in place if it is such a call.
pub fn expand(expr: &mut Expr) -> Result<(), EngineError> {
    let Expr::Function(call) = expr else { return Ok(()) };
    let [part] = call.name.0.as_slice() else { return Ok(()) };
    let Some((name, definitions)) = part.as_ident().map(normalized).and_then(|name| DEFINED.get_key_value(name.as_str())) else {
        return Ok(());
    };
    let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
    let Some(arguments) = list.args.iter().map(plain).collect::<Option<Vec<&Expr>>>() else { return Err(refused(name, definitions)) };
    let fits = |definition: &&Definition| {
        let parameters = &definition.parameters;
        parameters.len() == arguments.len() && parameters.iter().zip(&arguments).all(|(parameter, argument)| parameter.fits(argument))
    };
    let Some(definition) = definitions.iter().find(fits) else { return Err(refused(name, definitions)) };
    let mut arguments: HashMap<&str, Expr> = HashMap::new();
    for (parameter, argument) in definition.parameters.iter().zip(std::mem::take(&mut list.args)) {
        if let (Parameter::Name(name), FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = (parameter, argument) {
            arguments.insert(name, argument);
        }
    }
    let mut body = definition.body.clone();
    let _: ControlFlow<()> = body.walk_mut(&mut Arguments(&arguments));
    move_clauses(name, call, &mut body)?;
    *expr = if matches!(body, Expr::Function(_)) { body } else { Expr::Nested(Box::new(body)) };
    Ok(())
}

/// An item of a SELECT list that is such a call keeps its text as its name.
pub fn name_defined_item(item: &mut SelectItem) {
    if let SelectItem::UnnamedExpr(expr) = item
        && let Expr::Function(call) = &*expr
        && let [part] = call.name.0.as_slice()
        && part.as_ident().map(normalized).is_some_and(|name| is_defined(&name))
    {
        let alias = Ident::with_quote('"', expr.to_string());
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

fn plain(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

fn refused(name: &str, definitions: &[Definition]) -> EngineError {
    let forms: Vec<String> = definitions.iter().map(|definition| format!("{name}({})", definition.signature)).collect();
    let hint = Some(format!("write {}", forms.join(" or ")));
    EngineError::Sql { message: format!("{name} does not take such arguments"), position: None, hint }
}

/// Puts the arguments in the place of the parameters.
struct Arguments<'a>(&'a HashMap<&'a str, Expr>);

impl VisitorMut for Arguments<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(Ident { value, quote_style: None, .. }) = expr
            && let Some(argument) = self.0.get(value.as_str())
        {
            *expr = match argument {
                Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Function(_) => argument.clone(),
                argument => Expr::Nested(Box::new(argument.clone())),
            };
        }
        ControlFlow::Continue(())
    }
}

/// OVER, FILTER and the others of the call become those of the function in the body.
fn move_clauses(name: &str, call: &mut Function, body: &mut Expr) -> Result<(), EngineError> {
    let FunctionArguments::List(given) = &mut call.args else { return Ok(()) };
    let has_clauses = !given.clauses.is_empty() || given.duplicate_treatment.is_some();
    if !has_clauses && call.filter.is_none() && call.over.is_none() && call.null_treatment.is_none() && call.within_group.is_empty() {
        return Ok(());
    }
    let refused = |what: &str| Err(EngineError::unsupported(format!("{what} of {name}"), Some("write it without that")));
    let Expr::Function(Function { args: FunctionArguments::List(list), filter, over, null_treatment, within_group, .. }) = body else {
        return refused("FILTER, OVER, DISTINCT or ORDER BY");
    };
    if has_clauses {
        let FunctionArgumentList { clauses, duplicate_treatment, .. } = list;
        if !clauses.is_empty() {
            return refused("DISTINCT or ORDER BY");
        }
        *clauses = std::mem::take(&mut given.clauses);
        *duplicate_treatment = given.duplicate_treatment.take();
    }
    if !call.within_group.is_empty() {
        if !within_group.is_empty() {
            return refused("WITHIN GROUP");
        }
        *within_group = std::mem::take(&mut call.within_group);
    }
    *over = call.over.take();
    *null_treatment = call.null_treatment.take();
    *filter = match (filter.take(), call.filter.take()) {
        (Some(own), Some(given)) => Some(Box::new(Expr::BinaryOp {
            left: Box::new(Expr::Nested(own)),
            op: BinaryOperator::And,
            right: Box::new(Expr::Nested(given)),
        })),
        (own, given) => own.or(given),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defined_functions::{defined_functions, defined_names};
    use crate::fragments::expr_of;
    use common::error::foreign_names::instead_of_function;

    fn expanded(text: &str) -> String {
        let mut expr = expr_of(text).unwrap();
        match expand(&mut expr) {
            Ok(()) => expr.to_string(),
            Err(error) => format!("{error}"),
        }
    }

    #[test]
    fn every_definition_is_an_expression() {
        for function in defined_functions() {
            expr_of(function.body).unwrap();
        }
        assert!(defined_names().all(|name| instead_of_function(name).is_none()), "a hint says what to write instead");
    }

    #[test]
    fn a_call_becomes_its_definition() {
        assert_eq!(expanded("year(d)"), "date_part('year', d)");
        assert_eq!(expanded("MOD(a + 1, b)"), "((a + 1) % b)");
        assert_eq!(expanded("date_diff('DAY', x, y)"), "(CAST(y AS DATE) - CAST(x AS DATE))");
        assert_eq!(expanded("s.year(d)"), "s.year(d)");
        assert_eq!(expanded("upper(x)"), "upper(x)");
    }

    #[test]
    fn an_argument_may_have_the_name_of_a_parameter() {
        assert_eq!(expanded("mod(b, a)"), "(b % a)");
    }

    #[test]
    fn clauses_of_the_call_are_those_of_the_function() {
        assert_eq!(expanded("list(DISTINCT a ORDER BY a)"), "array_agg(DISTINCT a ORDER BY a)");
        assert_eq!(
            expanded("count_if(a > 1) FILTER (WHERE b) OVER (PARTITION BY c)"),
            "count(*) FILTER (WHERE ((a > 1)) AND (b)) OVER (PARTITION BY c)"
        );
        assert!(expanded("mod(a, b) OVER ()").contains("OVER"));
        assert!(expanded("arg_max(a, b ORDER BY c)").contains("ORDER BY of arg_max is not supported"));
    }

    #[test]
    fn other_arguments_are_refused_with_those_that_there_are() {
        assert_eq!(expanded("year(a, b)"), "year does not take such arguments");
        assert!(expanded("date_diff('eon', a, b)").contains("does not take"));
    }
}

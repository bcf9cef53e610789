//! Rewrites `[a, $1, (SELECT …)]` to `make_array(a, $1, (SELECT …))`. DataFusion plans the elements in brackets without their context: no
//! WITH, no outer row, no type of a parameter, no parameter of a lambda.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, Query, Value, VisitMut,
    VisitorMut,
};

const FUNCTION: &str = "make_array";

/// Changes the statement in place, after all steps that derive names from its text. Lists of constants stay, because they can be long.
pub fn rewrite_arrays(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => {
            let _ = statement.visit(&mut ArrayRewriter::default());
        }
        Statement::Explain(explain) => rewrite_arrays(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => {}
    }
}

#[derive(Default)]
struct ArrayRewriter {
    /// Names, parameters and subqueries that were visited.
    references: usize,
    /// The value of `references` before each enclosing list.
    before: Vec<usize>,
}

impl VisitorMut for ArrayRewriter {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.references += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Array(_) => self.before.push(self.references),
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => self.references += 1,
            Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => self.references += 1,
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Array(list) = expr
            && self.before.pop().is_some_and(|before| before < self.references)
        {
            *expr = call(std::mem::take(&mut list.elem));
        }
        ControlFlow::Continue(())
    }
}

fn call(elements: Vec<Expr>) -> Expr {
    let args = elements.into_iter().map(|element| FunctionArg::Unnamed(FunctionArgExpr::Expr(element))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(FUNCTION)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

//! Rewrites `[a, $1, (SELECT …)]` to `make_array(a, $1, (SELECT …))`. DataFusion plans the elements in brackets without their context: no
//! WITH, no outer row, no type of a parameter, no parameter of a lambda. It also wants both bounds of a slice: `l[2:]` becomes `l[2:-1]`.

use std::ops::ControlFlow;

use crate::walk::walk_statement_mut;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, Query, Subscript,
    UnaryOperator, Value, VisitorMut,
};

const FUNCTION: &str = "make_array";

/// Changes the statement in place, after all steps that derive names from its text. Lists of constants stay, because they can be long.
pub fn rewrite_arrays(statement: &mut Statement) {
    let _ = walk_statement_mut(statement, &mut ArrayRewriter::default());
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
        match expr {
            Expr::CompoundFieldAccess { access_chain, .. } => access_chain.iter_mut().for_each(fill_bounds),
            Expr::Array(list) if self.before.pop().is_some_and(|before| before < self.references) => {
                *expr = call(std::mem::take(&mut list.elem));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// With a stride, which may be negative, the bounds are to be written.
fn fill_bounds(access: &mut AccessExpr) {
    let AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None }) = access else { return };
    let one = || Expr::value(Value::Number("1".into(), false));
    lower_bound.get_or_insert_with(one);
    upper_bound.get_or_insert_with(|| Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(one()) });
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

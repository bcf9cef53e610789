//! Checks function calls and windows.

use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList, FunctionArguments,
    WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::query::check_key;
use super::{Refusal, YES, no, unless};

pub fn check(function: &Function) -> Refusal {
    // `function_clauses` checks which of these clauses a function supports, because it knows the functions.
    let Function { name, uses_odbc_syntax: _, parameters, args, filter: _, null_treatment: _, over, within_group } = function;
    unless(*parameters == FunctionArguments::None, "a function with two lists of arguments", "write all arguments into one list")?;
    let count = match args {
        FunctionArguments::None => 0,
        FunctionArguments::Subquery(_) => {
            return no(&format!("a query as the argument of {name}"), "put the query into parentheses of its own, as in f((SELECT …))");
        }
        FunctionArguments::List(list) => {
            check_arguments(list)?;
            list.args.len()
        }
    };
    if name.to_string().eq_ignore_ascii_case("count") {
        unless(
            count <= 1,
            "count of several values",
            "use count(*) FILTER (WHERE a IS NOT NULL AND b IS NOT NULL), or count(DISTINCT struct(a, b))",
        )?;
        unless(!counts_distinct_rows(args), "count(DISTINCT *)", "count the rows of SELECT DISTINCT *")?;
    }
    within_group.iter().try_for_each(check_key)?;
    match over {
        Some(WindowType::WindowSpec(window)) => check_window(window),
        Some(WindowType::NamedWindow(_)) | None => YES,
    }
}

fn check_arguments(list: &FunctionArgumentList) -> Refusal {
    let FunctionArgumentList { duplicate_treatment, args, clauses } = list;
    match duplicate_treatment {
        Some(DuplicateTreatment::Distinct | DuplicateTreatment::All) | None => {}
    }
    for arg in args {
        let arg = match arg {
            FunctionArg::Named { name: _, arg, operator: _ }
            | FunctionArg::ExprNamed { name: _, arg, operator: _ }
            | FunctionArg::Unnamed(arg) => arg,
        };
        match arg {
            FunctionArgExpr::Expr(_) | FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::Wildcard => {}
            FunctionArgExpr::WildcardWithOptions(_) => return no("* with EXCLUDE or REPLACE as an argument", "name the columns"),
        }
    }
    clauses.iter().try_for_each(|clause| match clause {
        FunctionArgumentClause::IgnoreOrRespectNulls(_) => YES,
        FunctionArgumentClause::OrderBy(keys) => keys.iter().try_for_each(check_key),
        FunctionArgumentClause::Limit(_) => no("LIMIT in the arguments of a function", "use a subquery with LIMIT"),
        FunctionArgumentClause::OnOverflow(_) => no("ON OVERFLOW", "leave it out: texts have no greatest length"),
        FunctionArgumentClause::Having(_) => no("HAVING in the arguments of a function", "use FILTER (WHERE …)"),
        FunctionArgumentClause::Separator(_) => no("SEPARATOR", "write it as the second argument of string_agg()"),
        FunctionArgumentClause::JsonNullClause(_) | FunctionArgumentClause::JsonReturningClause(_) => {
            no("NULL ON NULL, ABSENT ON NULL and RETURNING in the arguments of a function", "leave them out")
        }
    })
}

fn counts_distinct_rows(args: &FunctionArguments) -> bool {
    let FunctionArguments::List(list) = args else { return false };
    let is_all = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Wildcard | FunctionArgExpr::QualifiedWildcard(_)));
    list.duplicate_treatment == Some(DuplicateTreatment::Distinct) && list.args.iter().any(is_all)
}

pub fn check_window(window: &WindowSpec) -> Refusal {
    // The name is supported, see `named_windows`.
    let WindowSpec { window_name: _, partition_by: _, order_by, window_frame } = window;
    order_by.iter().try_for_each(check_key)?;
    let Some(WindowFrame { units, start_bound, end_bound }) = window_frame else { return YES };
    match units {
        WindowFrameUnits::Rows | WindowFrameUnits::Range | WindowFrameUnits::Groups => {}
    }
    for bound in std::iter::once(start_bound).chain(end_bound) {
        match bound {
            WindowFrameBound::CurrentRow | WindowFrameBound::Preceding(_) | WindowFrameBound::Following(_) => {}
        }
    }
    YES
}

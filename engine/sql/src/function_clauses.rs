//! Checks clauses that a function does not support: DataFusion ignores FILTER, OVER, DISTINCT and ORDER BY of a scalar function, and
//! DISTINCT and FILTER of a window function. ORDER BY is harmless for an aggregate that does not depend on it.

use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList, FunctionArguments,
    Ident, NullTreatment, ObjectName, OrderByExpr, UnaryOperator, Value, Visitor, VisitorMut,
};

use super::fragments::expr_of;
use super::merged_names::normalized;
use crate::walk::{into_flow, into_result, walk_statement, walk_statement_mut};
use common::error::EngineError;

/// Aggregates whose result is exactly the same in any order.
const IN_ANY_ORDER: [&str; 10] = ["min", "max", "count", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor", "approx_distinct"];

/// Aggregates that compute a number from numbers.
const OF_NUMBERS: [&str; 13] = [
    "sum",
    "avg",
    "mean",
    "median",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "var",
    "var_samp",
    "var_sample",
    "var_pop",
    "variance",
    "var_population",
];

const OF_BITS: [&str; 3] = ["bit_and", "bit_or", "bit_xor"];

/// Refuses such clauses or drops them. `any_value(a ORDER BY b)` becomes the first of the values.
pub fn check_clauses(state: &SessionState, statement: &mut Statement) -> Result<(), EngineError> {
    into_result(walk_statement_mut(statement, &mut Calls { state }))
}

/// Refuses such clauses of the functions of users that are computed of each row.
pub fn refuse_clauses(statement: &Statement, is_scalar: &dyn Fn(&ObjectName) -> bool) -> Result<(), EngineError> {
    struct ScalarCalls<'a>(&'a dyn Fn(&ObjectName) -> bool);
    impl Visitor for ScalarCalls<'_> {
        type Break = EngineError;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<EngineError> {
            let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
            let clauses = CallClauses::of(function);
            match clauses.is_more() && (self.0)(&function.name) {
                true => ControlFlow::Break(refused(clauses.first(), &function.name.to_string(), "it is computed of each row by itself")),
                false => ControlFlow::Continue(()),
            }
        }
    }
    into_result(walk_statement(statement, &mut ScalarCalls(is_scalar)))
}

struct Calls<'a> {
    state: &'a SessionState,
}

impl VisitorMut for Calls<'_> {
    type Break = EngineError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<EngineError> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        into_flow(self.check(function))
    }
}

impl Calls<'_> {
    fn check(&self, function: &mut Function) -> Result<(), EngineError> {
        type_null(function)?;
        let said = CallClauses::of(function);
        if !said.is_more() {
            return Ok(());
        }
        let [part] = function.name.0.as_slice() else { return Ok(()) };
        let Some(name) = part.as_ident().map(normalized) else { return Ok(()) };
        let is_scalar = self.state.scalar_functions().contains_key(&name) || self.state.higher_order_functions().contains_key(&name);
        if is_scalar {
            return Err(refused(said.first(), &name, "it is computed of each row by itself"));
        }
        if name == "grouping" {
            return Err(refused(said.first(), &name, "it says which keys each group has"));
        }
        let aggregate = self.state.aggregate_functions().get(&name);
        // With OVER these are window functions.
        let is_both = matches!(name.as_str(), "first_value" | "last_value" | "nth_value");
        let is_window = said.over && (aggregate.is_none() || is_both);
        if is_window && (said.distinct || said.filter) {
            return Err(refused(
                if said.distinct { "DISTINCT" } else { "FILTER" },
                &name,
                "filter or make the rows distinct in a subquery",
            ));
        }
        if said.over && said.order_by {
            return in_window(function, aggregate.map_or(name.as_str(), |aggregate| aggregate.name()));
        }
        let Some(aggregate) = aggregate.filter(|_| said.order_by) else { return Ok(()) };
        if aggregate.supports_within_group_clause() {
            return check_order_of_values(function);
        }
        if aggregate.name() == "any_value" {
            function.name = ObjectName::from(vec![Ident::new("first_value")]);
            function.null_treatment.get_or_insert(NullTreatment::IgnoreNulls);
        }
        drop_constant_keys(function);
        Ok(())
    }
}

/// DataFusion does not support ORDER BY here. It is dropped if it does not change the result.
fn in_window(function: &mut Function, name: &str) -> Result<(), EngineError> {
    if !IN_ANY_ORDER.contains(&name) && !OF_NUMBERS.contains(&name) {
        let feature = format!("ORDER BY in the arguments of {name}() OVER a window");
        return Err(EngineError::unsupported(feature, Some("order the rows of the window: OVER (ORDER BY …)")));
    }
    if let FunctionArguments::List(list) = &mut function.args {
        list.clauses.retain(|clause| !matches!(clause, FunctionArgumentClause::OrderBy(_)));
    }
    Ok(())
}

/// `quantile_cont(x, 0.9 ORDER BY x)` means `quantile_cont(0.9) WITHIN GROUP (ORDER BY x)`. DataFusion uses the expression after ORDER BY
/// as the values, whatever the first argument is.
fn check_order_of_values(function: &Function) -> Result<(), EngineError> {
    let FunctionArguments::List(list) = &function.args else { return Ok(()) };
    let FunctionArgumentList { args, clauses, .. } = list;
    let is_value =
        |key: &OrderByExpr| matches!(args.first(), Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(value))) if *value == key.expr);
    let is_of_values = |clause: &FunctionArgumentClause| match clause {
        FunctionArgumentClause::OrderBy(keys) => matches!(keys.as_slice(), [key] if is_value(key)),
        _ => true,
    };
    match args.len() < 2 || clauses.iter().all(is_of_values) {
        true => Ok(()),
        false => {
            let feature = format!("ORDER BY in the arguments of {}() by something else than its first argument", function.name);
            Err(EngineError::unsupported(feature, Some("the values are in their own order: leave ORDER BY out")))
        }
    }
}

/// A constant does not order anything. DataFusion treats a number as the position of a column, as in ORDER BY of a query.
fn drop_constant_keys(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    for clause in &mut list.clauses {
        if let FunctionArgumentClause::OrderBy(keys) = clause {
            keys.retain(|key| !matches!(key.expr, Expr::Value(_)));
        }
    }
    list.clauses.retain(|clause| !matches!(clause, FunctionArgumentClause::OrderBy(keys) if keys.is_empty()));
}

/// `sum(NULL)` is NULL: numeric aggregates treat it as a number. DataFusion has no sum of an untyped NULL.
fn type_null(function: &mut Function) -> Result<(), EngineError> {
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_mut_slice() else { return Ok(()) };
    if !is_null(argument) {
        return Ok(());
    }
    let name = function.name.to_string();
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(&name));
    let null = if is_one_of(&OF_NUMBERS) {
        "CAST(NULL AS DOUBLE)"
    } else if is_one_of(&OF_BITS) {
        "CAST(NULL AS BIGINT)"
    } else {
        return Ok(());
    };
    *argument = expr_of(null).map_err(|error| EngineError::internal(error.to_string()))?;
    Ok(())
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => value.value == Value::Null,
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => is_null(inner),
        _ => false,
    }
}

fn refused(clause: &str, function: &str, hint: &str) -> EngineError {
    EngineError::unsupported(format!("{clause} of {function}()"), Some(hint))
}

/// The clauses of a call.
struct CallClauses {
    distinct: bool,
    order_by: bool,
    filter: bool,
    nulls: bool,
    within_group: bool,
    over: bool,
}

impl CallClauses {
    fn of(function: &Function) -> CallClauses {
        let list = match &function.args {
            FunctionArguments::List(list) => Some(list),
            FunctionArguments::None | FunctionArguments::Subquery(_) => None,
        };
        let has = |is_one: fn(&FunctionArgumentClause) -> bool| list.is_some_and(|list| list.clauses.iter().any(is_one));
        CallClauses {
            distinct: list.is_some_and(|list| list.duplicate_treatment == Some(DuplicateTreatment::Distinct)),
            order_by: has(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_))),
            filter: function.filter.is_some(),
            nulls: function.null_treatment.is_some() || has(|clause| matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_))),
            within_group: !function.within_group.is_empty(),
            over: function.over.is_some(),
        }
    }

    fn is_more(&self) -> bool {
        self.distinct || self.order_by || self.filter || self.nulls || self.within_group || self.over
    }

    fn first(&self) -> &'static str {
        match self {
            CallClauses { distinct: true, .. } => "DISTINCT",
            CallClauses { order_by: true, .. } => "ORDER BY",
            CallClauses { filter: true, .. } => "FILTER",
            CallClauses { nulls: true, .. } => "IGNORE NULLS and RESPECT NULLS",
            CallClauses { within_group: true, .. } => "WITHIN GROUP",
            CallClauses { .. } => "OVER",
        }
    }
}

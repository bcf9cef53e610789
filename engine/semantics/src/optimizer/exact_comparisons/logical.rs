//! Comparisons in logical expressions.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::disjunction;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Operator, TryCast, binary_expr, lit, when};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use super::condition::{Condition, LossyCast, Valid, compares};
use super::kept::kept;
use common::cancellable_rules::check_cancelled;

/// Simplifying can enable more rewrites; after so many rounds the rest is left to DataFusion.
const ROUNDS_MAX: usize = 5;

/// The expression without comparisons whose meaning DataFusion would change. It is also simplified, because some constants and casts show
/// only then; an expression without such a cast stays as it is.
pub fn with_exact_comparisons(expr: Expr, context: &SimplifyContext) -> Result<Transformed<Expr>> {
    let exact = Exact { context, simplifier: ExprSimplifier::new(context.clone()).with_canonicalize(false).with_max_cycles(1) };
    if !exact.may_lose(&expr)? {
        return Ok(Transformed::no(expr));
    }
    let mut expr = Transformed::no(expr);
    for _ in 0..ROUNDS_MAX {
        let round = expr.data.transform_up(|part| exact.compared(part))?.transform_data(|expr| exact.one_round(expr))?;
        let is_done = !round.transformed;
        expr = Transformed::new_transformed(round.data, expr.transformed || round.transformed);
        if is_done {
            break;
        }
    }
    Ok(expr)
}

/// Whether there may be something to do, as far as that shows without types.
pub fn may_have_casts(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(match part {
            Expr::ScalarFunction(call) => becomes_cast(call.name()),
            part => inner(part).is_some(),
        })
    })
}

struct Exact<'a> {
    context: &'a SimplifyContext,
    /// Simplifies one round only: its result must be checked before the next round removes casts.
    simplifier: ExprSimplifier,
}

impl Exact<'_> {
    fn may_lose(&self, expr: &Expr) -> Result<bool> {
        expr.exists(|part| {
            Ok(match part {
                Expr::ScalarFunction(call) => becomes_cast(call.name()),
                Expr::BinaryExpr(BinaryExpr { left, op, right }) => is_distinctness(*op) && has_cast(left, right),
                part => self.lossy(part).is_some(),
            })
        })
    }

    fn lossy(&self, expr: &Expr) -> Option<LossyCast> {
        let (inner, field, is_try) = match expr {
            Expr::Cast(Cast { expr, field }) => (expr, field, false),
            Expr::TryCast(TryCast { expr, field }) => (expr, field, true),
            _ => return None,
        };
        let to = field.data_type();
        if !(to.is_integer() || to.is_decimal() || to.is_temporal()) {
            return None;
        }
        LossyCast::of(&self.context.get_data_type(inner).ok()?, to, is_try)
    }

    fn one_round(&self, expr: Expr) -> Result<Transformed<Expr>> {
        let lists = list_count(&expr)?;
        let (mut round, _) = self.simplifier.simplify_with_cycle_count_transformed(expr)?;
        // It does not report that a short IN became comparisons (expr_simplifier.rs of datafusion-optimizer, `ShortenInListSimplifier`).
        round.transformed |= list_count(&round.data)? != lists;
        Ok(round)
    }

    /// The operand in the form in which DataFusion will compare it.
    fn operand(&self, expr: Expr) -> Result<Transformed<Expr>> {
        let mut expr = Transformed::no(expr);
        for _ in 0..ROUNDS_MAX {
            if matches!(expr.data, Expr::Literal(..) | Expr::Column(_)) {
                break;
            }
            let round = self.one_round(expr.data)?;
            let is_done = !round.transformed;
            expr = Transformed::new_transformed(round.data, expr.transformed || round.transformed);
            if is_done {
                break;
            }
        }
        Ok(expr)
    }

    /// The value below the cast may be a cast itself, which is now compared.
    fn compared_within(&self, exact: Expr) -> Result<Transformed<Expr>> {
        Ok(Transformed::yes(exact.transform_up(|part| self.compared(part))?.data))
    }

    fn compared(&self, expr: Expr) -> Result<Transformed<Expr>> {
        check_cancelled(self.context.config_options())?;
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if compares(op) && (self.may_lose(&left)? || self.may_lose(&right)? || is_distinctness(op) && has_cast(&left, &right)) =>
            {
                let (left, right) = (self.operand(*left)?, self.operand(*right)?);
                let changed = left.transformed || right.transformed;
                let exact = match (self.lossy(&left.data), self.lossy(&right.data), op.swap()) {
                    // Without the cast, a text that is no number would be distinct from NULL.
                    _ if is_distinctness(op) && is_null(&right.data) => Some(null_test(op, &left.data)),
                    _ if is_distinctness(op) && is_null(&left.data) => Some(null_test(op, &right.data)),
                    (Some(cast), ..) => made(&cast, &left.data, op, &right.data)?,
                    (_, Some(cast), Some(op)) => made(&cast, &right.data, op, &left.data)?,
                    _ => None,
                };
                match exact {
                    Some(exact) => self.compared_within(exact),
                    None => Ok(Transformed::new_transformed(binary_expr(left.data, op, right.data), changed)),
                }
            }
            Expr::InList(InList { expr, list, negated }) if self.may_lose(&expr)? => {
                let expr = self.operand(*expr)?;
                let mut changed = expr.transformed;
                let list = list.into_iter().map(|item| {
                    let item = self.operand(item)?;
                    changed |= item.transformed;
                    Ok(item.data)
                });
                let list = list.collect::<Result<Vec<Expr>>>()?;
                let exact = match self.lossy(&expr.data) {
                    Some(cast) => made_in(&cast, &expr.data, &list, negated)?,
                    None => None,
                };
                match exact {
                    Some(exact) => self.compared_within(exact),
                    None => Ok(Transformed::new_transformed(expr.data.in_list(list, negated), changed)),
                }
            }
            expr => Ok(Transformed::no(expr)),
        }
    }
}

fn is_distinctness(op: Operator) -> bool {
    matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
}

fn has_cast(left: &Expr, right: &Expr) -> bool {
    inner(left).is_some() || inner(right).is_some()
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

/// `value IS [NOT] DISTINCT FROM NULL`.
fn null_test(op: Operator, value: &Expr) -> Expr {
    if op == Operator::IsDistinctFrom { value.clone().is_not_null() } else { value.clone().is_null() }
}

fn list_count(expr: &Expr) -> Result<usize> {
    let mut count = 0;
    expr.apply(|part| {
        count += usize::from(matches!(part, Expr::InList(_)));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(count)
}

/// Whether simplifying turns the function into a cast.
fn becomes_cast(function: &str) -> bool {
    matches!(function, "arrow_cast" | "arrow_try_cast" | "cast_to_type" | "try_cast_to_type")
}

/// The operand of a cast.
fn inner(cast: &Expr) -> Option<&Expr> {
    match cast {
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => Some(expr),
        _ => None,
    }
}

/// `None` if the other side is not constant.
fn made(cast: &LossyCast, cast_expr: &Expr, op: Operator, constant: &Expr) -> Result<Option<Expr>> {
    let (Some(value), Expr::Literal(constant, _)) = (inner(cast_expr), constant) else { return Ok(None) };
    // The condition may use the value twice, and a volatile expression would yield two different values.
    if value.is_volatile() {
        return Ok(Some(binary_expr(kept(cast_expr.clone()), op, lit(constant.clone()))));
    }
    let plain = match op {
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => Operator::Eq,
        op => op,
    };
    let Some(condition) = cast.condition(plain, constant) else { return Ok(None) };
    let exact = where_valid(cast, cast_expr, value, on(value, condition))?;
    Ok(Some(match op {
        Operator::IsDistinctFrom => exact.is_not_true(),
        Operator::IsNotDistinctFrom => exact.is_true(),
        _ => exact,
    }))
}

/// `None` if the list has an element that is not constant.
fn made_in(cast: &LossyCast, cast_expr: &Expr, list: &[Expr], negated: bool) -> Result<Option<Expr>> {
    let Some(value) = inner(cast_expr) else { return Ok(None) };
    if value.is_volatile() {
        return Ok(Some(kept(cast_expr.clone()).in_list(list.to_vec(), negated)));
    }
    let (mut values, mut others) = (Vec::new(), Vec::new());
    for item in list {
        let Expr::Literal(constant, _) = item else { return Ok(None) };
        match cast.condition(Operator::Eq, constant) {
            Some(Condition::Is(_, constant)) => values.push(lit(constant)),
            Some(Condition::Always(_)) => {}
            Some(condition) => others.push(on(value, condition)),
            None if constant.is_null() => values.push(lit(ScalarValue::try_new_null(cast.from())?)),
            None => return Ok(None),
        }
    }
    if !values.is_empty() {
        others.push(value.clone().in_list(values, false));
    }
    let found = disjunction(others).unwrap_or_else(|| on(value, Condition::Always(false)));
    let found = where_valid(cast, cast_expr, value, found)?;
    Ok(Some(if negated { !found } else { found }))
}

fn on(value: &Expr, condition: Condition) -> Expr {
    let between = |least, greatest, negated| {
        Expr::Between(Between::new(Box::new(value.clone()), negated, Box::new(lit(least)), Box::new(lit(greatest))))
    };
    let null = || lit(ScalarValue::Boolean(None));
    match condition {
        Condition::Is(op, constant) => binary_expr(value.clone(), op, lit(constant)),
        Condition::Within(least, greatest) => between(least, greatest, false),
        Condition::Without(least, greatest) => between(least, greatest, true),
        Condition::Always(false) => value.clone().is_null().and(null()),
        Condition::Always(true) => value.clone().is_not_null().or(null()),
    }
}

/// NULL if TRY_CAST is NULL.
fn where_valid(cast: &LossyCast, cast_expr: &Expr, value: &Expr, exact: Expr) -> Result<Expr> {
    match cast.valid() {
        Valid::All => Ok(exact),
        Valid::Where(valid) => when(on(value, valid), exact).end(),
        Valid::WhereCast => when(cast_expr.clone().is_not_null(), exact).end(),
    }
}

//! A volatile expression (of random()) that occurs once in a statement is evaluated once.
//!
//! DataFusion rewrites some expressions to others that use a part twice: `x BETWEEN a AND b` to two comparisons, `floor(x) = 5` to a range
//! of `x`, `coalesce(x, y)` to a CASE that tests `x` before it returns `x`. If such a part is volatile, functions that evaluate it once
//! replace them. Only plans have these functions; no statement can name them.

use std::sync::{Arc, LazyLock};

use arrow::compute::kernels::zip::zip;
use arrow::compute::{and_kleene, is_not_null};
use arrow::datatypes::DataType;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::expr::{Between, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply_cmp;

use super::exact_comparisons::kept;
use crate::functions::float::is_one_nan;
use crate::functions::map_under_names;

static BETWEEN: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(OnceRewriter::Between.into()));
static COALESCE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(OnceRewriter::Coalesce.into()));

/// Runs once the types are known.
#[derive(Debug)]
pub struct VolatileValues;

impl AnalyzerRule for VolatileValues {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            map_under_names(plan, |expr| match expr.is_volatile() {
                true => expr.transform_up(|part| Ok(made_once(part))),
                false => Ok(Transformed::no(expr)),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "volatile_values"
    }
}

fn made_once(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::Between(Between { expr, negated, low, high }) if expr.is_volatile() => {
            let between = BETWEEN.call(vec![*expr, *low, *high]);
            Transformed::yes(if negated { !between } else { between })
        }
        Expr::ScalarFunction(ScalarFunction { func, mut args })
            if matches!(func.name(), "coalesce" | "nvl")
                && args.split_last().is_some_and(|(_, others)| others.iter().any(Expr::is_volatile)) =>
        {
            // The function evaluates all its arguments, and one after a value that is never NULL may fail.
            if let Some(last) = args.iter().position(is_never_null) {
                args.truncate(last + 1);
            }
            Transformed::yes(COALESCE.call(args))
        }
        // These functions implement `preimage`, which yields the range of their argument.
        Expr::ScalarFunction(call) if matches!(call.name(), "floor" | "date_part") && call.args.iter().any(Expr::is_volatile) => {
            Transformed::yes(kept(Expr::ScalarFunction(call)))
        }
        expr => Transformed::no(expr),
    }
}

/// DataFusion treats `random()` as nullable.
fn is_never_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => !value.is_null(),
        Expr::Cast(cast) => is_never_null(&cast.expr),
        Expr::BinaryExpr(binary) => binary.op.is_numerical_operators() && is_never_null(&binary.left) && is_never_null(&binary.right),
        Expr::ScalarFunction(call) if is_one_nan(&call.func) => call.args.iter().all(is_never_null),
        Expr::ScalarFunction(call) => matches!(call.func.name(), "random" | "uuid"),
        _ => false,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum OnceRewriter {
    Between,
    Coalesce,
}

static ANY: LazyLock<Signature> = LazyLock::new(|| Signature::variadic_any(Volatility::Immutable));

impl ScalarUDFImpl for OnceRewriter {
    fn name(&self) -> &str {
        match self {
            OnceRewriter::Between => "between_once",
            OnceRewriter::Coalesce => "coalesce_once",
        }
    }

    fn signature(&self) -> &Signature {
        &ANY
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self, types) {
            (OnceRewriter::Between, _) => Ok(DataType::Boolean),
            (OnceRewriter::Coalesce, [first, ..]) => Ok(first.clone()),
            (OnceRewriter::Coalesce, []) => exec_err!("coalesce() takes at least one argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match self {
            OnceRewriter::Between => {
                let rows = args.number_rows;
                let [value, low, high] = take_function_args(self.name(), args.args)?;
                let from = apply_cmp(Operator::GtEq, &value, &low)?.into_array(rows)?;
                let to = apply_cmp(Operator::LtEq, &value, &high)?.into_array(rows)?;
                Ok(ColumnarValue::Array(Arc::new(and_kleene(as_boolean_array(&from)?, as_boolean_array(&to)?)?)))
            }
            OnceRewriter::Coalesce => {
                let mut arrays = ColumnarValue::values_to_arrays(&args.args)?.into_iter();
                let Some(mut found) = arrays.next() else { return exec_err!("coalesce() takes at least one argument") };
                for next in arrays {
                    found = zip(&is_not_null(&found)?, &found, &next)?;
                }
                Ok(ColumnarValue::Array(found))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::functions::core::coalesce;
    use datafusion::functions::math::random;
    use datafusion::logical_expr::lit;

    use super::*;

    #[test]
    fn what_is_behind_a_random_number_is_not_made() {
        let number = random().call(Vec::new());
        let made = made_once(coalesce().call(vec![number.clone(), lit(1.0)]));
        assert_eq!(made.data, COALESCE.call(vec![number]));
    }
}

//! Replaces long chains of operators by calls of one function before any other rule sees them.

use std::sync::{Arc, OnceLock};

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::{AnalyzerRules, Steps, map_under_names, operator_chain};

/// Shorter chains stay as they are: other rules understand them. `a + 1 > 5` can skip segments, a sum of so many columns cannot.
const OPERATORS_MIN: usize = 32;

pub struct LongChains {
    /// The rules after this one.
    rules: AnalyzerRules,
}

impl LongChains {
    pub fn before(rules: AnalyzerRules) -> LongChains {
        LongChains { rules }
    }
}

impl std::fmt::Debug for LongChains {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LongChains")
    }
}

impl AnalyzerRule for LongChains {
    fn name(&self) -> &str {
        "long_chains"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let steps = OnceLock::new();
        let steps = || Arc::clone(steps.get_or_init(|| Arc::new(Steps::new(self.rules.clone(), config.clone()))));
        plan.transform_down_with_subqueries(|plan| map_under_names(plan, |expr| chained(expr, &steps))).data()
    }
}

/// The expression with calls instead of its long chains.
fn chained(expr: Expr, steps: &impl Fn() -> Arc<Steps>) -> Result<Transformed<Expr>> {
    expr.transform_down(|expr| {
        if !is_long(&expr) {
            return Ok(Transformed::no(expr));
        }
        let (mut expr, mut operators, mut operands) = (expr, Vec::new(), Vec::new());
        while let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr {
            operators.push(op);
            operands.push(*right);
            expr = *left;
            if !is_operator(&expr) {
                break;
            }
        }
        operands.push(expr);
        operators.reverse();
        operands.reverse();
        Ok(Transformed::yes(operator_chain(operators, steps()).call(operands)))
    })
}

fn is_long(expr: &Expr) -> bool {
    let (mut expr, mut length) = (expr, 0);
    while let Expr::BinaryExpr(BinaryExpr { left, right, .. }) = expr
        && is_operator(expr)
    {
        // An untyped parameter gets the type of the operand next to it.
        if [left, right].iter().any(|operand| matches!(operand.as_ref(), Expr::Placeholder(parameter) if parameter.field.is_none())) {
            return false;
        }
        length += 1;
        expr = left;
    }
    length >= OPERATORS_MIN
}

fn is_operator(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(BinaryExpr { op, .. }) if op.is_numerical_operators() || *op == Operator::StringConcat)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::datatypes::DataType;
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::{
        ColumnarValue, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    };

    use super::*;
    use crate::optimizer::analyzer_rules;
    use common::stack::with_large_stack;

    static TYPE_CALLS: AtomicUsize = AtomicUsize::new(0);

    /// Counts how often its type is computed.
    #[derive(Debug, PartialEq, Eq, Hash)]
    struct Operand(Signature);

    impl ScalarUDFImpl for Operand {
        fn name(&self) -> &str {
            "operand"
        }

        fn signature(&self) -> &Signature {
            &self.0
        }

        fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
            TYPE_CALLS.fetch_add(1, Ordering::Relaxed);
            Ok(DataType::Int64)
        }

        fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
            Ok(ColumnarValue::Scalar(ScalarValue::Int64(Some(1))))
        }
    }

    fn type_calls_of(terms: usize) -> usize {
        let operand = ScalarUDF::from(Operand(Signature::nullary(Volatility::Stable)));
        let sum = (1..terms).fold(operand.call(Vec::new()), |sum, _| sum + operand.call(Vec::new()));
        let plan = LogicalPlanBuilder::empty(true).project(vec![sum]).unwrap().build().unwrap();
        TYPE_CALLS.store(0, Ordering::Relaxed);
        let mut rules = analyzer_rules();
        rules.insert(0, Arc::new(LongChains::before(rules.clone())));
        rules.iter().try_fold(plan, |plan, rule| rule.analyze(plan, &ConfigOptions::default())).unwrap();
        TYPE_CALLS.load(Ordering::Relaxed)
    }

    #[test]
    fn the_types_of_a_chain_of_twice_the_length_are_found_twice_as_often() {
        let (short, long) = with_large_stack(|| (type_calls_of(200), type_calls_of(400)));
        assert!(long < 5 * short / 2, "{short} times for 200 terms, {long} for 400");
    }
}

//! `<`, `<=`, `>`, `>=` and BETWEEN of nested values.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::and_kleene;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::utils::take_function_args;
use datafusion::logical_expr::{ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::comparator;

static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 5]> = LazyLock::new(|| {
    let all = [
        NestedComparison::Less,
        NestedComparison::LessOrEqual,
        NestedComparison::Greater,
        NestedComparison::GreaterOrEqual,
        NestedComparison::Between,
    ];
    all.map(|compared| Arc::new(compared.into()))
});
static ANY: LazyLock<Signature> = LazyLock::new(|| Signature::variadic_any(Volatility::Immutable));

/// The replacement for an ordering operator; `None` for others.
pub fn function(operator: Operator) -> Option<&'static Arc<ScalarUDF>> {
    let [less, less_or_equal, greater, greater_or_equal, _] = &*FUNCTIONS;
    match operator {
        Operator::Lt => Some(less),
        Operator::LtEq => Some(less_or_equal),
        Operator::Gt => Some(greater),
        Operator::GtEq => Some(greater_or_equal),
        _ => None,
    }
}

pub fn between(value: Expr, low: Expr, high: Expr) -> Expr {
    let [.., between] = &*FUNCTIONS;
    between.call(vec![value, low, high])
}

/// Only plans have these functions; no statement can name them.
#[derive(Debug, PartialEq, Eq, Hash)]
enum NestedComparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Between,
}

impl ScalarUDFImpl for NestedComparison {
    fn name(&self) -> &str {
        match self {
            NestedComparison::Less => "nested_less",
            NestedComparison::LessOrEqual => "nested_less_or_equal",
            NestedComparison::Greater => "nested_greater",
            NestedComparison::GreaterOrEqual => "nested_greater_or_equal",
            NestedComparison::Between => "nested_between",
        }
    }

    fn signature(&self) -> &Signature {
        &ANY
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut arrays = args.args.into_iter().map(|arg| arg.into_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        let high = if *self == NestedComparison::Between { arrays.pop() } else { None };
        let [value, other] = take_function_args(self.name(), arrays)?;
        let found = match (self, high) {
            (_, Some(high)) => {
                let from = of_rows(&value, &other, |order| order.is_ge())?;
                and_kleene(&from, &of_rows(&value, &high, |order| order.is_le())?)?
            }
            (NestedComparison::Less, _) => of_rows(&value, &other, |order| order.is_lt())?,
            (NestedComparison::LessOrEqual, _) => of_rows(&value, &other, |order| order.is_le())?,
            (NestedComparison::Greater, _) => of_rows(&value, &other, |order| order.is_gt())?,
            (NestedComparison::GreaterOrEqual | NestedComparison::Between, None) => of_rows(&value, &other, |order| order.is_ge())?,
        };
        Ok(ColumnarValue::Array(Arc::new(found)))
    }
}

fn of_rows(left: &ArrayRef, right: &ArrayRef, holds: fn(std::cmp::Ordering) -> bool) -> Result<BooleanArray> {
    let order = comparator(left, right)?;
    let values = BooleanBuffer::collect_bool(left.len(), |row| holds(order(row, row)));
    let nulls = NullBuffer::union(left.logical_nulls().as_ref(), right.logical_nulls().as_ref());
    Ok(BooleanArray::new(values, nulls))
}

//! Which expressions may be expensive for a single row.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr, LikeExpr, Literal};
use datafusion::physical_expr::{HigherOrderFunctionExpr, PhysicalExpr, ScalarFunctionExpr};

use crate::functions::nested_order::constant;

/// Whether it contains patterns or functions of values of unbounded length. All other expressions take well below a microsecond a row,
/// which is milliseconds a batch.
pub fn may_be_expensive(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    // The walk itself cannot fail.
    expr.exists(|node| Ok(is_expensive(node, schema))).unwrap_or(true)
}

fn is_expensive(node: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    if let Some(binary) = node.downcast_ref::<BinaryExpr>() {
        return is_pattern_match(*binary.op());
    }
    if let Some(call) = node.downcast_ref::<ScalarFunctionExpr>() {
        let arguments = node.children().into_iter().filter(|argument| !argument.is::<Literal>());
        let mut parts = arguments.chain([node]);
        let has_any_length = |part: &Arc<dyn PhysicalExpr>| part.data_type(schema).map_or(true, |data_type| is_of_any_length(&data_type));
        return constant::value(call.fun()).is_none() && parts.any(has_any_length);
    }
    node.is::<LikeExpr>() || node.is::<HigherOrderFunctionExpr>()
}

/// The same for a logical expression.
pub fn may_be_expensive_in_plan(expr: &Expr, schema: &DFSchema) -> bool {
    expr.exists(|node| Ok(is_expensive_in_plan(node, schema))).unwrap_or(true)
}

fn is_expensive_in_plan(node: &Expr, schema: &DFSchema) -> bool {
    match node {
        Expr::BinaryExpr(binary) => is_pattern_match(binary.op),
        Expr::ScalarFunction(function) => {
            let arguments = function.args.iter().filter(|argument| !matches!(argument, Expr::Literal(..)));
            arguments.chain([node]).any(|part| part.get_type(schema).map_or(true, |data_type| is_of_any_length(&data_type)))
        }
        Expr::Like(_) | Expr::SimilarTo(_) | Expr::HigherOrderFunction(_) => true,
        _ => false,
    }
}

fn is_pattern_match(operator: Operator) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(operator, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
}

fn is_of_any_length(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_of_any_length(values),
        DataType::FixedSizeBinary(_) => true,
        data_type => data_type.primitive_width().is_none() && !matches!(data_type, DataType::Boolean | DataType::Null),
    }
}

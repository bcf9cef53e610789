//! Which expressions may take long for a row.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, LikeExpr, Literal};
use datafusion::physical_expr::{HigherOrderFunctionExpr, PhysicalExpr, ScalarFunctionExpr};

/// Whether somewhere in it are patterns or functions of values of any length. All others take well
/// below a microsecond a row, so milliseconds a batch.
pub fn may_be_dear(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    // The walk itself cannot fail.
    expr.exists(|node| Ok(is_dear(node, schema))).unwrap_or(true)
}

fn is_dear(node: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    if let Some(binary) = node.downcast_ref::<BinaryExpr>() {
        use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
        return matches!(binary.op(), RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch);
    }
    if node.is::<ScalarFunctionExpr>() {
        let arguments = node.children().into_iter().filter(|argument| !argument.is::<Literal>());
        return arguments.chain([node]).any(|part| part.data_type(schema).map_or(true, |data_type| is_of_any_length(&data_type)));
    }
    node.is::<LikeExpr>() || node.is::<HigherOrderFunctionExpr>()
}

fn is_of_any_length(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_of_any_length(values),
        DataType::FixedSizeBinary(_) => true,
        data_type => data_type.primitive_width().is_none() && !matches!(data_type, DataType::Boolean | DataType::Null),
    }
}

//! `count(*) OVER (ORDER BY a RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING)`, if `a` minus the offset may be `a` itself: NULL, NaN, infinity,
//! 1e17, and a date minus an hour.
//!
//! The frame of such a row contains all its peers. DataFusion's bounded window assumes that a frame that ends before its row is complete
//! when it reaches the row, but some peers are still to come (`WindowExpr::uses_bounded_memory`, datafusion-physical-expr, src/window). So
//! the window that holds the whole partition replaces it.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::{WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

/// Runs after the rules that choose windows.
#[derive(Debug)]
pub struct RangeFrames;

impl PhysicalOptimizerRule for RangeFrames {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() else { return Ok(Transformed::no(node)) };
            let is_sorted = window.input_order_mode == InputOrderMode::Sorted;
            if !is_sorted || !window.window_expr().iter().any(|expr| may_end_at_equals(expr, window.input())) {
                return Ok(Transformed::no(node));
            }
            let can_repartition = !window.partition_keys().is_empty();
            Ok(Transformed::yes(Arc::new(WindowAggExec::try_new(
                window.window_expr().to_vec(),
                Arc::clone(window.input()),
                can_repartition,
            )?)))
        })
        .data()
    }

    fn name(&self) -> &str {
        "range_frames"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn may_end_at_equals(expr: &Arc<dyn WindowExpr>, input: &Arc<dyn ExecutionPlan>) -> bool {
    let frame = expr.get_window_frame();
    frame.units == WindowFrameUnits::Range
        && matches!(&frame.end_bound, WindowFrameBound::Preceding(value) if !value.is_null())
        && expr.order_by().iter().any(|key| may_be_itself_before(&key.expr, &input.schema()).unwrap_or(true))
}

fn may_be_itself_before(key: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<bool> {
    let data_type = key.data_type(schema)?;
    let has_steps = data_type.is_integer() || data_type.is_decimal() || matches!(data_type, DataType::Timestamp(..));
    Ok(!has_steps || key.nullable(schema)?)
}

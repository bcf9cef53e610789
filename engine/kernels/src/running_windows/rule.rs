//! Finds windows of which all functions are computed in one pass.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use super::exec::{RunningWindow, RunningWindowExec};
use super::function::{FrameEnd, RunningFunction};
use common::engine_settings::switches;

/// Computes windows in one pass over sorted rows. It comes after the rules that look for windows.
#[derive(Debug, Default)]
pub struct RunningWindows;

impl PhysicalOptimizerRule for RunningWindows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).running_windows {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            Ok(match running_window(&node)? {
                Some(running) => {
                    Transformed::yes(Arc::new(RunningWindowExec::in_place_of(node, Arc::new(running))) as Arc<dyn ExecutionPlan>)
                }
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "running_windows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the rule replaces a window, so that its functions are never called.
pub fn is_replaced(node: &Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<bool> {
    Ok(switches(options).running_windows && running_window(node)?.is_some())
}

fn running_window(node: &Arc<dyn ExecutionPlan>) -> Result<Option<RunningWindow>> {
    match (node.downcast_ref::<BoundedWindowAggExec>(), node.downcast_ref::<WindowAggExec>()) {
        (Some(window), _) if window.input_order_mode == InputOrderMode::Sorted => running(window.window_expr(), window.input()),
        (_, Some(window)) => running(window.window_expr(), window.input()),
        _ => Ok(None),
    }
}

/// `None` if the window has other functions, or several orders, or if rows would wait for ends of two kinds.
fn running(exprs: &[Arc<dyn WindowExpr>], input: &Arc<dyn ExecutionPlan>) -> Result<Option<RunningWindow>> {
    let Some(first) = exprs.first() else { return Ok(None) };
    let is_same = |expr: &Arc<dyn WindowExpr>| expr.partition_by() == first.partition_by() && expr.order_by() == first.order_by();
    if !exprs.iter().all(is_same) {
        return Ok(None);
    }
    let schema = input.schema();
    let functions = exprs.iter().map(|expr| RunningFunction::of(expr, &schema)).collect::<Result<Option<Vec<_>>>>()?;
    let Some(functions) = functions else { return Ok(None) };
    let mut ends = functions.iter().map(RunningFunction::end).filter(|end| *end != FrameEnd::Row);
    let end = ends.next().unwrap_or(FrameEnd::Row);
    if ends.any(|other| other != end) {
        return Ok(None);
    }
    let order: Vec<Arc<dyn PhysicalExpr>> = first.order_by().iter().map(|key| Arc::clone(&key.expr)).collect();
    Ok(Some(RunningWindow { functions, end, groups: first.partition_by().to_vec(), order }))
}

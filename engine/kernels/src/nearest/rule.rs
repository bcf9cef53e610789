//! Finds sorts by `l2_distance(column, constant)` with a limit.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::update_expr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::exec::NearestExec;
use common::engine_settings::switches;
use common::tensors::Vectors;

const DISTANCE: &str = "l2_distance";
/// A wrapper around functions whose results may be NaN: `semantics/src/functions/float.rs`.
const ONE_NAN: &str = "one_nan";
/// With a larger limit, most rows are kept anyway.
const ROWS_MAX: usize = 100_000;

/// Adds below a sort with limit `k` an operator that leaves out rows which cannot be among the first. The sort stays, so
/// that results are the same.
#[derive(Debug, Default)]
pub struct NearestRows;

impl PhysicalOptimizerRule for NearestRows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).nearest_rows {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            Ok(match with_nearest(&node)? {
                Some(new) => Transformed::yes(new),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "nearest_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The distance by which rows are ordered, as an expression over the columns of a plan.
#[derive(Debug, Clone)]
pub struct Distance {
    pub expr: Arc<dyn PhysicalExpr>,
    pub column: Column,
    pub constant: Arc<dyn PhysicalExpr>,
}

impl Distance {
    /// `None` for other kinds of expressions.
    fn of(expr: &Arc<dyn PhysicalExpr>, plan: &Arc<dyn ExecutionPlan>) -> Option<Distance> {
        let call = |expr: &Arc<dyn PhysicalExpr>, name: &str| {
            let call = expr.downcast_ref::<ScalarFunctionExpr>().filter(|call| call.fun().name() == name)?;
            Some(call.args().to_vec())
        };
        let inner = call(expr, ONE_NAN).and_then(|args| args.first().cloned());
        let args = call(inner.as_ref().unwrap_or(expr), DISTANCE)?;
        let [left, right] = args.as_slice() else { return None };
        let is_constant = |expr: &Arc<dyn PhysicalExpr>| collect_columns(expr).is_empty() && !is_volatile(expr);
        let (column, constant) = match (left.downcast_ref::<Column>(), right.downcast_ref::<Column>()) {
            (Some(column), None) if is_constant(right) => (column, right),
            (None, Some(column)) if is_constant(left) => (column, left),
            _ => return None,
        };
        let schema = plan.schema();
        let element = Vectors::element(schema.fields().get(column.index())?.data_type());
        let of_vectors = matches!(element, Some(DataType::Float64 | DataType::Float32));
        of_vectors.then(|| Distance { expr: Arc::clone(expr), column: column.clone(), constant: Arc::clone(constant) })
    }
}

/// Which rows to keep of those with the same distance as the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// Any of them.
    First,
    /// All of them, because further sort keys choose.
    All,
}

fn with_nearest(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(k) = sort.fetch().filter(|k| (1..=ROWS_MAX).contains(k)) else { return Ok(None) };
    let first = sort.expr().first();
    if first.options.descending || first.options.nulls_first {
        return Ok(None);
    }
    let ties = if sort.expr().len() > 1 { Ties::All } else { Ties::First };
    let Some(input) = nearest_of(sort.input(), &first.expr, k, ties)? else { return Ok(None) };
    // It is a new sort: the old one pushes its dynamic filter into the scan, so the scan would compute all distances too.
    let new = SortExec::new(sort.expr().clone(), input).with_preserve_partitioning(sort.preserve_partitioning());
    Ok(Some(Arc::new(new.with_fetch(Some(k)))))
}

/// The plan with the operator in it, as low as `expr` is defined: the operators above it have less to do then.
fn nearest_of(plan: &Arc<dyn ExecutionPlan>, expr: &Arc<dyn PhysicalExpr>, k: usize, ties: Ties) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if plan.is::<NearestExec>() {
        return Ok(None);
    }
    let below = match (plan.downcast_ref::<ProjectionExec>(), plan.downcast_ref::<CoalescePartitionsExec>()) {
        (Some(projection), _) => match update_expr(expr, projection.expr(), true)? {
            Some(expr) => nearest_of(projection.input(), &expr, k, ties)?,
            None => None,
        },
        (_, Some(all)) if all.fetch().is_none() => nearest_of(all.input(), expr, k, ties)?,
        _ => None,
    };
    if let Some(below) = below {
        return replace_children_if_necessary(Arc::clone(plan), vec![below]).map(Some);
    }
    let distance = Distance::of(expr, plan);
    Ok(distance.map(|distance| Arc::new(NearestExec::new(Arc::clone(plan), distance, k, ties)) as Arc<dyn ExecutionPlan>))
}

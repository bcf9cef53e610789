//! Aggregate arguments that are the same for all rows: the edges of a histogram, the fraction of a quantile.
//!
//! DataFusion passes arguments of an aggregate as columns. A list of 141 edges would be repeated for each of 8,192 rows, which is 9 MB
//! next to 64 KB of values. So the accumulators read such an argument from the expression, and [`ConstantArguments`] replaces it by a
//! column without data.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, NullArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;

/// The aggregates whose accumulators read all arguments after the first with [`Argument`].
const TAKE_CONSTANTS: [&str; 4] = ["histogram", "quantile_cont", "quantile_disc", "kmeans_step"];

/// An argument of an aggregate as its accumulator reads it.
#[derive(Debug, Clone)]
pub enum Argument {
    /// Evaluated when the first rows arrive: a subquery has run by then.
    Constant(Arc<dyn PhysicalExpr>),
    /// A value for each row.
    Column,
}

impl Argument {
    pub fn of(expression: &Arc<dyn PhysicalExpr>) -> Argument {
        if let Some(constant) = expression.downcast_ref::<Constant>() {
            return Argument::Constant(Arc::clone(&constant.0));
        }
        match is_constant(expression) {
            true => Argument::Constant(Arc::clone(expression)),
            false => Argument::Column,
        }
    }

    /// The value as an array of one row; `None` for a column.
    pub fn value(&self) -> Result<Option<ArrayRef>> {
        match self {
            Argument::Constant(expression) => {
                let options = RecordBatchOptions::new().with_row_count(Some(1));
                let nothing = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
                expression.evaluate(&nothing)?.into_array(1).map(Some)
            }
            Argument::Column => Ok(None),
        }
    }
}

fn is_constant(expression: &Arc<dyn PhysicalExpr>) -> bool {
    collect_columns(expression).is_empty() && !is_volatile(expression)
}

/// Replaces a constant argument. Its column has no values; the accumulator reads the expression.
#[derive(Debug, Eq)]
struct Constant(Arc<dyn PhysicalExpr>);

impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq(&other.0)
    }
}

impl Hash for Constant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PhysicalExpr for Constant {
    fn return_field(&self, _schema: &Schema) -> Result<FieldRef> {
        Ok(Arc::new(Field::new("constant", DataType::Null, true)))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Array(Arc::new(NullArray::new(batch.num_rows()))))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![]
    }

    fn with_new_children(self: Arc<Self>, _children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}

/// Replaces constant arguments by [`Constant`]. It is the last rule for aggregates, so only plans that are about to run contain it.
#[derive(Debug, Default)]
pub struct ConstantArguments;

impl PhysicalOptimizerRule for ConstantArguments {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(aggregate) = node.downcast_ref::<AggregateExec>() else { return Ok(Transformed::no(node)) };
            let rewrites: Vec<_> = aggregate.aggr_expr().iter().map(with_constants).collect();
            if rewrites.iter().all(Option::is_none) {
                return Ok(Transformed::no(node));
            }
            let new = rewrites.into_iter().zip(aggregate.aggr_expr()).map(|(new, old)| new.unwrap_or_else(|| Arc::clone(old)));
            Ok(Transformed::yes(Arc::new(aggregate.with_new_aggr_exprs(new.collect::<Vec<_>>())) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &str {
        "constant_arguments"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `None` if there is nothing to change.
fn with_constants(aggregate: &Arc<AggregateFunctionExpr>) -> Option<Arc<AggregateFunctionExpr>> {
    let args = aggregate.expressions();
    if !TAKE_CONSTANTS.contains(&aggregate.fun().name()) || !args.iter().skip(1).any(replaced) {
        return None;
    }
    let constant = |arg: &Arc<dyn PhysicalExpr>| Arc::new(Constant(Arc::clone(arg))) as Arc<dyn PhysicalExpr>;
    let new = |(at, arg)| if at > 0 && replaced(arg) { constant(arg) } else { Arc::clone(arg) };
    let args = args.iter().enumerate().map(new);
    let order_by = aggregate.order_bys().iter().map(|order| Arc::clone(&order.expr)).collect();
    aggregate.with_new_expressions(args.collect(), order_by).map(Arc::new)
}

fn replaced(argument: &Arc<dyn PhysicalExpr>) -> bool {
    !argument.is::<Constant>() && is_constant(argument)
}

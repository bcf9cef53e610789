//! The product of block matrices as a query:
//!
//! ```sql
//! SELECT a.i, b.j, sum_product(a.block, b.block) FROM a JOIN b ON a.j = b.i GROUP BY a.i, b.j
//! ```
//!
//! Such a plan copies each block for every block that it matches, 8,192 pairs a batch. Here it becomes the operator of
//! `matrix_multiply`, which multiplies them in place. The result is the same: a row for each i and j that matched at least once, NULL
//! for both if a query has NULL, and rows that share a position are added.
//!
//! This happens last, when a logical plan becomes operators, so that plans for other nodes and
//! programs keep the form of SQL.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::DataType;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, DFSchemaRef, JoinType, NullEquality, Result, plan_err};
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Aggregate, Expr, Extension, Join, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::blocks::ColumnIndices;
use super::exec::{Kernel, MatrixExec};
use super::layout::Layout;
use super::operation::Operation;
use super::run::Column as ResultColumn;
use super::sum_product::SumProduct;
use common::engine_settings::switches;
use common::tensor_shape::shape_of;

/// The plan with products of tables in place of their joins. `None`: the plan does not change.
pub fn with_products(plan: &LogicalPlan, options: &ConfigOptions) -> Result<Option<LogicalPlan>> {
    if !switches(options).product_of_tables {
        return Ok(None);
    }
    let mut has_product = false;
    plan.apply_with_subqueries(|part| {
        has_product |= matches!(part, LogicalPlan::Aggregate(aggregate) if has_sum_product(aggregate));
        Ok(if has_product { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !has_product {
        return Ok(None);
    }
    let changed = plan.clone().transform_up_with_subqueries(|part| {
        let product = if let LogicalPlan::Aggregate(aggregate) = &part { ProductOfTables::of(aggregate) } else { None };
        Ok(match product {
            Some(product) => Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(product) })),
            None => Transformed::no(part),
        })
    })?;
    Ok(changed.transformed.then_some(changed.data))
}

fn has_sum_product(aggregate: &Aggregate) -> bool {
    aggregate.aggr_expr.iter().any(|expr| arguments(expr).is_some())
}

/// The arguments of a `sum_product` without further clauses.
fn arguments(expr: &Expr) -> Option<[&Column; 2]> {
    let Expr::AggregateFunction(call) = unaliased(expr) else { return None };
    let AggregateFunctionParams { args, distinct: false, filter: None, order_by, null_treatment: None } = &call.params else { return None };
    match args.as_slice() {
        [Expr::Column(a), Expr::Column(b)] if call.func.inner().is::<SumProduct>() && order_by.is_empty() => Some([a, b]),
        _ => None,
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    if let Expr::Alias(alias) = expr { unaliased(&alias.expr) } else { expr }
}

/// The columns of one side of the join, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Side {
    group: usize,
    key: usize,
    block: usize,
}

/// The node that replaces the aggregate, with its schema.
#[derive(Debug, Clone)]
struct ProductOfTables {
    /// The side of the first argument, and that of the second one.
    inputs: [LogicalPlan; 2],
    sides: [Side; 2],
    /// GROUP BY names the group of the second side first.
    is_swapped: bool,
    schema: DFSchemaRef,
}

impl ProductOfTables {
    fn of(aggregate: &Aggregate) -> Option<ProductOfTables> {
        let ([first, second], [product]) = (aggregate.group_expr.as_slice(), aggregate.aggr_expr.as_slice()) else { return None };
        let (Expr::Column(first), Expr::Column(second)) = (unaliased(first), unaliased(second)) else { return None };
        let [a, b] = arguments(product)?;
        let (join, place) = joined(&aggregate.input)?;
        let [(left_key, right_key)] = join.on.as_slice() else { return None };
        let is_plain = join.join_type == JoinType::Inner && join.filter.is_none();
        if !is_plain || join.null_equality != NullEquality::NullEqualsNothing {
            return None;
        }
        let (Expr::Column(left_key), Expr::Column(right_key)) = (left_key, right_key) else { return None };
        let keys = [join.left.schema().maybe_index_of_column(left_key)?, join.right.schema().maybe_index_of_column(right_key)?];
        let (first, second) = (place(first)?, place(second)?);
        let (a, b) = (place(a)?, place(b)?);
        // Each side has a group and a block; the product decides which side comes first.
        if a.0 == b.0 || first.0 == second.0 {
            return None;
        }
        let is_swapped = first.0 != a.0;
        let (of_a, of_b) = if is_swapped { (second, first) } else { (first, second) };
        let plans = [&join.left, &join.right];
        let sides = [Side { group: of_a.1, key: keys[a.0], block: a.1 }, Side { group: of_b.1, key: keys[b.0], block: b.1 }];
        let inputs = [plans[a.0].as_ref().clone(), plans[b.0].as_ref().clone()];
        let product = ProductOfTables { inputs, sides, is_swapped, schema: Arc::clone(&aggregate.schema) };
        product.layouts().is_some().then_some(product)
    }

    /// The layouts of both sides, if their columns are those of matrices whose blocks can be multiplied.
    fn layouts(&self) -> Option<[Layout; 2]> {
        let layout = |number: usize| {
            let (schema, side) = (self.inputs[number].schema(), self.sides[number]);
            let has_keys = [side.group, side.key].iter().all(|key| *schema.field(*key).data_type() == DataType::Int64);
            let field = schema.field(side.block);
            let block = <[usize; 2]>::try_from(shape_of(field)?).ok()?;
            let DataType::FixedSizeList(item, 1..) = field.data_type() else { return None };
            let is_real = matches!(item.data_type(), DataType::Float64 | DataType::Float32);
            let name = ["the left side", "the right side"][number].to_string();
            let layout = Layout { name, element: item.data_type().clone(), block, shape: None, is_vector: false };
            (has_keys && is_real).then_some(layout)
        };
        let [a, b] = [layout(0)?, layout(1)?];
        (a.block[1] == b.block[0] && a.element == b.element).then_some([a, b])
    }

    fn key(&self) -> (&[LogicalPlan; 2], [Side; 2], bool) {
        (&self.inputs, self.sides, self.is_swapped)
    }
}

/// The join below projections that select columns, and for a column above them its side and its index there.
fn joined(plan: &LogicalPlan) -> Option<(&Join, impl Fn(&Column) -> Option<(usize, usize)>)> {
    let mut below = plan;
    while !matches!(below, LogicalPlan::Join(_)) {
        below = match below {
            LogicalPlan::Projection(projection) => &projection.input,
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            _ => return None,
        };
    }
    let LogicalPlan::Join(join) = below else { return None };
    let place = move |column: &Column| {
        let at = place_in_join(plan, plan.schema().maybe_index_of_column(column)?)?;
        let left_width = join.left.schema().fields().len();
        Some(if at < left_width { (0, at) } else { (1, at - left_width) })
    };
    Some((join, place))
}

/// The index of column `at` of `plan` in the join below it. `None` if it is computed.
fn place_in_join(plan: &LogicalPlan, at: usize) -> Option<usize> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let Expr::Column(column) = unaliased(&projection.expr[at]) else { return None };
            place_in_join(&projection.input, projection.input.schema().maybe_index_of_column(column)?)
        }
        LogicalPlan::SubqueryAlias(alias) => place_in_join(&alias.input, at),
        _ => Some(at),
    }
}

impl PartialEq for ProductOfTables {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ProductOfTables {}

impl PartialOrd for ProductOfTables {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.key().partial_cmp(&other.key())
    }
}

impl std::hash::Hash for ProductOfTables {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl UserDefinedLogicalNodeCore for ProductOfTables {
    fn name(&self) -> &str {
        "ProductOfTables"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.inputs.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProductOfTables")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match <[LogicalPlan; 2]>::try_from(inputs) {
            Ok(inputs) => Ok(ProductOfTables { inputs, ..self.clone() }),
            Err(_) => plan_err!("a product of tables has two inputs"),
        }
    }
}

/// Makes the operator of such a node.
#[derive(Debug)]
pub struct ProductPlanner;

#[async_trait]
impl ExtensionPlanner for ProductPlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(product) = node.as_any().downcast_ref::<ProductOfTables>() else { return Ok(None) };
        let Some(layouts) = product.layouts() else { return plan_err!("a product of tables has other columns than it had") };
        let [a, b] = product.sides;
        let places = vec![
            ColumnIndices { i: a.group, j: Some(a.key), block: a.block },
            ColumnIndices { i: b.key, j: Some(b.group), block: b.block },
        ];
        let block = [layouts[0].block[0], layouts[1].block[1]];
        let kernel = Kernel { operation: Operation::Product, inputs: layouts.to_vec(), places, block };
        let columns = match product.is_swapped {
            false => vec![ResultColumn::I, ResultColumn::J, ResultColumn::Block],
            true => vec![ResultColumn::J, ResultColumn::I, ResultColumn::Block],
        };
        let schema = Arc::clone(product.schema.inner());
        Ok(Some(Arc::new(MatrixExec::new(Arc::new(kernel), inputs.to_vec(), schema, columns))))
    }
}

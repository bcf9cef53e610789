//! Aggregates below a join: rows of the probe side with equal keys become one row of states before they are joined.
//!
//! `SELECT brand, sum(quantity) FROM sales JOIN item USING (item) GROUP BY brand` joins each sale with its item, and looks up the group of each
//! by a text. With the sales of an item summed up first there are as many rows to join and to group as items:
//!
//! ```text
//! AggregateExec: mode=PartialReduce, gby=[brand]                      was mode=Partial; merges states of equal groups
//!   HashJoinExec: on=[(item, item)]
//!     item
//!     AggregateExec: mode=Partial, gby=[item]                         the only one that reads rows
//!       sales
//! ```
//!
//! This is eager aggregation (Yan and Larson, "Eager Aggregation and Lazy Aggregation", 1995), with the states of DataFusion's aggregates in the
//! place of its sums of sums: they may be merged once more, whatever the function is. A row of states that is joined with several rows counts
//! for each of them, as its rows did.
//!
//! Left as they are: arguments of the build side, or that may fail for a row which the join drops; outer joins, conditions beside the keys, and
//! joins that end after some rows; keys that are expressions; functions whose states are large (`grouping_sets`); groups that are, by the
//! statistics, not much fewer than the rows; and groups that would not be found sooner below the join, since the keys above it are numbers, or
//! those below it are not. (Where they were tried, Q36 of TPC-DS took 1.15 times as long.)

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use common::engine_settings::switches;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion::physical_expr::projection::{ProjectionExpr, update_expr};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use semantics::optimizer::Barrier;

use crate::grouping_sets::is_merged;

/// Rows for each group, as estimated. With fewer, rows are looked up twice for little.
const ROWS_PER_GROUP_MIN: usize = 4;
/// With fewer rows, as estimated, there is nothing to gain.
const ROWS_MIN: usize = 50_000;

/// Runs before joins hand filters to the scans below: a join that is made anew would have others than these.
#[derive(Debug, Default)]
pub struct EagerAggregates;

impl PhysicalOptimizerRule for EagerAggregates {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).eager_aggregates {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            let new = match node.downcast_ref::<AggregateExec>() {
                Some(aggregate) => below_join(aggregate)?,
                None => None,
            };
            Ok(new.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        "eager_aggregates"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn below_join(aggregate: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mode = match aggregate.mode() {
        AggregateMode::Partial => AggregateMode::PartialReduce,
        AggregateMode::Single => AggregateMode::Final,
        _ => return Ok(None),
    };
    let keys = aggregate.group_expr();
    let has_functions = !aggregate.aggr_expr().is_empty() && aggregate.aggr_expr().iter().all(is_merged);
    if keys.is_empty() || !keys.is_single() || aggregate.limit_options().is_some() || !has_functions {
        return Ok(None);
    }
    let Some((join, columns)) = JoinColumns::below(aggregate.input()) else { return Ok(None) };
    let Some(split) = split(aggregate, join, &columns)? else { return Ok(None) };
    if !has_few_groups(join.right(), &split.keys)? {
        return Ok(None);
    }
    let names = split.keys.iter().zip(0..).map(|(column, key)| format!("join_key_{key}_{}", column.name()));
    let of_states = split.keys.iter().zip(names).map(|(column, name)| (Arc::new(column.clone()) as Arc<dyn PhysicalExpr>, name));
    let states = AggregateExec::try_new(
        AggregateMode::Partial,
        PhysicalGroupBy::new_single(of_states.collect()),
        split.functions,
        split.filters,
        Arc::clone(join.right()),
        join.right().schema(),
    )?;
    let left_width = join.left().schema().fields().len();
    let state_columns = left_width + split.keys.len()..left_width + states.schema().fields().len();
    let on = join.on().iter().zip(0..).map(|((of_build, _), key)| {
        let of_probe = Column::new(states.schema().field(key).name(), key);
        (Arc::clone(of_build), Arc::new(of_probe) as Arc<dyn PhysicalExpr>)
    });
    let joined = HashJoinExec::try_new(
        Arc::clone(join.left()),
        Arc::new(states.clone()),
        on.collect(),
        None,
        &JoinType::Inner,
        Some(split.groups.into_iter().chain(state_columns).collect()),
        *join.partition_mode(),
        join.null_equality(),
        false,
    )?;
    let mut input = with_names(joined, keys)?;
    if columns.has_barrier {
        // Sets of groups are above it, which must not hear what holds for the rows.
        input = Arc::new(Barrier::new(input));
    }
    let (functions, no_filters) = (aggregate.aggr_expr().to_vec(), vec![None; aggregate.aggr_expr().len()]);
    let merged = AggregateExec::try_new(mode, keys.as_final(), functions, no_filters, input, aggregate.input_schema())?;
    Ok((merged.schema() == aggregate.schema()).then(|| Arc::new(merged) as Arc<dyn ExecutionPlan>))
}

/// The first columns get the names of the keys, by which an aggregate that merges states looks for them.
fn with_names(joined: HashJoinExec, keys: &PhysicalGroupBy) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = joined.schema();
    let of_keys = keys.expr().iter().map(|(_, name)| name);
    let others = schema.fields()[keys.expr().len()..].iter().map(|field| field.name());
    let names: Vec<&String> = of_keys.chain(others).collect();
    if schema.fields().iter().zip(&names).all(|(field, name)| field.name() == *name) {
        return Ok(Arc::new(joined));
    }
    let column = |index: usize| Arc::new(Column::new(schema.field(index).name(), index)) as Arc<dyn PhysicalExpr>;
    let columns: Vec<_> = names.into_iter().enumerate().map(|(index, name)| (column(index), name.clone())).collect();
    Ok(Arc::new(ProjectionExec::try_new(columns, Arc::new(joined))?))
}

/// What expressions above a join are over its columns: those of the build side, then those of the probe side.
struct JoinColumns {
    projections: Vec<Vec<ProjectionExpr>>,
    has_barrier: bool,
}

impl JoinColumns {
    /// The inner join directly below, or below projections.
    fn below(input: &Arc<dyn ExecutionPlan>) -> Option<(&HashJoinExec, JoinColumns)> {
        let (mut projections, mut has_barrier) = (Vec::new(), false);
        let mut node = input;
        loop {
            if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
                projections.push(projection.expr().to_vec());
                node = projection.input();
            } else if let Some(barrier) = node.downcast_ref::<Barrier>() {
                has_barrier = true;
                node = barrier.input();
            } else {
                break;
            }
        }
        let join = node.downcast_ref::<HashJoinExec>()?;
        let is_plain = *join.join_type() == JoinType::Inner && join.filter().is_none() && join.fetch().is_none() && !join.null_aware;
        if !is_plain || *join.partition_mode() != PartitionMode::CollectLeft {
            return None;
        }
        if let Some(projection) = &join.projection {
            let sides = [join.left().schema(), join.right().schema()];
            let fields: Vec<&str> = sides.iter().flat_map(|side| side.fields()).map(|field| field.name().as_str()).collect();
            let column = |column: &usize| {
                let name = fields[*column];
                ProjectionExpr { expr: Arc::new(Column::new(name, *column)), alias: name.to_owned() }
            };
            projections.push(projection.iter().map(column).collect());
        }
        Some((join, JoinColumns { projections, has_barrier }))
    }

    fn resolve(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let mut expr = Arc::clone(expr);
        for projection in &self.projections {
            match update_expr(&expr, projection, true)? {
                Some(below) => expr = below,
                None => return Ok(None),
            }
        }
        Ok(Some(expr))
    }
}

struct Split {
    /// Columns of the probe side: the keys of the join, then those of the groups.
    keys: Vec<Column>,
    functions: Vec<Arc<AggregateFunctionExpr>>,
    filters: Vec<Option<Arc<dyn PhysicalExpr>>>,
    /// For each key of the groups, its column among those of the build side and then of the aggregate below the join.
    groups: Vec<usize>,
}

fn split(aggregate: &AggregateExec, join: &HashJoinExec, columns: &JoinColumns) -> Result<Option<Split>> {
    let (left_width, probe) = (join.left().schema().fields().len(), join.right().schema());
    let join_keys = join.on().iter().map(|(_, of_probe)| of_probe.downcast_ref::<Column>().cloned());
    let Some(mut keys) = join_keys.collect::<Option<Vec<Column>>>() else { return Ok(None) };
    let mut groups = Vec::new();
    for (key, _) in aggregate.group_expr().expr() {
        let key = columns.resolve(key)?;
        let Some(column) = key.as_ref().and_then(|key| key.downcast_ref::<Column>()) else { return Ok(None) };
        let Some(index) = column.index().checked_sub(left_width) else {
            groups.push(column.index());
            continue;
        };
        let at = keys.iter().position(|other| other.index() == index);
        groups.push(left_width + at.unwrap_or(keys.len()));
        if at.is_none() {
            keys.push(Column::new(column.name(), index));
        }
    }
    let is_number = |key: &dyn PhysicalExpr, schema: &Schema| key.data_type(schema).is_ok_and(|data_type| data_type.is_primitive());
    let (above, input) = (aggregate.group_expr().expr(), aggregate.input().schema());
    if !keys.iter().all(|key| is_number(key, &probe)) || above.iter().all(|(key, _)| is_number(key.as_ref(), &input)) {
        return Ok(None);
    }
    let of_probe = |expr: &Arc<dyn PhysicalExpr>| -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let Some(expr) = columns.resolve(expr)?.and_then(|expr| over_probe(&expr, left_width)) else { return Ok(None) };
        Ok(cannot_fail(&expr, &probe)?.then_some(expr))
    };
    let (mut functions, mut filters) = (Vec::new(), Vec::new());
    for (function, filter) in aggregate.aggr_expr().iter().zip(aggregate.filter_expr()) {
        let arguments = function.expressions().iter().map(&of_probe).collect::<Result<Option<Vec<_>>>>()?;
        let Some(arguments) = arguments.filter(|arguments| !may_overflow(function, arguments, &probe)) else { return Ok(None) };
        let filter = match filter {
            Some(filter) => match of_probe(filter)? {
                Some(filter) => Some(filter),
                None => return Ok(None),
            },
            None => None,
        };
        functions.push(Arc::new(with_arguments(function, arguments, &probe)?));
        filters.push(filter);
    }
    Ok(Some(Split { keys, functions, filters, groups }))
}

/// Over the columns of the probe side alone. `None` if it has one of the build side.
fn over_probe(expr: &Arc<dyn PhysicalExpr>, left_width: usize) -> Option<Arc<dyn PhysicalExpr>> {
    if collect_columns(expr).iter().any(|column| column.index() < left_width) {
        return None;
    }
    let shifted = Arc::clone(expr).transform_up(|node| {
        let shifted = node.downcast_ref::<Column>().map(|column| Column::new(column.name(), column.index() - left_width));
        Ok(shifted.map_or_else(|| Transformed::no(node), |column| Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>)))
    });
    shifted.data().ok()
}

/// Whether the expression has a value for every row: those that the join drops must not fail.
fn cannot_fail(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<bool> {
    if expr.is::<Column>() || expr.is::<Literal>() {
        return Ok(true);
    }
    let data_type = expr.data_type(schema)?;
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        return Ok(is_wider(&cast.expr().data_type(schema)?, &data_type) && cannot_fail(cast.expr(), schema)?);
    }
    let Some(binary) = expr.downcast_ref::<BinaryExpr>() else { return Ok(false) };
    let is_total = match binary.op() {
        // A decimal of fewer digits than there are has room for each result.
        Operator::Plus | Operator::Minus | Operator::Multiply => matches!(data_type, DataType::Decimal128(precision, _) if precision < 38),
        Operator::And | Operator::Or => true,
        Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => true,
        _ => false,
    };
    Ok(is_total && cannot_fail(binary.left(), schema)? && cannot_fail(binary.right(), schema)?)
}

fn is_wider(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Decimal128(precision, scale), DataType::Decimal128(to_precision, to_scale)) => {
            to_scale >= scale && i16::from(*to_precision) - i16::from(*to_scale) >= i16::from(*precision) - i16::from(*scale)
        }
        (DataType::Int8 | DataType::Int16 | DataType::Int32, DataType::Int64) => true,
        (from, DataType::Float64) => from.is_integer(),
        _ => false,
    }
}

/// Whether a sum may be too large for rows that the join drops.
fn may_overflow(function: &AggregateFunctionExpr, arguments: &[Arc<dyn PhysicalExpr>], schema: &Schema) -> bool {
    let has_room = |argument: &Arc<dyn PhysicalExpr>| {
        let input = argument.downcast_ref::<CastExpr>().map_or(argument, CastExpr::expr);
        let data_type = input.data_type(schema);
        data_type.is_ok_and(|data_type| match data_type {
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Float32 | DataType::Float64 => true,
            // The sum has ten digits more.
            DataType::Decimal128(precision, _) => precision <= 28,
            _ => false,
        })
    };
    matches!(function.fun().name(), "sum" | "avg") && !arguments.iter().all(has_room)
}

fn with_arguments(
    function: &AggregateFunctionExpr,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    schema: &SchemaRef,
) -> Result<AggregateFunctionExpr> {
    let builder = AggregateExprBuilder::new(Arc::new(function.fun().clone()), arguments).schema(Arc::clone(schema)).alias(function.name());
    builder.with_ignore_nulls(function.ignore_nulls()).build()
}

/// Whether there are many rows for each group, by the number of values that the keys have.
fn has_few_groups(probe: &Arc<dyn ExecutionPlan>, keys: &[Column]) -> Result<bool> {
    let statistics = StatisticsContext::new().compute(probe.as_ref(), &StatisticsArgs::new())?;
    let Some(rows) = statistics.num_rows.get_value().copied() else { return Ok(false) };
    let mut groups = 1_usize;
    for key in keys {
        let column = statistics.column_statistics.get(key.index());
        let Some(values) = column.and_then(|column| column.distinct_count.get_value().copied()) else { return Ok(false) };
        groups = groups.saturating_mul(values.max(1));
    }
    Ok(rows >= ROWS_MIN && groups <= rows / ROWS_PER_GROUP_MIN)
}

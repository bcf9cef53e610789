//! Finds aggregates that can run in the scan.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{ColumnStatistics, Result, ScalarValue};
use datafusion::datasource::source::DataSource;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, InputOrderMode};

use super::exec::{AggregatePlan, FunctionPlan, Shortcut, StoreAggregateExec, store_scan};
use super::groups::COMBINATIONS_MAX;
use super::integers::IntegerExprs;
use crate::scan::StoreScan;
use common::engine_settings::switches;
use semantics::cancel::{grows, may_be_expensive};
use semantics::optimizer::Barrier;

const FUNCTIONS: [&str; 5] = ["sum", "avg", "count", "min", "max"];
/// With more groups than this, as they are estimated, finding those of the rows is not what takes the time.
const ESTIMATED_GROUPS_MAX: usize = 1 << 14;

/// Replaces aggregates over scans by [`StoreAggregateExec`]. It comes after the rule that makes plain aggregates of grouping sets, and before the one
/// that replaces the arithmetic in arguments.
#[derive(Debug, Default)]
pub struct StoreAggregates;

impl PhysicalOptimizerRule for StoreAggregates {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).store_aggregates {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let new = match node.downcast_ref::<AggregateExec>() {
                Some(aggregate) => in_scan(aggregate)?,
                None => None,
            };
            Ok(new.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        "store_aggregates"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn in_scan(aggregate: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    match aggregate.mode() {
        AggregateMode::Partial => Ok(states_in_scan(aggregate)?.map(|states| Arc::new(states) as Arc<dyn ExecutionPlan>)),
        AggregateMode::Single | AggregateMode::SinglePartitioned if aggregate.input().output_partitioning().partition_count() == 1 => {
            let (keys, functions) = (aggregate.group_expr(), aggregate.aggr_expr());
            let of_mode = |mode, keys, filters, input: &Arc<dyn ExecutionPlan>| {
                AggregateExec::try_new(mode, keys, functions.to_vec(), filters, Arc::clone(input), aggregate.input_schema())
            };
            let states = of_mode(AggregateMode::Partial, keys.clone(), aggregate.filter_expr().to_vec(), aggregate.input())?;
            let Some(states) = states_in_scan(&states)?.filter(|_| is_plain(aggregate)) else { return Ok(None) };
            let states: Arc<dyn ExecutionPlan> = Arc::new(states);
            let results = of_mode(AggregateMode::Final, keys.as_final(), vec![None; functions.len()], &states)?;
            Ok((results.schema() == aggregate.schema()).then(|| Arc::new(results) as Arc<dyn ExecutionPlan>))
        }
        _ => Ok(None),
    }
}

/// Whether it has keys and functions that can be computed in another way.
pub fn is_plain(aggregate: &AggregateExec) -> bool {
    !aggregate.group_expr().has_grouping_set()
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate.limit_options().is_none()
        && aggregate.dynamic_expressions_produced().is_empty()
        && aggregate.filter_expr().iter().all(Option::is_none)
        && aggregate.aggr_expr().iter().all(is_supported)
}

fn is_supported(function: &Arc<AggregateFunctionExpr>) -> bool {
    FUNCTIONS.contains(&function.fun().name())
        && !function.is_distinct()
        && !function.is_reversed()
        && function.order_bys().is_empty()
        && function.groups_accumulator_supported()
}

/// `None` if it cannot run in the scan, or would gain nothing.
fn states_in_scan(aggregate: &AggregateExec) -> Result<Option<StoreAggregateExec>> {
    let Some(input) = Input::below(aggregate).filter(|_| is_plain(aggregate)) else { return Ok(None) };
    let schema = input.scan.schema();
    let keys = aggregate.group_expr().expr().iter().map(|(key, _)| input.over_scan(key));
    let keys = keys.map(|key| Ok(key?.downcast_ref::<Column>().map(Column::index))).collect::<Result<Option<Vec<_>>>>()?;
    let Some(keys) = keys.filter(|keys| keys.is_empty() || input.has_few_groups(keys)) else { return Ok(None) };
    let (mut integers, mut sums, mut functions) = (IntegerExprs::default(), Vec::new(), Vec::new());
    for function in aggregate.aggr_expr() {
        let arguments = function.expressions().iter().map(|argument| input.over_scan(argument)).collect::<Result<Vec<_>>>()?;
        if arguments.iter().any(|argument| takes_long(argument, &schema)) {
            return Ok(None);
        }
        let state_types = function.state_fields()?.iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
        let shortcut = shortcut(function, &arguments, &state_types, &mut integers, &mut sums, &schema)?;
        // What the projection computes once would be computed for each function.
        if shortcut == Shortcut::None && function.expressions().iter().any(|argument| input.is_computed(argument)) {
            return Ok(None);
        }
        functions.push(FunctionPlan::new(function, arguments, state_types, shortcut, &schema)?);
    }
    // Without keys, DataFusion adds up columns of other numbers as fast.
    let has_shortcuts = || !sums.is_empty() && functions.iter().all(|plan| plan.shortcut != Shortcut::None);
    if keys.is_empty() && !has_shortcuts() {
        return Ok(None);
    }
    let key_types = keys.iter().map(|key| schema.field(*key).data_type().clone()).collect();
    let plan = AggregatePlan { keys, key_types, functions, integers, sums, column_count: schema.fields().len() };
    Ok(Some(StoreAggregateExec::new(Arc::clone(aggregate.properties()), input.scan, Arc::new(plan))))
}

/// Whether the operators of other functions than ours should evaluate it: they can be stopped while they do.
pub fn takes_long(argument: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    is_volatile(argument) || may_be_expensive(argument, schema) || grows(argument, schema).is_some()
}

fn shortcut(
    function: &AggregateFunctionExpr,
    arguments: &[Arc<dyn PhysicalExpr>],
    state_types: &[DataType],
    integers: &mut IntegerExprs,
    sums: &mut Vec<usize>,
    schema: &Schema,
) -> Result<Shortcut> {
    let [argument] = arguments else { return Ok(Shortcut::None) };
    if function.fun().name() == "count" {
        return Ok(match (argument.downcast_ref::<Literal>(), argument.downcast_ref::<Column>()) {
            (Some(literal), _) if !literal.value().is_null() => Shortcut::Count(None),
            (_, Some(column)) if *schema.field(column.index()).data_type() != DataType::Null => Shortcut::Count(Some(column.index())),
            _ => Shortcut::None,
        });
    }
    let (shortcut, sum): (fn(usize) -> Shortcut, &DataType) = match (function.fun().name(), state_types) {
        ("sum", [sum]) => (Shortcut::Sum, sum),
        ("avg", [DataType::UInt64, sum @ DataType::Decimal128(..)]) => (Shortcut::Average, sum),
        _ => return Ok(Shortcut::None),
    };
    if argument.is::<Literal>() || !is_sum(argument, sum, schema)? {
        return Ok(Shortcut::None);
    }
    let Some(expr) = integers.add(argument, schema)? else { return Ok(Shortcut::None) };
    let sum = sums.iter().position(|other| *other == expr).unwrap_or_else(|| {
        sums.push(expr);
        sums.len() - 1
    });
    Ok(shortcut(sum))
}

/// Whether the digits of the argument add up to those of the sum.
fn is_sum(argument: &Arc<dyn PhysicalExpr>, sum: &DataType, schema: &Schema) -> Result<bool> {
    Ok(match (argument.data_type(schema)?, sum) {
        (DataType::Decimal128(_, scale), DataType::Decimal128(_, of_sum)) => scale == *of_sum,
        (argument, sum) => argument.is_signed_integer() && *sum == DataType::Int64,
    })
}

/// What an aggregate reads: a scan, perhaps with a projection over it.
pub struct Input {
    scan: Arc<dyn ExecutionPlan>,
    /// The columns of the aggregate's input over the scan; `None` if they are those of the scan.
    columns: Option<Vec<Arc<dyn PhysicalExpr>>>,
}

impl Input {
    pub fn below(aggregate: &AggregateExec) -> Option<Input> {
        let input = plain(aggregate.input());
        let (scan, columns) = match input.downcast_ref::<ProjectionExec>() {
            Some(projection) => {
                let columns = projection.expr().iter().map(|projected| Arc::clone(&projected.expr)).collect();
                (plain(projection.input()), Some(columns))
            }
            None => (input, None),
        };
        store_scan(scan).is_some_and(|scan| scan.is_whole()).then(|| Input { scan: Arc::clone(scan), columns })
    }

    pub fn scan(&self) -> Option<&StoreScan> {
        store_scan(&self.scan)
    }

    pub fn over_scan(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(columns) = &self.columns else { return Ok(Arc::clone(expr)) };
        Arc::clone(expr)
            .transform_up(|node| {
                Ok(match node.downcast_ref::<Column>() {
                    Some(column) => Transformed::yes(Arc::clone(&columns[column.index()])),
                    None => Transformed::no(node),
                })
            })
            .data()
    }

    /// Whether it reads more than columns of the scan.
    fn is_computed(&self, expr: &Arc<dyn PhysicalExpr>) -> bool {
        let Some(columns) = &self.columns else { return false };
        collect_columns(expr).iter().any(|column| !columns[column.index()].is::<Column>())
    }

    /// Whether most rows have codes for these keys, and these have few combinations.
    fn has_few_groups(&self, keys: &[usize]) -> bool {
        let Some(scan) = store_scan(&self.scan).filter(|scan| scan.has_codes(keys)) else { return false };
        let Ok(statistics) = scan.partition_statistics(None) else { return false };
        let schema = self.scan.schema();
        let (mut groups, mut codes) = (1usize, 1usize);
        for key in keys {
            let Some(column) = statistics.column_statistics.get(*key) else { return false };
            let (Some(distinct), Some(code_count)) =
                (column.distinct_count.get_value(), code_count(schema.field(*key).data_type(), column))
            else {
                return false;
            };
            groups = groups.saturating_mul((*distinct).max(1));
            codes = codes.saturating_mul(code_count);
        }
        groups <= ESTIMATED_GROUPS_MAX && codes <= COMBINATIONS_MAX
    }
}

/// The operator below those that only wrap another one.
fn plain(plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    match (plan.downcast_ref::<CooperativeExec>(), plan.downcast_ref::<Barrier>()) {
        (Some(cooperative), _) => plain(cooperative.input()),
        (_, Some(barrier)) => plain(barrier.input()),
        _ => plan,
    }
}

/// About how many codes a segment has for the values of a column; `None` for a type of which no values are codes.
fn code_count(data_type: &DataType, column: &ColumnStatistics) -> Option<usize> {
    let distinct = *column.distinct_count.get_value()?;
    if matches!(data_type, DataType::Utf8View | DataType::BinaryView) {
        return Some(distinct.saturating_add(2));
    }
    let bound = |value: &Precision<ScalarValue>| match value.get_value()?.cast_to(&DataType::Int64).ok()? {
        ScalarValue::Int64(value) => value,
        _ => None,
    };
    let is_integer = data_type.is_integer() || *data_type == DataType::Date32;
    let (least, greatest) = is_integer.then(|| bound(&column.min_value).zip(bound(&column.max_value)))??;
    usize::try_from(greatest.checked_sub(least)?.checked_add(2)?).ok()
}

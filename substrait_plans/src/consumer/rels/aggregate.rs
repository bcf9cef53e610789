//! Aggregations. The library reads DataFusion's grouping id column as one of the measures, uses indices of the plan unchecked, and drops
//! phases and options.

use std::collections::{HashMap, HashSet};

use datafusion::common::{Column, DFSchema, Result as DfResult};
use datafusion::logical_expr::{Aggregate, Case, Expr, GroupingSet, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::input;
use crate::consumer::check::groups_of;
use crate::consumer::column_names::{Columns, column};
use crate::consumer::consume::Consumer;
use crate::consumer::functions::{self, PostAggregate};
use crate::error::PlanError;
use crate::proto::AggregateRel;

/// The number of bits of DataFusion's grouping id.
const SET_EXPRESSIONS_MAX: usize = 32;

/// Emits the groups, the measures, and, if there are several grouping sets, the index of the row's set.
pub async fn aggregate(consumer: &Consumer<'_>, rel: &AggregateRel) -> DfResult<LogicalPlan> {
    let groups = groups_of(rel, &"an aggregate")?;
    let input = input(consumer, rel.input.as_deref()).await?;
    let mut keys = Vec::with_capacity(groups.expressions.len());
    for expression in &groups.expressions {
        keys.push(consumer.consume_expression(expression, input.schema()).await?);
    }
    let (input, keys) = as_columns(consumer, input, keys)?;
    let mut measures = Measures::default();
    for measure in &rel.measures {
        let function = measure.measure.as_ref().ok_or_else(|| PlanError::missing("the function of a measure", "an aggregate"))?;
        let filter = match &measure.filter {
            Some(filter) => Some(Box::new(consumer.consume_expression(filter, input.schema()).await?)),
            None => None,
        };
        let (expr, after) = functions::aggregate(consumer, function, filter, input.schema()).await?;
        measures.push(expr, after);
    }
    match groups.sets.as_slice() {
        [] | [_] => of_one_set(consumer, input, &keys, measures),
        sets => of_sets(consumer, input, &keys, sets, measures),
    }
}

/// Equal measures are computed once.
#[derive(Default)]
struct Measures {
    calls: Vec<Expr>,
    /// For each measure the index of its computed call, and what is applied to the result.
    outputs: Vec<(usize, PostAggregate)>,
}

impl Measures {
    fn push(&mut self, expr: Expr, after: PostAggregate) {
        let position = self.calls.iter().position(|call| *call == expr);
        let index = position.unwrap_or_else(|| {
            self.calls.push(expr);
            self.calls.len() - 1
        });
        self.outputs.push((index, after));
    }

    /// DataFusion's name of a call omits casts, so two calls may have the same name: the second gets another.
    fn calls(&self, consumer: &Consumer<'_>) -> Vec<Expr> {
        let mut names = HashSet::new();
        let calls = self.calls.iter().map(|call| match names.insert(call.schema_name().to_string()) {
            true => call.clone(),
            false => call.clone().alias(consumer.fresh.column()),
        });
        calls.collect()
    }

    /// The measures as columns of `schema`; the computed calls begin at `first`.
    fn pass(self, consumer: &Consumer<'_>, schema: &DFSchema, first: usize, columns: &mut Columns<'_, '_>) -> DfResult<()> {
        for (index, after) in self.outputs {
            let value = column(schema, first + index)?;
            let data_type = schema.field(first + index).data_type();
            // Two equal aggregations may meet in a join.
            columns.anew(after.apply(value, data_type, consumer)?);
        }
        Ok(())
    }
}

/// The grouping expressions, each as a column of the input.
fn as_columns(consumer: &Consumer<'_>, input: LogicalPlan, keys: Vec<Expr>) -> DfResult<(LogicalPlan, Vec<Column>)> {
    let mut columns = Columns::new(consumer);
    let mut key_columns = Vec::with_capacity(keys.len());
    let mut aliases: Vec<(Expr, Column)> = Vec::new();
    let mut extra = Vec::new();
    for key in keys {
        if let Expr::Column(column) = &key {
            key_columns.push(column.clone());
            continue;
        }
        match aliases.iter().find(|(expr, _)| *expr == key) {
            Some((_, column)) => key_columns.push(column.clone()),
            None => {
                let name = consumer.fresh.column();
                consumer.lengths.carry(&key, &name);
                key_columns.push(Column::from_name(&name));
                extra.push(key.clone().alias(&name));
                aliases.push((key, Column::from_name(name)));
            }
        }
    }
    if extra.is_empty() {
        return Ok((input, key_columns));
    }
    for index in 0..input.schema().fields().len() {
        columns.pass(input.schema(), index)?;
    }
    extra.into_iter().for_each(|expr| columns.named(expr));
    Ok((columns.over(input)?, key_columns))
}

fn of_one_set(consumer: &Consumer<'_>, input: LogicalPlan, keys: &[Column], measures: Measures) -> DfResult<LogicalPlan> {
    let mut distinct_keys = HashSet::new();
    let groups: Vec<Expr> = keys.iter().filter(|key| distinct_keys.insert(*key)).map(|key| Expr::Column(key.clone())).collect();
    let first = groups.len();
    let plan = LogicalPlanBuilder::from(input).aggregate(groups, measures.calls(consumer))?.build()?;
    let mut columns = Columns::new(consumer);
    keys.iter().for_each(|key| columns.push(Expr::Column(key.clone())));
    measures.pass(consumer, plan.schema(), first, &mut columns)?;
    columns.over(plan)
}

fn of_sets(consumer: &Consumer<'_>, input: LogicalPlan, keys: &[Column], sets: &[Vec<usize>], measures: Measures) -> DfResult<LogicalPlan> {
    // In the order of DataFusion's bits.
    let mut order: Vec<&Column> = Vec::new();
    let in_sets = sets.iter().map(|set| {
        let mut members: Vec<&Column> = Vec::new();
        for index in set {
            let key = keys.get(*index).ok_or_else(|| PlanError::invalid("a group that is not there", "an aggregate"))?;
            if !order.contains(&key) {
                order.push(key);
            }
            // Checked here, because the next column is searched among all of them.
            if order.len() > SET_EXPRESSIONS_MAX {
                return Err(PlanError::TooMany { what: "expressions in grouping sets", limit: SET_EXPRESSIONS_MAX });
            }
            if !members.contains(&key) {
                members.push(key);
            }
        }
        Ok(members)
    });
    let in_sets = in_sets.collect::<Result<Vec<_>, PlanError>>()?;
    let expressions = in_sets.iter().map(|set| set.iter().map(|key| Expr::Column((*key).clone())).collect()).collect();
    let grouping = Expr::GroupingSet(GroupingSet::GroupingSets(expressions));
    let plan = LogicalPlanBuilder::from(input).aggregate([grouping], measures.calls(consumer))?.build()?;
    let mut columns = Columns::new(consumer);
    keys.iter().for_each(|key| columns.push(Expr::Column(key.clone())));
    measures.pass(consumer, plan.schema(), order.len() + 1, &mut columns)?;
    if !consumer.quirks.no_set_index {
        columns.anew(set_index(&in_sets, &order));
    }
    columns.over(plan)
}

/// DataFusion identifies a set by the columns that it omits: the last of all columns is bit 0. The bits above these count equal sets.
fn set_index(sets: &[Vec<&Column>], order: &[&Column]) -> Expr {
    let mask = |set: &Vec<&Column>| {
        let bits = order.iter().rev().enumerate().filter(|(_, key)| !set.contains(key));
        bits.fold(0_u64, |mask, (bit, _)| mask | 1 << bit)
    };
    let mut counts: HashMap<u64, u64> = HashMap::new();
    let branches = sets.iter().enumerate().map(|(index, set)| {
        let mask = mask(set);
        let count = counts.entry(mask).or_default();
        let number = *count << order.len() | mask;
        *count += 1;
        (Box::new(lit(number)), Box::new(lit(index as i32)))
    });
    let number = Expr::Column(Column::from_name(Aggregate::INTERNAL_GROUPING_ID));
    Expr::Case(Case::new(Some(Box::new(number)), branches.collect(), None))
}

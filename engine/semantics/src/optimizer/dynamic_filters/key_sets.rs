//! The integer keys of a join's build side, as sets for the scans of its probe side.
//!
//! DataFusion passes on short lists, and for more keys the table of the join, in which a scan looks up each row: for six million rows that took
//! most of the time of a query. A bitmap of the keys costs a fraction of that, and each key of several has its own, which passes operators that
//! do not have the other keys: of `(p_partkey, ps_supplycost) = (ps_partkey, min(…))` the first one passes the aggregate.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{NullEquality, Result, ScalarValue, Statistics, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::conjunction;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use futures::TryStreamExt;
use futures::stream::try_unfold;

use crate::integer_set::{IntegerSet, IntegerSetBuilder, has_integer_set};

/// Passes on its rows, and makes a filter of the values that some columns have.
#[derive(Debug)]
pub struct KeySetExec {
    input: Arc<dyn ExecutionPlan>,
    keys: Vec<Key>,
}

#[derive(Debug, Clone)]
struct Key {
    column: Column,
    /// The equal column of the other side, over which the filter is.
    probe: Arc<dyn PhysicalExpr>,
    filter: Arc<DynamicFilterPhysicalExpr>,
    data_type: DataType,
}

impl KeySetExec {
    /// Above the build side of a join. `None` if no key can be tested, or the build side is made in several parts.
    pub fn of(join: &HashJoinExec) -> Result<Option<KeySetExec>> {
        // A set has no NULL, which some joins must see.
        let sees_nulls = join.null_aware || join.null_equality() != NullEquality::NullEqualsNothing;
        if sees_nulls || *join.partition_mode() != PartitionMode::CollectLeft {
            return Ok(None);
        }
        let (build, probe) = (join.left().schema(), join.right().schema());
        let mut keys = Vec::new();
        for (of_build, of_probe) in join.on() {
            let data_type = of_build.data_type(&build)?;
            let Some(column) = of_build.downcast_ref::<Column>() else { continue };
            if of_probe.is::<Column>() && has_integer_set(&data_type) && of_probe.data_type(&probe)? == data_type {
                let filter = Arc::new(DynamicFilterPhysicalExpr::new(vec![Arc::clone(of_probe)], lit(true)));
                keys.push(Key { column: column.clone(), probe: Arc::clone(of_probe), filter, data_type });
            }
        }
        Ok((!keys.is_empty()).then(|| KeySetExec { input: Arc::clone(join.left()), keys }))
    }

    /// The operator above the build side, with the keys for which a scan of the probe side has the filter.
    pub fn above(mut self, build: Arc<dyn ExecutionPlan>, probe: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut taken = HashSet::new();
        probe.apply(|node| {
            node.apply_expressions(&mut |filter| {
                taken.extend(filter.expression_id());
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        self.keys.retain(|key| key.filter.expression_id().is_some_and(|id| taken.contains(&id)));
        if self.keys.is_empty() {
            return Ok(build);
        }
        Ok(Arc::new(KeySetExec { input: build, ..self }))
    }

    /// Over the probe side.
    pub fn filters(&self) -> impl Iterator<Item = Arc<dyn PhysicalExpr>> {
        self.keys.iter().map(|key| Arc::clone(&key.filter) as Arc<dyn PhysicalExpr>)
    }
}

impl ExecutionPlan for KeySetExec {
    fn name(&self) -> &str {
        "KeySetExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.filters().collect()
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(KeySetExec { input, keys: self.keys.clone() })),
            _ => internal_err!("KeySetExec has one child"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let memory = MemoryConsumer::new("KeySetExec").register(context.memory_pool());
        let sets = self.keys.iter().map(|_| Some(IntegerSetBuilder::default())).collect();
        let collected = Collected { keys: self.keys.clone(), sets: Some(sets), memory };
        let input = self.input.execute(partition, context)?;
        let batches = try_unfold((input, collected), |(mut input, mut collected)| async move {
            match input.try_next().await? {
                Some(batch) => {
                    collected.add(&batch);
                    Ok(Some((batch, (input, collected))))
                }
                None => collected.publish().map(|()| None),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), batches)))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("KeySetExec has one child"),
        }
    }
}

impl DisplayAs for KeySetExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.keys.iter().map(|key| key.column.to_string()).collect();
        write!(f, "KeySetExec: keys=[{}]", keys.join(", "))
    }
}

/// The sets while the rows come.
struct Collected {
    keys: Vec<Key>,
    /// `None` where there is no memory for them.
    sets: Option<Vec<Option<IntegerSetBuilder>>>,
    memory: MemoryReservation,
}

impl Collected {
    fn add(&mut self, batch: &RecordBatch) {
        let Some(sets) = &mut self.sets else { return };
        for (key, set) in self.keys.iter().zip(sets.iter_mut()) {
            // A range that is too wide has no set.
            if set.as_mut().is_some_and(|set| !set.add(batch.column(key.column.index()))) {
                *set = None;
            }
        }
        let size_bytes = sets.iter().flatten().map(IntegerSetBuilder::size_bytes).sum();
        if self.memory.try_resize(size_bytes).is_err() {
            self.sets = None;
            self.memory.free();
        }
    }

    fn publish(self) -> Result<()> {
        let memory = Arc::new(self.memory);
        let sets = self.sets.unwrap_or_default().into_iter().chain(std::iter::repeat_with(|| None));
        for (key, set) in self.keys.iter().zip(sets) {
            match set.map(IntegerSetBuilder::finish) {
                Some(Some(set)) => {
                    let (least, greatest) = set.bounds();
                    let test = KeySetTest { column: Arc::clone(&key.probe), set: Arc::new(set), _memory: Arc::clone(&memory) };
                    let bounds = [(Operator::GtEq, least), (Operator::LtEq, greatest)];
                    let bounds = bounds.into_iter().map(|(operator, bound)| key.compared(operator, bound));
                    let bounds = bounds.collect::<Result<Vec<_>>>()?;
                    key.filter.update(conjunction(bounds.into_iter().chain([Arc::new(test) as Arc<dyn PhysicalExpr>])))?;
                }
                Some(None) => key.filter.update(lit(false))?,
                None => {}
            }
            key.filter.mark_complete();
        }
        Ok(())
    }
}

impl Key {
    /// For the statistics of zones.
    fn compared(&self, operator: Operator, bound: i64) -> Result<Arc<dyn PhysicalExpr>> {
        let bound = ScalarValue::Int64(Some(bound)).cast_to(&self.data_type)?;
        Ok(Arc::new(BinaryExpr::new(Arc::clone(&self.probe), operator, lit(bound))))
    }
}

/// Whether a column's value is in a set.
#[derive(Debug, Clone)]
pub struct KeySetTest {
    column: Arc<dyn PhysicalExpr>,
    set: Arc<IntegerSet>,
    /// As long as the set.
    _memory: Arc<MemoryReservation>,
}

impl KeySetTest {
    pub fn column(&self) -> &Arc<dyn PhysicalExpr> {
        &self.column
    }

    pub fn set(&self) -> &Arc<IntegerSet> {
        &self.set
    }
}

impl PhysicalExpr for KeySetTest {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let values = self.column.evaluate(batch)?.into_array(batch.num_rows())?;
        if !has_integer_set(values.data_type()) {
            return internal_err!("{} cannot be in a set of integers", values.data_type());
        }
        Ok(ColumnarValue::Array(Arc::new(self.set.contains(&values))))
    }

    fn return_field(&self, _schema: &Schema) -> Result<FieldRef> {
        Ok(Arc::new(Field::new("key set", DataType::Boolean, false)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.column]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let (Some(column), None) = (children.pop(), children.pop()) else { return internal_err!("KeySetTest has one child") };
        Ok(Arc::new(KeySetTest { column, ..self.as_ref().clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for KeySetTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} IN (KEYS)", self.column)
    }
}

impl PartialEq for KeySetTest {
    fn eq(&self, other: &Self) -> bool {
        self.column.eq(&other.column) && Arc::ptr_eq(&self.set, &other.set)
    }
}

impl Eq for KeySetTest {}

impl Hash for KeySetTest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.column.hash(state);
    }
}

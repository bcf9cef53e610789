//! The states of all sets. Each set but the finest is an aggregate of the states of another one, its parent. Where memory is scarce, one
//! aggregate makes all of them from the finest.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::metrics::Time;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use tokio::task::unconstrained;

use common::memory::limit_bytes;

type States = Pin<Box<dyn Stream<Item = Result<RecordBatch>> + Send>>;

/// More aggregates would have too small shares of the memory: then one aggregate has all sets but the finest.
const AGGREGATES_MAX: usize = 16;
/// The least share of the memory for an aggregate by itself: to spill it has to sort what it holds.
const SHARE_BYTES_MIN: usize = 16 << 20;

pub struct SetsStream {
    /// What `GroupingSetsExec` yields: all keys, the number of the set, states.
    schema: SchemaRef,
    key_count: usize,
    /// Parents before their children.
    aggregates: Vec<SetAggregate>,
    /// The first one that is not complete.
    current: usize,
    output: VecDeque<RecordBatch>,
    elapsed: Time,
}

#[derive(Clone)]
struct Set {
    /// The positions of its keys among all.
    keys: Vec<usize>,
    id: ScalarValue,
}

/// The groups of a set, or of several.
struct SetAggregate {
    sets: Vec<Set>,
    /// Of its input: the keys of its set and states, or all that `GroupingSetsExec` yields if there are several sets, or one without keys.
    schema: SchemaRef,
    has_all_columns: bool,
    states: States,
    children: Vec<usize>,
    /// `None` for the finest set, and when the parent is complete.
    input: Option<UnboundedSender<Result<RecordBatch>>>,
}

impl SetsStream {
    /// `finest` yields the states of the groups by all keys, `ids` are the numbers of the sets of `keys`, `partitions` work at the same time.
    pub fn new(
        finest: impl Stream<Item = Result<RecordBatch>> + Send + 'static,
        keys: &PhysicalGroupBy,
        ids: Vec<ScalarValue>,
        aggregate: &AggregateExec,
        partitions: usize,
        context: &Arc<TaskContext>,
        elapsed: Time,
    ) -> Result<SetsStream> {
        let (schema, key_count) = (aggregate.schema(), keys.expr().len());
        let keys_of = |left_out: &Vec<bool>| (0..key_count).filter(|key| !left_out[*key]).collect::<Vec<usize>>();
        let mut sets: Vec<Set> = keys.groups().iter().map(keys_of).zip(ids).map(|(keys, id)| Set { keys, id }).collect();
        sets.sort_by_key(|set| std::cmp::Reverse(set.keys.len()));
        let others = sets.split_off(1);
        let finest_schema = input_schema(&sets[0], &schema, key_count);
        let mut aggregates = vec![SetAggregate {
            sets,
            schema: finest_schema,
            has_all_columns: false,
            states: Box::pin(finest),
            children: Vec::new(),
            input: None,
        }];
        let share_bytes = limit_bytes(context.memory_pool().as_ref()) / (others.len() * partitions).max(1);
        let is_each_alone = others.len() <= AGGREGATES_MAX && share_bytes >= SHARE_BYTES_MIN;
        let bundles: Vec<Vec<Set>> = if is_each_alone { others.into_iter().map(|set| vec![set]).collect() } else { vec![others] };
        for sets in bundles {
            let number = aggregates.len();
            let has_keys_of = |parent: &&mut SetAggregate| match (&parent.sets[..], &sets[..]) {
                ([parent], [set]) => set.keys.iter().all(|key| parent.keys.contains(key)),
                ([parent], _) => parent.keys.len() == key_count,
                _ => false,
            };
            let Some(parent) = aggregates.iter_mut().rev().find(has_keys_of) else {
                return internal_err!("a grouping set has a key that the finest has not");
            };
            parent.children.push(number);
            aggregates.push(SetAggregate::new(sets, &schema, key_count, aggregate, context)?);
        }
        Ok(SetsStream { schema, key_count, aggregates, current: 0, output: VecDeque::new(), elapsed })
    }

    /// Hands states of an aggregate to its children and to the output.
    fn add(&mut self, number: usize, batch: &RecordBatch) -> Result<()> {
        let parent = &self.aggregates[number];
        if parent.has_all_columns {
            self.output.push_back(RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())?);
        } else if let [set] = &parent.sets[..] {
            self.output.push_back(self.of_set(batch, set, set)?);
        }
        for child in parent.children.clone() {
            self.send(batch, number, child)?;
            // It takes its input at once, whatever the task's budget is, so that no states pile up.
            let mut context = Context::from_waker(Waker::noop());
            loop {
                let next = pin!(unconstrained(self.aggregates[child].states.next())).poll(&mut context);
                let Poll::Ready(Some(batch)) = next else { break };
                self.add(child, &batch?)?;
            }
        }
        Ok(())
    }

    /// States of a set with the keys of another one, as `GroupingSetsExec` yields them.
    fn of_set(&self, batch: &RecordBatch, parent: &Set, set: &Set) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let keys = (0..self.key_count).map(|key| -> ArrayRef {
            let at = parent.keys.iter().position(|other| *other == key).filter(|_| set.keys.contains(&key));
            at.map_or_else(|| new_null_array(self.schema.field(key).data_type(), rows), |at| Arc::clone(batch.column(at)))
        });
        let states = batch.columns()[parent.keys.len()..].iter().cloned();
        let columns = keys.chain([set.id.to_array_of_size(rows)?]).chain(states);
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns.collect())?)
    }

    fn send(&self, batch: &RecordBatch, parent: usize, child: usize) -> Result<()> {
        let (parent, child) = (&self.aggregates[parent], &self.aggregates[child]);
        let Some(input) = &child.input else { return internal_err!("a grouping set is complete before its input") };
        for set in &child.sets {
            let states = match &parent.sets[..] {
                // Its only child is another set without keys: the set has another number.
                [_] if parent.has_all_columns => {
                    let mut columns = batch.columns().to_vec();
                    columns[self.key_count] = set.id.to_array_of_size(batch.num_rows())?;
                    RecordBatch::try_new(Arc::clone(&child.schema), columns)?
                }
                [of_parent] if child.has_all_columns => self.of_set(batch, of_parent, set)?,
                [of_parent] => {
                    let at = |key: &usize| of_parent.keys.iter().position(|other| other == key);
                    let columns = set.keys.iter().filter_map(at).chain(of_parent.keys.len()..batch.num_columns());
                    let columns = columns.map(|at| Arc::clone(batch.column(at))).collect();
                    RecordBatch::try_new(Arc::clone(&child.schema), columns)?
                }
                _ => return internal_err!("several grouping sets have no children"),
            };
            if input.unbounded_send(Ok(states)).is_err() {
                return internal_err!("the aggregate of a grouping set ended before its input");
            }
        }
        Ok(())
    }

    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        loop {
            if let Some(batch) = self.output.pop_front() {
                return Poll::Ready(Some(Ok(batch)));
            }
            let Some(aggregate) = self.aggregates.get_mut(self.current) else { return Poll::Ready(None) };
            let is_finest = self.current == 0;
            let elapsed = self.elapsed.clone();
            let timer = (!is_finest).then(|| elapsed.timer());
            let next = ready!(aggregate.states.as_mut().poll_next(context));
            drop(timer);
            let _timer = elapsed.timer();
            match next {
                Some(batch) => self.add(self.current, &batch?)?,
                None => {
                    // It holds no memory any more.
                    aggregate.states = Box::pin(futures::stream::empty());
                    for child in std::mem::take(&mut aggregate.children) {
                        self.aggregates[child].input = None;
                    }
                    self.current += 1;
                }
            }
        }
    }
}

impl Stream for SetsStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_output(context)
    }
}

impl RecordBatchStream for SetsStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl SetAggregate {
    /// An aggregate that merges the states which are sent to it.
    fn new(
        sets: Vec<Set>,
        all: &SchemaRef,
        key_count: usize,
        aggregate: &AggregateExec,
        context: &Arc<TaskContext>,
    ) -> Result<SetAggregate> {
        let (schema, group_columns) = match &sets[..] {
            [set] if !set.keys.is_empty() => (input_schema(set, all, key_count), set.keys.len()),
            _ => (Arc::clone(all), key_count + 1),
        };
        let has_all_columns = group_columns > key_count;
        let (sender, receiver) = unbounded();
        let group = (0..group_columns).map(|at| -> (Arc<dyn PhysicalExpr>, String) {
            let name = schema.field(at).name();
            (Arc::new(Column::new(name, at)), name.clone())
        });
        let group = PhysicalGroupBy::new_single(group.collect());
        let sent = SentStates { schema: Arc::clone(&schema), receiver: Mutex::new(Some(receiver)) };
        let input = Arc::new(StreamingTableExec::try_new(Arc::clone(&schema), vec![Arc::new(sent)], None, vec![], false, None)?);
        let functions = aggregate.aggr_expr().to_vec();
        // The rows are filtered already.
        let filters = vec![None; functions.len()];
        let merged = AggregateExec::try_new(AggregateMode::PartialReduce, group, functions, filters, input, aggregate.input_schema())?;
        let states: States = Box::pin(merged.execute(0, Arc::clone(context))?);
        Ok(SetAggregate { sets, schema, has_all_columns, states, children: Vec::new(), input: Some(sender) })
    }
}

/// The keys of a set and states. `all` is what `GroupingSetsExec` yields.
fn input_schema(set: &Set, all: &Schema, key_count: usize) -> SchemaRef {
    let columns = set.keys.iter().copied().chain(key_count + 1..all.fields().len());
    Arc::new(Schema::new(columns.map(|at| Arc::clone(&all.fields()[at])).collect::<Vec<_>>()))
}

/// States, as the input of an aggregate.
#[derive(Debug)]
struct SentStates {
    schema: SchemaRef,
    /// Until they are read.
    receiver: Mutex<Option<UnboundedReceiver<Result<RecordBatch>>>>,
}

impl PartitionStream for SentStates {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let states = match self.receiver.lock().take() {
            Some(receiver) => receiver.boxed(),
            None => futures::stream::once(async { internal_err!("the states of a grouping set are read once") }).boxed(),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), states))
    }
}

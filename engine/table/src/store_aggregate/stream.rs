//! One partition: rows of zones go to their groups.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::RecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::Stream;

use super::GROUPS_MAX;
use super::exec::{AggregatePlan, FunctionPlan, Shortcut};
use super::groups::Groups;
use super::sums::{GroupSums, ZoneGroups};
use crate::scan::{StoredRows, StoredStream};
use common::memory::EvaluationGuard;
use semantics::cancel::{is_out_of_memory, yield_now};

/// How long rows are added before other tasks may run.
const POLL_MAX: Duration = Duration::from_millis(10);

pub struct StoreAggregateStream {
    rows: StoredStream,
    plan: Arc<AggregatePlan>,
    schema: SchemaRef,
    /// `None` without keys: all rows are one group.
    groups: Option<Groups>,
    accumulators: Vec<Box<dyn GroupsAccumulator>>,
    /// Of the plan's sums.
    sums: Vec<GroupSums>,
    /// Of the functions that count.
    counts: Vec<Vec<u64>>,
    /// The group of each row of a zone.
    group_of_row: Vec<usize>,
    /// The rows of each group in a zone.
    row_counts: Vec<u64>,
    reservation: MemoryReservation,
    metrics: BaselineMetrics,
    finished: bool,
}

impl StoreAggregateStream {
    pub fn new(
        rows: StoredStream,
        plan: Arc<AggregatePlan>,
        schema: SchemaRef,
        reservation: MemoryReservation,
        metrics: BaselineMetrics,
    ) -> Result<StoreAggregateStream> {
        let groups = match plan.keys.is_empty() {
            true => None,
            false => Some(Groups::new(plan.keys.clone(), &plan.key_types)?),
        };
        Ok(StoreAggregateStream {
            rows,
            schema,
            groups,
            accumulators: plan.functions.iter().map(|plan| plan.function.create_groups_accumulator()).collect::<Result<_>>()?,
            sums: plan.sums.iter().map(|_| GroupSums::default()).collect(),
            counts: vec![Vec::new(); plan.functions.len()],
            plan,
            group_of_row: Vec::new(),
            row_counts: Vec::new(),
            reservation,
            metrics,
            finished: false,
        })
    }

    fn group_count(&self) -> usize {
        self.groups.as_ref().map_or(1, Groups::len)
    }

    fn add(&mut self, rows: &StoredRows) -> Result<()> {
        let row_count = rows.row_count();
        match &mut self.groups {
            Some(groups) => groups.assign(rows, &mut self.group_of_row)?,
            None => self.group_of_row.resize(row_count, 0),
        }
        let group_count = self.group_count();
        self.row_counts.clear();
        if self.groups.is_some() && group_count <= row_count {
            self.row_counts.resize(group_count, 0);
            self.group_of_row.iter().for_each(|group| self.row_counts[*group] += 1);
        }
        let zone = ZoneGroups {
            of_rows: self.groups.is_some().then_some(self.group_of_row.as_slice()),
            count: group_count,
            row_count,
            row_counts: (!self.row_counts.is_empty()).then_some(self.row_counts.as_slice()),
        };
        let integers = self.plan.integers.evaluate(row_count, |column| rows.stored(column));
        let mut is_added = vec![false; self.sums.len()];
        for ((expr, sums), is_added) in self.plan.sums.iter().zip(&mut self.sums).zip(&mut is_added) {
            if let Some(integers) = integers.get(*expr).and_then(Option::as_ref) {
                sums.add(integers, zone);
                *is_added = true;
            }
        }
        let mut decoded = Decoded { rows, columns: vec![None; self.plan.column_count] };
        for (index, plan) in self.plan.functions.iter().enumerate() {
            match plan.shortcut {
                Shortcut::Sum(sum) | Shortcut::Average(sum) if is_added[sum] => {}
                Shortcut::Count(column) => {
                    zone.count_rows(column.and_then(|column| rows.stored(column).nulls()), &mut self.counts[index]);
                }
                _ => {
                    let values = decoded.arguments(plan)?;
                    // Without a filter the accumulator takes it that every group has a row, but rows of other zones have been added elsewhere.
                    let all = || BooleanArray::new(BooleanBuffer::new_set(row_count), None);
                    let filter = (plan.shortcut != Shortcut::None).then(all);
                    self.accumulators[index].update_batch(&values, &self.group_of_row, filter.as_ref(), group_count)?;
                }
            }
        }
        Ok(())
    }

    fn reserve(&mut self) -> Result<()> {
        let groups = self.groups.as_ref().map_or(0, Groups::size_bytes);
        let accumulators: usize = self.accumulators.iter().map(|accumulator| accumulator.size()).sum();
        let sums: usize = self.sums.iter().map(GroupSums::size_bytes).sum();
        let counts: usize = self.counts.iter().map(|counts| counts.capacity() * size_of::<u64>()).sum();
        self.reservation.try_resize(groups + accumulators + sums + counts)
    }

    /// The states of all groups, which are forgotten.
    fn take(&mut self) -> Result<Option<RecordBatch>> {
        let group_count = self.group_count();
        if group_count == 0 {
            return Ok(None);
        }
        let mut columns = match &mut self.groups {
            Some(groups) => groups.take()?,
            None => Vec::new(),
        };
        let all: Vec<usize> = (0..group_count).collect();
        let functions = self.plan.functions.iter().zip(&mut self.accumulators).zip(&mut self.counts);
        for ((plan, accumulator), counts) in functions {
            match plan.shortcut {
                Shortcut::None => {}
                Shortcut::Sum(sum) => {
                    let (sums, _) = self.sums[sum].states(group_count, &plan.state_types[0])?;
                    accumulator.merge_batch(&[sums], &all, group_count)?;
                }
                Shortcut::Average(sum) => {
                    let (sums, counts) = self.sums[sum].states(group_count, &plan.state_types[1])?;
                    accumulator.merge_batch(&[Arc::new(counts), sums], &all, group_count)?;
                }
                Shortcut::Count(_) => {
                    counts.resize(group_count, 0);
                    let counts = Int64Array::from_iter_values(std::mem::take(counts).into_iter().map(|count| count as i64));
                    accumulator.merge_batch(&[Arc::new(counts)], &all, group_count)?;
                }
            }
            columns.extend(accumulator.state(EmitTo::All)?);
        }
        self.sums.iter_mut().for_each(|sums| *sums = GroupSums::default());
        self.reservation.free();
        let options = RecordBatchOptions::new().with_row_count(Some(group_count));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?))
    }

    fn poll_states(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        let started = Instant::now();
        while !self.finished {
            let Some(rows) = ready!(self.rows.poll_rows(context)) else {
                self.finished = true;
                return Poll::Ready(self.take().transpose());
            };
            let elapsed = self.metrics.elapsed_compute().clone();
            let _timer = elapsed.timer();
            self.add(&rows?)?;
            let has_room = match self.reserve() {
                Err(error) if self.groups.is_none() || !is_out_of_memory(&error) => return Poll::Ready(Some(Err(error))),
                reserved => reserved.is_ok(),
            };
            if !has_room || self.groups.is_some() && self.group_count() > GROUPS_MAX {
                return Poll::Ready(self.take().transpose());
            }
            if started.elapsed() >= POLL_MAX {
                return yield_now(context);
            }
        }
        Poll::Ready(None)
    }
}

/// The columns of a zone in declared types, each when it is first needed.
struct Decoded<'a> {
    rows: &'a StoredRows,
    columns: Vec<Option<ArrayRef>>,
}

impl Decoded<'_> {
    fn arguments(&mut self, plan: &FunctionPlan) -> Result<Vec<ArrayRef>> {
        let columns = plan.columns.iter().map(|column| match &self.columns[*column] {
            Some(decoded) => Ok(Arc::clone(decoded)),
            None => Ok(Arc::clone(self.columns[*column].insert(self.rows.decoded(*column)?))),
        });
        let columns = columns.collect::<Result<_>>()?;
        let rows = self.rows.row_count();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&plan.schema), columns, &options)?;
        let _evaluating = EvaluationGuard::begin();
        plan.arguments.iter().map(|argument| argument.evaluate(&batch)?.into_array(rows)).collect()
    }
}

impl Stream for StoreAggregateStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let states = ready!(self.poll_states(context));
        if states.as_ref().is_some_and(Result::is_err) {
            self.finished = true;
        }
        self.metrics.record_poll(Poll::Ready(states))
    }
}

impl RecordBatchStream for StoreAggregateStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

//! The operator: for each partition, the rows that can be among the first of their group.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{BatchCoalescer, filter_record_batch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{Stream, StreamExt};

use super::bounds::Bounds;
use super::keys::keys;
use crate::running_windows::RankKind;
use common::memory::{LiveMemory, limit_bytes};
use common::report::ReportCollector;
use semantics::cancel::yield_now;

/// The stream yields to other tasks after working this long.
const POLL_MAX: Duration = Duration::from_millis(10);
/// How often the operator looks whether it is worth its time, in rows.
const TRIAL_ROWS: usize = 1 << 19;
/// It gives up after so many trials in which it dropped fewer than one row in `DROPPED_OF`.
const TRIALS_MAX: usize = 2;
const DROPPED_OF: usize = 8;
/// Admitted rows of a partition that it holds, in bytes. Beyond it hands them on, also those that better ones may follow.
const ADMITTED_BYTES_MAX: usize = 64 << 20;
/// It holds one part in so many of the query's memory, and knows groups in another one.
const ADMITTED_ONE_OF: usize = 32;
const GROUPS_ONE_OF: usize = 8;

/// The groups, their order, and how many of their rows are wanted.
#[derive(Debug, Clone)]
pub struct RankLimit {
    pub kind: RankKind,
    /// Whether rows of a group with the same order key are equal in all of the window's keys.
    pub ties_are_equal: bool,
    pub k: usize,
    pub groups: Vec<Arc<dyn PhysicalExpr>>,
    /// The first sort key.
    pub order: PhysicalSortExpr,
}

#[derive(Debug)]
pub struct RankLimitExec {
    input: Arc<dyn ExecutionPlan>,
    limit: RankLimit,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl RankLimitExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, limit: RankLimit) -> RankLimitExec {
        let properties = Arc::new(PlanProperties::clone(input.properties()).with_emission_type(EmissionType::Final));
        RankLimitExec { input, limit, properties, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for RankLimitExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RankLimit { kind, k, groups, order, .. } = &self.limit;
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
                write!(f, "RankLimitExec: {} <= {k}, groups=[{}], order={order}", kind.name(), groups.join(", "))
            }
            DisplayFormatType::TreeRender => writeln!(f, "{} <= {k}", kind.name()),
        }
    }
}

impl ExecutionPlan for RankLimitExec {
    fn name(&self) -> &str {
        "RankLimitExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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

    fn apply_expressions(&self, f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        for expr in self.limit.groups.iter().chain([&self.limit.order.expr]) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (Some(input), true) = (children.pop(), children.is_empty()) else {
            return internal_err!("RankLimitExec has one input");
        };
        Ok(Arc::new(RankLimitExec::new(input, self.limit.clone())))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let batch_rows = context.session_config().batch_size();
        let partitions = self.properties.output_partitioning().partition_count();
        Ok(Box::pin(RankLimitStream {
            input,
            schema: self.schema(),
            selection: Some(Selection::new(self.limit.clone(), &self.schema(), partitions, &context)?),
            batch: None,
            state: StreamState::Looking,
            batch_rows,
            metrics: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Admitted rows, with the group and the key of each.
struct CandidateRows {
    batches: BatchCoalescer,
    full: VecDeque<RecordBatch>,
    groups: VecDeque<usize>,
    keys: VecDeque<u64>,
    memory: LiveMemory,
    batch_bytes: usize,
}

impl CandidateRows {
    fn new(schema: SchemaRef, batch_rows: usize) -> CandidateRows {
        CandidateRows {
            batches: BatchCoalescer::new(schema, batch_rows),
            full: VecDeque::new(),
            groups: VecDeque::new(),
            keys: VecDeque::new(),
            memory: LiveMemory::default(),
            batch_bytes: 0,
        }
    }

    fn push(
        &mut self,
        rows: RecordBatch,
        admitted: BooleanBuffer,
        groups: &[usize],
        keys: &[u64],
        collector: &ReportCollector,
    ) -> Result<()> {
        self.groups.extend(admitted.set_indices().map(|row| groups[row]));
        self.keys.extend(admitted.set_indices().map(|row| keys[row]));
        self.batches.push_batch_with_filter(rows, &BooleanArray::new(admitted, None))?;
        self.memory.look_at_all(collector);
        while let Some(batch) = self.batches.next_completed_batch() {
            self.batch_bytes += self.memory.take(&batch);
            self.full.push_back(batch);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.batches.finish_buffered_batch()?;
        self.full.extend(std::iter::from_fn(|| self.batches.next_completed_batch()));
        Ok(())
    }

    /// The first batch, with the groups and keys of its rows.
    fn pop(&mut self) -> Option<(RecordBatch, Vec<usize>, Vec<u64>)> {
        let batch = self.full.pop_front()?;
        let rows = batch.num_rows();
        Some((batch, self.groups.drain(..rows).collect(), self.keys.drain(..rows).collect()))
    }

    fn size_bytes(&self) -> usize {
        self.batch_bytes + self.groups.capacity() * size_of::<usize>() + self.keys.capacity() * size_of::<u64>()
    }
}

/// What is known of the rows so far, and those that were admitted.
struct Selection {
    limit: RankLimit,
    values: Box<dyn GroupValues>,
    bounds: Bounds,
    admitted: CandidateRows,
    /// Admitted rows are looked at again when they have this size.
    review_bytes: usize,
    admitted_bytes_max: usize,
    groups_bytes_max: usize,
    reservation: MemoryReservation,
    collector: Arc<ReportCollector>,
    batch_rows: usize,
    groups: Vec<usize>,
    keys: Vec<u64>,
    trial: Trial,
}

/// Counts rows, to find out whether dropping some pays.
#[derive(Default)]
struct Trial {
    rows: usize,
    admitted: usize,
    failed: usize,
}

impl Trial {
    fn is_worthless(&mut self, rows: usize, admitted: usize) -> bool {
        self.rows += rows;
        self.admitted += admitted;
        if self.rows >= TRIAL_ROWS {
            let has_dropped = (self.rows - self.admitted) * DROPPED_OF >= self.rows;
            *self = Trial { failed: if has_dropped { 0 } else { self.failed + 1 }, ..Trial::default() };
        }
        self.failed >= TRIALS_MAX
    }
}

impl Selection {
    fn new(limit: RankLimit, schema: &SchemaRef, partitions: usize, context: &TaskContext) -> Result<Selection> {
        let fields = limit.groups.iter().map(|expr| Ok(Field::new("group", expr.data_type(schema)?, true))).collect::<Result<Vec<_>>>()?;
        let limit_bytes = limit_bytes(context.memory_pool().as_ref()) / partitions.max(1);
        let admitted_bytes_max = ADMITTED_BYTES_MAX.min(limit_bytes / ADMITTED_ONE_OF);
        let batch_rows = context.session_config().batch_size();
        Ok(Selection {
            values: new_group_values(Arc::new(Schema::new(fields)), &GroupOrdering::None)?,
            bounds: Bounds::new(limit.kind, limit.ties_are_equal, limit.k),
            admitted: CandidateRows::new(Arc::clone(schema), batch_rows),
            review_bytes: admitted_bytes_max / 4,
            admitted_bytes_max,
            groups_bytes_max: limit_bytes / GROUPS_ONE_OF,
            reservation: MemoryConsumer::new("RankLimitExec").register(context.memory_pool()),
            collector: context.session_config().get_extension::<ReportCollector>().unwrap_or_default(),
            batch_rows,
            groups: Vec::new(),
            keys: Vec::new(),
            trial: Trial::default(),
            limit,
        })
    }

    /// Admits the rows that may be among the first. If the admitted rows are to be handed on: what comes after that.
    fn admit(&mut self, rows: RecordBatch) -> Result<Option<AfterHandOver>> {
        let column = |expr: &Arc<dyn PhysicalExpr>| -> Result<ArrayRef> { expr.evaluate(&rows)?.into_array(rows.num_rows()) };
        let columns = self.limit.groups.iter().map(column).collect::<Result<Vec<_>>>()?;
        self.values.intern(&columns, &mut self.groups)?;
        keys(&column(&self.limit.order.expr)?, self.limit.order.options, &mut self.keys)?;
        self.bounds.grow(self.values.len());
        let row_count = rows.num_rows();
        let admitted = BooleanBuffer::collect_bool(row_count, |row| self.bounds.admits(self.groups[row], self.keys[row]));
        let is_worthless = self.trial.is_worthless(row_count, admitted.count_set_bits());
        self.admitted.push(rows, admitted, &self.groups, &self.keys, &self.collector)?;
        let is_too_large = self.admitted.size_bytes() > self.review_bytes && self.review()? > self.admitted_bytes_max / 2;
        let groups_bytes = self.values.size() + self.bounds.size_bytes();
        let has_memory =
            groups_bytes <= self.groups_bytes_max && self.reservation.try_resize(groups_bytes + self.admitted.size_bytes()).is_ok();
        Ok(match has_memory && !is_worthless {
            false => Some(AfterHandOver::PassOn),
            true => is_too_large.then_some(AfterHandOver::Look),
        })
    }

    /// Drops admitted rows that better ones have followed. The size of those that stay, in bytes.
    fn review(&mut self) -> Result<usize> {
        let mut left = CandidateRows::new(self.admitted.batches.schema(), self.batch_rows);
        self.admitted.finish()?;
        while let Some((batch, groups, keys)) = self.admitted.pop() {
            let stays = self.still_admitted(&groups, &keys);
            left.push(batch, stays, &groups, &keys, &self.collector)?;
        }
        self.review_bytes = (2 * left.size_bytes()).clamp(self.admitted_bytes_max / 4, self.admitted_bytes_max);
        self.admitted = left;
        Ok(self.admitted.size_bytes())
    }

    /// The next admitted rows, after `finish`, without those that better ones have followed. `None` if there are no more.
    fn next_admitted(&mut self) -> Result<Option<RecordBatch>> {
        let Some((batch, groups, keys)) = self.admitted.pop() else {
            self.admitted = CandidateRows::new(self.admitted.batches.schema(), self.batch_rows);
            self.review_bytes = self.admitted_bytes_max / 4;
            return Ok(None);
        };
        let stays = BooleanArray::new(self.still_admitted(&groups, &keys), None);
        Ok(Some(filter_record_batch(&batch, &stays)?))
    }

    fn still_admitted(&self, groups: &[usize], keys: &[u64]) -> BooleanBuffer {
        BooleanBuffer::collect_bool(groups.len(), |row| self.bounds.still_admits(groups[row], keys[row]))
    }
}

struct RankLimitStream {
    input: SendableRecordBatchStream,
    schema: SchemaRef,
    /// `None` once all rows are passed on.
    selection: Option<Selection>,
    /// A batch, and how many of its rows were looked at.
    batch: Option<(RecordBatch, usize)>,
    state: StreamState,
    batch_rows: usize,
    metrics: BaselineMetrics,
}

enum StreamState {
    /// Looks at the rows that are read.
    Looking,
    /// Hands on the admitted rows.
    HandingOver(AfterHandOver),
    Over,
}

#[derive(Clone, Copy)]
enum AfterHandOver {
    Look,
    /// All rows are passed on: to drop some takes too much time or memory.
    PassOn,
    /// There are no more rows.
    End,
}

impl RankLimitStream {
    /// Looks at some rows of the batch.
    fn look(&mut self, batch: RecordBatch, start: usize) -> Result<()> {
        let Some(selection) = &mut self.selection else { return Ok(()) };
        let elapsed = self.metrics.elapsed_compute().clone();
        let _timer = elapsed.timer();
        let rows = batch.slice(start, self.batch_rows.min(batch.num_rows() - start));
        let end = start + rows.num_rows();
        self.batch = (end < batch.num_rows()).then_some((batch, end));
        match selection.admit(rows)? {
            Some(after) => self.hand_over(after),
            None => Ok(()),
        }
    }

    fn hand_over(&mut self, after: AfterHandOver) -> Result<()> {
        if let Some(selection) = &mut self.selection {
            selection.admitted.finish()?;
        }
        self.state = StreamState::HandingOver(after);
        Ok(())
    }

    /// The next admitted rows; `None` after the last ones.
    fn handed_over(&mut self, after: AfterHandOver) -> Result<Option<RecordBatch>> {
        let rows = self.selection.as_mut().map(Selection::next_admitted).transpose()?.flatten();
        if rows.is_none() {
            if !matches!(after, AfterHandOver::Look) {
                self.selection = None;
            }
            self.state = if matches!(after, AfterHandOver::End) { StreamState::Over } else { StreamState::Looking };
        }
        Ok(rows)
    }

    fn step(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        let started = Instant::now();
        while started.elapsed() < POLL_MAX {
            match self.state {
                StreamState::Over => return Poll::Ready(None),
                StreamState::HandingOver(after) => match self.handed_over(after)? {
                    Some(rows) if rows.num_rows() > 0 => return Poll::Ready(Some(Ok(rows))),
                    _ => {}
                },
                StreamState::Looking => match self.batch.take() {
                    Some((batch, start)) if self.selection.is_some() => self.look(batch, start)?,
                    Some((batch, start)) => return Poll::Ready(Some(Ok(batch.slice(start, batch.num_rows() - start)))),
                    None => match ready!(self.input.poll_next_unpin(context)).transpose()? {
                        Some(batch) if batch.num_rows() > 0 => self.batch = Some((batch, 0)),
                        Some(_) => {}
                        None => self.hand_over(AfterHandOver::End)?,
                    },
                },
            }
        }
        yield_now(context)
    }
}

impl Stream for RankLimitStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.step(context);
        if let Poll::Ready(Some(Err(_))) = polled {
            self.state = StreamState::Over;
            self.selection = None;
            self.batch = None;
        }
        self.metrics.record_poll(polled)
    }
}

impl RecordBatchStream for RankLimitStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

//! One partition: the groups of a batch are its runs of equal keys.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array, make_comparator};
use arrow::compute::{BatchCoalescer, concat, partition, take};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::{Stream, StreamExt};

use super::shared_groups::{Functions, PartOfGroup, SharedGroups, merged};

pub struct SortedGroupsStream {
    input: SendableRecordBatchStream,
    key: Arc<dyn PhysicalExpr>,
    functions: Functions,
    shared_keys: ArrayRef,
    /// The position of a key in `shared_keys`: the groups of those before it are handed on.
    next_shared: usize,
    shared: Arc<SharedGroups>,
    /// They have the groups that are not handed on yet: after a batch, its last one.
    accumulators: Vec<Box<dyn GroupsAccumulator>>,
    /// The key of the last group, as an array of one value.
    open_key: Option<ArrayRef>,
    group_of_row: Vec<usize>,
    results: BatchCoalescer,
    schema: SchemaRef,
    metrics: BaselineMetrics,
    has_ended: bool,
}

impl SortedGroupsStream {
    #[expect(clippy::too_many_arguments, reason = "the parts of one operator, named where it makes the stream")]
    pub fn new(
        input: SendableRecordBatchStream,
        key: Arc<dyn PhysicalExpr>,
        functions: Functions,
        shared_keys: ArrayRef,
        shared: Arc<SharedGroups>,
        schema: SchemaRef,
        batch_rows: usize,
        metrics: BaselineMetrics,
    ) -> Result<SortedGroupsStream> {
        Ok(SortedGroupsStream {
            input,
            key,
            accumulators: functions.accumulators()?,
            functions,
            shared_keys,
            next_shared: 0,
            shared,
            open_key: None,
            group_of_row: Vec::new(),
            results: BatchCoalescer::new(Arc::clone(&schema), batch_rows),
            schema,
            metrics,
            has_ended: false,
        })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let keys = self.key.evaluate(batch)?.into_array(rows)?;
        let runs = partition(&[Arc::clone(&keys)])?.ranges();
        let goes_on = match &self.open_key {
            Some(open) => make_comparator(open, &keys, Default::default())?(0, 0).is_eq(),
            None => false,
        };
        // The open group is the first one of the accumulators.
        let first = usize::from(self.open_key.is_some() && !goes_on);
        self.group_of_row.clear();
        for (run, range) in runs.iter().enumerate() {
            self.group_of_row.resize(range.end, first + run);
        }
        let groups = first + runs.len();
        for (function, accumulator) in self.functions.0.iter().zip(&mut self.accumulators) {
            let arguments = function.expressions();
            let arguments = arguments.iter().map(|argument| argument.evaluate(batch)?.into_array(rows)).collect::<Result<Vec<_>>>()?;
            accumulator.update_batch(&arguments, &self.group_of_row, None, groups)?;
        }
        let starts: UInt32Array = runs.iter().map(|range| range.start as u32).collect();
        let of_runs = take(&keys, &starts, None)?;
        let keys = match self.open_key.take().filter(|_| !goes_on) {
            Some(open) => concat(&[&open, &of_runs])?,
            None => of_runs,
        };
        self.emit(&keys.slice(0, groups - 1))?;
        // A copy, so that the batch is not kept for one value.
        self.open_key = Some(take(&keys, &UInt32Array::from(vec![groups as u32 - 1]), None)?);
        Ok(())
    }

    /// Hands on the first groups of the accumulators, which have these keys.
    fn emit(&mut self, keys: &ArrayRef) -> Result<()> {
        let compare = make_comparator(keys, &self.shared_keys, Default::default())?;
        let mut from = 0;
        while from < keys.len() {
            let is_last = self.next_shared == self.shared_keys.len();
            // The first key from there on that is not below the next shared one.
            let at = if is_last { keys.len() } else { first_from(from, keys.len(), |at| compare(at, self.next_shared).is_ge()) };
            if at > from {
                let groups = EmitTo::First(at - from);
                let results = self.accumulators.iter_mut().map(|accumulator| accumulator.evaluate(groups));
                let columns = std::iter::once(Ok(keys.slice(from, at - from))).chain(results).collect::<Result<Vec<_>>>()?;
                self.results.push_batch(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
            }
            from = at;
            if at == keys.len() {
                break;
            }
            if compare(at, self.next_shared).is_eq() {
                let states = self.accumulators.iter_mut().map(|accumulator| accumulator.state(EmitTo::First(1)));
                let states = states.collect::<Result<Vec<_>>>()?;
                self.shared.add(PartOfGroup { key: take(keys, &UInt32Array::from(vec![at as u32]), None)?, states });
                from += 1;
            } else {
                // None of its rows passed the filter here.
                self.next_shared += 1;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.has_ended = true;
        if let Some(open) = self.open_key.take() {
            self.emit(&open)?;
        }
        let parts = self.shared.end()?;
        if !parts.is_empty() {
            let columns = merged(&parts, &self.functions)?;
            self.results.push_batch(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        }
        Ok(self.results.finish_buffered_batch()?)
    }
}

/// The first position from which on `is_true` is true.
fn first_from(from: usize, end: usize, is_true: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut end) = (from, end);
    while from < end {
        let middle = from + (end - from) / 2;
        if is_true(middle) { end = middle } else { from = middle + 1 }
    }
    end
}

impl Stream for SortedGroupsStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let elapsed = this.metrics.elapsed_compute().clone();
        let next = loop {
            if let Some(batch) = this.results.next_completed_batch() {
                break Some(Ok(batch));
            }
            if this.has_ended {
                break None;
            }
            let done = match ready!(this.input.poll_next_unpin(context)) {
                Some(Ok(batch)) if batch.num_rows() == 0 => Ok(()),
                Some(Ok(batch)) => {
                    let _timer = elapsed.timer();
                    this.add(&batch)
                }
                Some(Err(error)) => Err(error),
                None => this.end(),
            };
            if let Err(error) = done {
                this.has_ended = true;
                break Some(Err(error));
            }
        };
        this.metrics.record_poll(Poll::Ready(next))
    }
}

impl RecordBatchStream for SortedGroupsStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

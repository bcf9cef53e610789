//! Sorted rows with the results of the functions.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::{Stream, StreamExt};

use super::aggregate::{RunningState, running_state};
use super::exec::RunningWindow;
use super::function::{FrameEnd, RunningFunction};
use super::rank_kind::RankKind;
use super::ranks::RankCounter;
use super::runs::{BatchRuns, RunFinder, Runs};
use common::memory::LiveMemory;
use common::report::ReportCollector;

pub struct RunningStream {
    input: SendableRecordBatchStream,
    schema: SchemaRef,
    window: Arc<RunningWindow>,
    finder: RunFinder,
    counter: RankCounter,
    /// For each function that is an aggregate.
    states: Vec<Option<Box<dyn RunningState>>>,
    /// Rows of the last run, some of whose results depend on rows to come, and these results so far.
    pending: Vec<Piece>,
    pending_results: Vec<Option<ArrayRef>>,
    /// Of the rows that wait, and of those that have been in `output`.
    memory: LiveMemory,
    /// Whether rows that waited do so no longer.
    is_flushed: bool,
    collector: Arc<ReportCollector>,
    reservation: MemoryReservation,
    output: VecDeque<RecordBatch>,
    finished: bool,
    metrics: BaselineMetrics,
}

/// Rows that follow each other.
struct Piece {
    input: RecordBatch,
    /// For each function: a result for each row; `None` if it depends on the run.
    results: Vec<Option<ArrayRef>>,
}

impl Piece {
    fn slice(&self, start: usize, rows: usize) -> Piece {
        let results = self.results.iter().map(|column| column.as_ref().map(|column| column.slice(start, rows)));
        Piece { input: self.input.slice(start, rows), results: results.collect() }
    }

    /// `of_runs`: for each function without results, one for each run. `runs`: the run of each row.
    fn finish(self, of_runs: &[Option<ArrayRef>], runs: &UInt32Array, schema: &SchemaRef) -> Result<RecordBatch> {
        let mut columns = self.input.columns().to_vec();
        for (results, of_runs) in self.results.into_iter().zip(of_runs) {
            columns.push(match (results, of_runs) {
                (Some(results), _) => results,
                (None, Some(of_runs)) => take(of_runs, runs, None)?,
                (None, None) => return datafusion::common::internal_err!("a function has no results"),
            });
        }
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}

impl RunningStream {
    pub fn new(
        input: SendableRecordBatchStream,
        schema: SchemaRef,
        window: Arc<RunningWindow>,
        context: &TaskContext,
        metrics: BaselineMetrics,
    ) -> Result<RunningStream> {
        let states = window.functions.iter().map(|function| match function {
            RunningFunction::Rank(_) => Ok(None),
            RunningFunction::Aggregate(aggregate) => running_state(aggregate).map(Some),
        });
        Ok(RunningStream {
            states: states.collect::<Result<_>>()?,
            input,
            schema,
            window,
            finder: RunFinder::default(),
            counter: RankCounter::default(),
            pending: Vec::new(),
            pending_results: Vec::new(),
            memory: LiveMemory::default(),
            is_flushed: false,
            collector: context.session_config().get_extension::<ReportCollector>().unwrap_or_default(),
            reservation: MemoryConsumer::new("rows of a window").register(context.memory_pool()),
            output: VecDeque::new(),
            finished: false,
            metrics,
        })
    }

    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let values = |exprs: &[Arc<dyn PhysicalExpr>]| -> Result<Vec<ArrayRef>> {
            exprs.iter().map(|expr| expr.evaluate(&batch)?.into_array(rows)).collect()
        };
        let (groups, order) = (values(&self.window.groups)?, values(&self.window.order)?);
        let needs_peers = self.window.functions.iter().any(RunningFunction::needs_peers);
        let batch_runs = self.finder.find(&groups, &order, rows, needs_peers)?;
        let runs = match self.window.end {
            FrameEnd::Row => None,
            FrameEnd::Peers => batch_runs.peers.as_ref(),
            FrameEnd::Group => Some(&batch_runs.groups),
        };
        let (results, of_runs) = self.results(&batch, &batch_runs, runs)?;
        let piece = Piece { input: batch, results };
        let Some(runs) = runs else {
            let no_runs = UInt32Array::from(Vec::<u32>::new());
            self.output.push_back(piece.finish(&of_runs, &no_runs, &self.schema)?);
            return Ok(());
        };
        let last = runs.ranges.len() - 1;
        let of_run = |run: usize| of_runs.iter().map(|results| results.as_ref().map(|results| results.slice(run, 1))).collect::<Vec<_>>();
        if runs.is_continued {
            self.pending_results = of_run(0);
        }
        if !runs.is_continued || last > 0 {
            self.flush()?;
            let start = runs.ranges[last].start;
            if start > 0 {
                let of_rows = runs.ranges[..last].iter().enumerate();
                let of_rows = of_rows.flat_map(|(run, range)| std::iter::repeat_n(run as u32, range.len()));
                let complete = piece.slice(0, start).finish(&of_runs, &UInt32Array::from_iter_values(of_rows), &self.schema)?;
                self.output.push_back(complete);
            }
            self.pending_results = of_run(last);
            self.hold(piece.slice(start, rows - start))
        } else {
            self.hold(piece)
        }
    }

    /// For each function either a result for each row, or one for each run.
    #[expect(clippy::type_complexity)]
    fn results(
        &mut self,
        batch: &RecordBatch,
        batch_runs: &BatchRuns,
        runs: Option<&Runs>,
    ) -> Result<(Vec<Option<ArrayRef>>, Vec<Option<ArrayRef>>)> {
        let rows = batch.num_rows();
        let functions = &self.window.functions;
        let kinds: Vec<RankKind> = functions
            .iter()
            .filter_map(|function| match function {
                RunningFunction::Rank(kind) => Some(*kind),
                RunningFunction::Aggregate(_) => None,
            })
            .collect();
        let mut ranks = self.counter.count(&kinds, batch_runs, rows).into_iter();
        let ends = runs.map(|runs| UInt32Array::from_iter_values(runs.ranges.iter().map(|range| range.end as u32 - 1)));
        let (mut of_rows, mut of_runs) = (Vec::new(), Vec::new());
        for (function, state) in functions.iter().zip(&mut self.states) {
            let (RunningFunction::Aggregate(aggregate), Some(state)) = (function, state) else {
                of_rows.push(ranks.next());
                of_runs.push(None);
                continue;
            };
            let arguments = aggregate.argument.evaluate(batch)?.into_array(rows)?;
            let added = state.add(&arguments, &batch_runs.groups)?;
            match ends.as_ref().filter(|_| aggregate.end != FrameEnd::Row) {
                Some(ends) => {
                    let counts = added.counts.map(|counts| take(&counts, ends, None)).transpose()?;
                    of_runs.push(Some(aggregate.results(take(&added.values, ends, None)?, counts)?));
                    of_rows.push(None);
                }
                None => {
                    of_rows.push(Some(aggregate.results(added.values, added.counts)?));
                    of_runs.push(None);
                }
            }
        }
        Ok((of_rows, of_runs))
    }

    fn hold(&mut self, piece: Piece) -> Result<()> {
        self.pending.push(piece);
        // Batches of a sort share the buffers of their texts.
        self.memory.look_at_all(&self.collector);
        let held = self.pending.last().map_or(0, |piece| self.memory.take(&piece.input));
        self.reservation.try_grow(held)
    }

    /// Frees the memory of rows that have been yielded.
    fn release(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_flushed) {
            return Ok(());
        }
        self.memory.forget();
        let held = self.pending.iter().map(|piece| self.memory.take(&piece.input)).sum();
        self.reservation.try_resize(held)
    }

    /// Yields the rows that wait: the results so far are complete.
    fn flush(&mut self) -> Result<()> {
        self.is_flushed = true;
        let results = std::mem::take(&mut self.pending_results);
        for piece in std::mem::take(&mut self.pending) {
            let first = UInt32Array::from_value(0, piece.input.num_rows());
            self.output.push_back(piece.finish(&results, &first, &self.schema)?);
        }
        Ok(())
    }

    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        loop {
            if let Some(batch) = self.output.pop_front() {
                return Poll::Ready(Some(Ok(batch)));
            }
            self.release()?;
            if self.finished {
                return Poll::Ready(None);
            }
            let next = ready!(self.input.poll_next_unpin(context));
            let elapsed = self.metrics.elapsed_compute().clone();
            let _timer = elapsed.timer();
            match next {
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(batch) => self.add(batch?)?,
                None => {
                    self.finished = true;
                    self.flush()?;
                }
            }
        }
    }
}

impl Stream for RunningStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let poll = self.poll_output(context);
        self.metrics.record_poll(poll)
    }
}

impl RecordBatchStream for RunningStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

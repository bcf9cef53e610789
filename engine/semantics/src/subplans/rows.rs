//! The rows of a subplan while the statement runs: they are made once, and each reader gets all of them.
//!
//! Tasks make them as fast as they can, since one reader may need the last of them before another one begins. Rows beyond a share of the
//! query's memory are spilled. What all readers have is dropped.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};
use std::sync::{Arc, Weak};

use arrow::array::{Array, AsArray, ByteView, MAX_INLINE_VIEW_LEN, RecordBatch};
use arrow::datatypes::DataType;
use common::memory::{COLUMN_BYTES, limit_bytes};
use datafusion::common::runtime::JoinSet;
use datafusion::common::{DataFusionError, Result, internal_datafusion_err, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::spill_file::SpillFile;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SpillManager};
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// One part in so many of the query's memory holds rows of all subplans together.
const MEMORY_ONE_OF: usize = 4;
/// A spill file has at least so many bytes of rows, except for the last one.
const FILE_BYTES: usize = 4 << 20;

/// Equal to itself alone.
pub struct SubplanRows {
    number: usize,
    input: Mutex<Option<Arc<dyn ExecutionPlan>>>,
    state: Mutex<State>,
    changed: Notify,
}

/// How far a reader is. Its streams share it, and it changes only under the lock of the rows' state.
#[derive(Debug, Default)]
pub struct Reader {
    position: AtomicUsize,
    /// Its streams that have not been dropped.
    streams: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Subplans of the plan.
    subplans: usize,
    /// Readers that have not ended.
    readers: usize,
    storage: Option<Storage>,
    /// Tasks that still make rows.
    producers: usize,
    tasks: JoinSet<()>,
    slots: VecDeque<Slot>,
    /// The position of the first slot.
    first: usize,
    error: Option<Arc<DataFusionError>>,
}

struct Slot {
    content: Content,
    size_bytes: usize,
    /// The readers that have yet to take it.
    unread: usize,
}

#[derive(Clone)]
enum Content {
    Batch(RecordBatch),
    File(Arc<dyn SpillFile>),
}

/// What the rows take.
struct Storage {
    reservation: MemoryReservation,
    memory_max: usize,
    /// From then on all rows are spilled: others need the memory.
    is_full: bool,
    spill: SpillManager,
    /// Rows of the next spill file, and their bytes.
    unwritten: Vec<RecordBatch>,
    unwritten_bytes: usize,
}

impl SubplanRows {
    pub fn new(number: usize) -> SubplanRows {
        SubplanRows { number, input: Mutex::default(), state: Mutex::default(), changed: Notify::new() }
    }

    /// Counts from 1 in a statement.
    pub fn number(&self) -> usize {
        self.number
    }

    pub fn set_input(&self, input: &Arc<dyn ExecutionPlan>) {
        *self.input.lock() = Some(Arc::clone(input));
    }

    pub fn input(&self) -> Option<Arc<dyn ExecutionPlan>> {
        self.input.lock().clone()
    }

    /// All subplans share the memory for such rows.
    pub fn set_subplans(&self, subplans: usize) {
        self.state.lock().subplans = subplans;
    }

    /// All readers must be known before the first one reads.
    pub fn add_reader(&self, reader: &Reader, streams: usize) {
        self.state.lock().readers += 1;
        reader.streams.store(streams, AtomicOrdering::Relaxed);
    }

    /// A stream of a reader: with the others of the reader it gets all rows.
    pub fn read(self: Arc<Self>, reader: Arc<Reader>, context: Arc<TaskContext>, metrics: SpillMetrics) -> Result<SubplanStream> {
        let input = self.input().ok_or_else(|| internal_datafusion_err!("subplan {} has no input", self.number))?;
        let spill = SpillManager::new(context.runtime_env(), metrics, input.schema())
            .with_compression_type(context.session_config().spill_compression());
        Ok(SubplanStream { rows: self, input, reader, context, spill, file: None })
    }

    fn take(self: &Arc<Self>, stream: &SubplanStream) -> Result<Next> {
        let mut state = self.state.lock();
        if state.storage.is_none() {
            self.start(&mut state, stream);
        }
        if let Some(error) = &state.error {
            return Err(DataFusionError::Shared(Arc::clone(error)));
        }
        let position = stream.reader.position.load(AtomicOrdering::Relaxed);
        let Some(index) = position.checked_sub(state.first) else {
            return internal_err!("a reader of subplan {} reads on after its end", self.number);
        };
        let Some(slot) = state.slots.get_mut(index) else {
            return Ok(if state.producers == 0 { Next::End } else { Next::Wait });
        };
        let content = slot.content.clone();
        slot.unread -= 1;
        stream.reader.position.store(position + 1, AtomicOrdering::Relaxed);
        state.drop_read();
        Ok(Next::Content(content))
    }

    fn start(self: &Arc<Self>, state: &mut State, stream: &SubplanStream) {
        let SubplanStream { input, context, spill, .. } = stream;
        let pool = context.memory_pool();
        state.storage = Some(Storage {
            reservation: MemoryConsumer::new(format!("Subplan[{}]", self.number)).with_can_spill(true).register(pool),
            memory_max: limit_bytes(pool.as_ref()) / MEMORY_ONE_OF / state.subplans.max(1),
            is_full: false,
            spill: spill.clone(),
            unwritten: Vec::new(),
            unwritten_bytes: 0,
        });
        let partitions = 0..input.output_partitioning().partition_count();
        let inputs = partitions.map(|partition| input.execute(partition, Arc::clone(context))).collect::<Result<Vec<_>>>();
        // Other streams must not wait for rows that nobody makes.
        let inputs = match inputs {
            Ok(inputs) => inputs,
            // `take` gives it to all streams.
            Err(error) => {
                state.error = Some(Arc::new(error));
                return;
            }
        };
        for mut batches in inputs {
            state.producers += 1;
            let mut producer = Producer { rows: Arc::downgrade(self), is_done: false };
            state.tasks.spawn(async move {
                while let Some(batch) = batches.next().await {
                    if !producer.push(batch) {
                        return;
                    }
                }
                producer.set_done();
            });
        }
    }
}

impl State {
    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let Some(storage) = &mut self.storage else { return Ok(()) };
        if let Some((content, size_bytes)) = storage.add(batch)? {
            self.slots.push_back(Slot { content, size_bytes, unread: self.readers });
        }
        Ok(())
    }

    fn end_producer(&mut self) -> Result<()> {
        // All streams may be gone, and with them the state that counted this one.
        self.producers = self.producers.saturating_sub(1);
        let last = self.storage.as_mut().filter(|_| self.producers == 0).map(Storage::write).transpose()?.flatten();
        if let Some(content) = last {
            self.slots.push_back(Slot { content, size_bytes: 0, unread: self.readers });
        }
        Ok(())
    }

    /// Returns everything when the last reader ends.
    fn end_stream(&mut self, reader: &Reader) -> Option<State> {
        let left = reader.streams.load(AtomicOrdering::Relaxed).saturating_sub(1);
        reader.streams.store(left, AtomicOrdering::Relaxed);
        if left > 0 {
            return None;
        }
        self.readers = self.readers.saturating_sub(1);
        if self.readers == 0 {
            return Some(std::mem::take(self));
        }
        // It may have ended before it had all rows.
        let taken = reader.position.load(AtomicOrdering::Relaxed).saturating_sub(self.first);
        self.slots.iter_mut().skip(taken).for_each(|slot| slot.unread -= 1);
        self.drop_read();
        None
    }

    /// Drops what all readers have.
    fn drop_read(&mut self) {
        while let Some(slot) = self.slots.pop_front_if(|slot| slot.unread == 0) {
            self.first += 1;
            if let Some(storage) = &mut self.storage {
                storage.reservation.shrink(slot.size_bytes);
            }
        }
    }
}

impl Storage {
    /// Holds the batch, or spills it. Returns what readers can read then, and its bytes in memory.
    fn add(&mut self, batch: RecordBatch) -> Result<Option<(Content, usize)>> {
        let size_bytes = slice_bytes(&batch)?;
        let has_room = !self.is_full && self.reservation.size() + size_bytes <= self.memory_max;
        if has_room && self.reservation.try_grow(size_bytes).is_ok() {
            return Ok(Some((Content::Batch(batch), size_bytes)));
        }
        self.is_full = true;
        self.unwritten.push(batch);
        self.unwritten_bytes += size_bytes;
        let content = if self.unwritten_bytes < FILE_BYTES { None } else { self.write()? };
        Ok(content.map(|content| (content, 0)))
    }

    /// A spill file of the rows that are in none, if there are any.
    fn write(&mut self) -> Result<Option<Content>> {
        let batches = std::mem::take(&mut self.unwritten);
        self.unwritten_bytes = 0;
        if batches.is_empty() {
            return Ok(None);
        }
        let file = self.spill.spill_record_batch_and_finish(&batches, "rows of a common subplan")?;
        Ok(file.map(Content::File))
    }
}

/// What a copy of the rows would take. Several batches may be slices of one allocation.
fn slice_bytes(batch: &RecordBatch) -> Result<usize> {
    let columns = batch.columns().iter().map(|column| {
        let texts: u64 = match column.data_type() {
            DataType::Utf8View => view_bytes(column.as_string_view().views()),
            DataType::BinaryView => view_bytes(column.as_binary_view().views()),
            _ => 0,
        };
        Ok(COLUMN_BYTES + column.to_data().get_slice_memory_size()? + texts as usize)
    });
    columns.sum()
}

/// The bytes that a view does not hold itself.
fn view_bytes(views: &[u128]) -> u64 {
    views.iter().map(|view| u64::from(ByteView::from(*view).length)).filter(|length| *length > u64::from(MAX_INLINE_VIEW_LEN)).sum()
}

/// A task that makes rows. The rows hold the task.
struct Producer {
    rows: Weak<SubplanRows>,
    is_done: bool,
}

impl Producer {
    /// Returns whether to go on.
    fn push(&mut self, batch: Result<RecordBatch>) -> bool {
        let Some(rows) = self.rows.upgrade() else { return false };
        let mut state = rows.state.lock();
        let result = batch.and_then(|batch| if batch.num_rows() > 0 { state.push(batch) } else { Ok(()) });
        if let Err(error) = result {
            state.error.get_or_insert_with(|| Arc::new(error));
        }
        rows.changed.notify_waiters();
        state.error.is_none()
    }

    fn set_done(&mut self) {
        self.is_done = true;
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        let Some(rows) = self.rows.upgrade() else { return };
        let mut state = rows.state.lock();
        let ended = state.end_producer();
        if let Err(error) = ended {
            state.error.get_or_insert_with(|| Arc::new(error));
        }
        if !self.is_done {
            // It panicked, or the readers are gone.
            state.error.get_or_insert_with(|| Arc::new(internal_datafusion_err!("a task of a common subplan stopped")));
        }
        rows.changed.notify_waiters();
    }
}

enum Next {
    Content(Content),
    /// More will come.
    Wait,
    End,
}

/// One of the streams of a reader.
pub struct SubplanStream {
    rows: Arc<SubplanRows>,
    input: Arc<dyn ExecutionPlan>,
    reader: Arc<Reader>,
    context: Arc<TaskContext>,
    spill: SpillManager,
    /// The file that is being read.
    file: Option<SendableRecordBatchStream>,
}

impl SubplanStream {
    /// The next batch, or `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(file) = &mut self.file {
                if let Some(batch) = file.try_next().await? {
                    return Ok(Some(batch));
                }
                self.file = None;
            }
            let rows = Arc::clone(&self.rows);
            // It is made before the state is read, so that no change in between is missed.
            let changed = rows.changed.notified();
            match rows.take(self)? {
                Next::Content(Content::Batch(batch)) => return Ok(Some(batch)),
                Next::Content(Content::File(file)) => self.file = Some(self.spill.read_spill_as_stream(file, None)?),
                Next::Wait => changed.await,
                Next::End => return Ok(None),
            }
        }
    }
}

impl Drop for SubplanStream {
    fn drop(&mut self) {
        let last = self.rows.state.lock().end_stream(&self.reader);
        // Not under the lock, which the tasks take when they stop.
        drop(last);
    }
}

impl PartialEq for SubplanRows {
    fn eq(&self, other: &SubplanRows) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SubplanRows {}

impl Hash for SubplanRows {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self, state);
    }
}

impl PartialOrd for SubplanRows {
    fn partial_cmp(&self, other: &SubplanRows) -> Option<Ordering> {
        if self == other { Some(Ordering::Equal) } else { self.number.partial_cmp(&other.number).filter(|order| order.is_ne()) }
    }
}

impl fmt::Debug for SubplanRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubplanRows").field("number", &self.number).finish_non_exhaustive()
    }
}

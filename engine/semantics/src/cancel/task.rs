//! A stream that runs on a task of its own and starts at the first poll.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use futures::{FutureExt, Stream, StreamExt};
use tokio::sync::mpsc;

use super::expression::ReaderHandle;

type Start = Box<dyn FnOnce() -> Result<SendableRecordBatchStream> + Send>;

/// `start` is called at the first poll of the result, because operators start working when their streams are made. Dropping the result
/// stops the task.
pub fn on_a_task(
    schema: SchemaRef,
    start: impl FnOnce() -> Result<SendableRecordBatchStream> + Send + 'static,
) -> SendableRecordBatchStream {
    Box::pin(TaskStream { _reader: None, schema, state: TaskState::Waiting(Box::new(start)) })
}

/// As `on_a_task`, for a plan that stops when `reader` is dropped: the result holds the reader.
pub fn on_a_task_of(
    reader: ReaderHandle,
    schema: SchemaRef,
    start: impl FnOnce() -> Result<SendableRecordBatchStream> + Send + 'static,
) -> SendableRecordBatchStream {
    Box::pin(TaskStream { _reader: Some(reader), schema, state: TaskState::Waiting(Box::new(start)) })
}

struct TaskStream {
    /// Only held: the expressions stop when it is dropped.
    _reader: Option<ReaderHandle>,
    schema: SchemaRef,
    state: TaskState,
}

enum TaskState {
    Waiting(Start),
    Running(RunningTask),
    Ended,
}

/// The task makes a batch only on request. Batches made ahead would take memory, and would show zeros instead of rows if the file of a
/// segment is truncated meanwhile.
struct RunningTask {
    asking: mpsc::Sender<()>,
    is_asked: bool,
    batches: mpsc::Receiver<Result<RecordBatch>>,
    task: SpawnedTask<()>,
}

impl RunningTask {
    fn start(start: Start) -> RunningTask {
        let (asking, asked) = mpsc::channel(1);
        let (sender, batches) = mpsc::channel(1);
        RunningTask { asking, is_asked: false, batches, task: SpawnedTask::spawn(run(start, asked, sender)) }
    }

    /// `None` once the task has ended. A panic of the task is an error.
    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        if !self.is_asked {
            // Fails if the task has ended, which is seen below.
            self.is_asked = self.asking.try_send(()).is_ok();
        }
        if let Some(batch) = ready!(self.batches.poll_recv(context)) {
            self.is_asked = false;
            return Poll::Ready(Some(batch));
        }
        let ended = ready!(self.task.poll_unpin(context));
        Poll::Ready(ended.err().map(|error| stopped(error.to_string())))
    }
}

async fn run(start: Start, mut asked: mpsc::Receiver<()>, batches: mpsc::Sender<Result<RecordBatch>>) {
    if asked.recv().await.is_none() {
        return;
    }
    let mut stream = match start() {
        Ok(stream) => stream,
        Err(error) => {
            let _ = batches.send(Err(error)).await;
            return;
        }
    };
    while let Some(batch) = stream.next().await {
        let is_last = batch.is_err();
        if batches.send(batch).await.is_err() || is_last || asked.recv().await.is_none() {
            return;
        }
    }
}

fn stopped(error: String) -> Result<RecordBatch, DataFusionError> {
    exec_err!("the query stopped unexpectedly ({error}); please report it")
}

impl Stream for TaskStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if matches!(self.state, TaskState::Waiting(_))
            && let TaskState::Waiting(start) = std::mem::replace(&mut self.state, TaskState::Ended)
        {
            self.state = TaskState::Running(RunningTask::start(start));
        }
        let TaskState::Running(running) = &mut self.state else { return Poll::Ready(None) };
        let batch = ready!(running.poll_batch(context));
        if !matches!(batch, Some(Ok(_))) {
            self.state = TaskState::Ended;
        }
        Poll::Ready(batch)
    }
}

impl RecordBatchStream for TaskStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

//! A stream that runs on a task of its own, begun when it is first polled.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use futures::{FutureExt, Stream, StreamExt};
use tokio::sync::mpsc;

/// Batches made ahead of who takes them.
const BATCHES_AHEAD: usize = 2;

/// Dropping the result stops the task and sets `cancelled`.
pub fn on_a_task(stream: SendableRecordBatchStream, cancelled: Arc<AtomicBool>) -> SendableRecordBatchStream {
    Box::pin(TaskStream { schema: stream.schema(), state: State::Waiting(stream), cancelled })
}

struct TaskStream {
    schema: SchemaRef,
    state: State,
    cancelled: Arc<AtomicBool>,
}

enum State {
    Waiting(SendableRecordBatchStream),
    Running { batches: mpsc::Receiver<Result<RecordBatch>>, task: SpawnedTask<()> },
    Ended,
}

async fn pump(mut stream: SendableRecordBatchStream, batches: mpsc::Sender<Result<RecordBatch>>) {
    while let Some(batch) = stream.next().await {
        let is_last = batch.is_err();
        if batches.send(batch).await.is_err() || is_last {
            return;
        }
    }
}

impl Stream for TaskStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match &mut self.state {
                State::Ended => return Poll::Ready(None),
                State::Waiting(_) => {
                    if let State::Waiting(stream) = std::mem::replace(&mut self.state, State::Ended) {
                        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
                        let task = SpawnedTask::spawn(pump(stream, sender));
                        self.state = State::Running { batches, task };
                    }
                }
                State::Running { batches, task } => {
                    if let Some(batch) = ready!(batches.poll_recv(context)) {
                        return Poll::Ready(Some(batch));
                    }
                    // The end, or a panic that took the sender with it.
                    let ended = ready!(task.poll_unpin(context));
                    self.state = State::Ended;
                    return Poll::Ready(ended.err().map(|error| panicked(error.to_string())));
                }
            }
        }
    }
}

fn panicked(error: String) -> Result<RecordBatch, DataFusionError> {
    exec_err!("the query stopped unexpectedly ({error}); please report it")
}

impl RecordBatchStream for TaskStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for TaskStream {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

//! Results are encoded on the threads of statements and sent on those of connections, so that encoding and sending overlap.
//!
//! If much is unread, nothing is encoded ahead: the messages themselves wait for room in the send budget.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::{Stream, StreamExt};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{JoinError, JoinSet};
use tonic::Status;

use crate::executors::{ExecutorLease, InCallContext};

/// The limit for messages that wait to be sent, including those that are being encoded.
const AHEAD_MAX: usize = 4;
/// The number of messages per turn: each turn wakes the other thread, which costs about as much as encoding a message.
const MADE_AT_ONCE: usize = 2;

pub type ResultStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The same messages, produced on the executor once they are polled. Dropping the stream soon drops its source.
pub fn prefetch<T: Send + 'static>(messages: ResultStream<T>, executor: ExecutorLease) -> ResultStream<T> {
    Box::pin(PrefetchState::Waiting(Some((messages, executor))))
}

enum PrefetchState<T> {
    Waiting(Option<(ResultStream<T>, ExecutorLease)>),
    /// A set of one task, because dropping the set aborts the task.
    Making {
        receiver: Receiver<Result<T, Status>>,
        task: JoinSet<()>,
    },
}

impl<T: Send + 'static> Stream for PrefetchState<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let PrefetchState::Waiting(waiting) = &mut *self
            && let Some((messages, executor)) = waiting.take()
        {
            *self = making(messages, executor);
        }
        let PrefetchState::Making { receiver, task } = &mut *self else { return Poll::Ready(None) };
        if let Some(message) = ready!(receiver.poll_recv(context)) {
            return Poll::Ready(Some(message));
        }
        // A task that panicked has not produced all messages.
        let ended = ready!(task.poll_join_next(context));
        Poll::Ready(ended.and_then(Result::err).map(|error| Err(broken_down(&error))))
    }
}

fn making<T: Send + 'static>(messages: ResultStream<T>, executor: ExecutorLease) -> PrefetchState<T> {
    let (sender, receiver) = channel(AHEAD_MAX);
    let mut messages = InCallContext::new(messages);
    let mut task = JoinSet::new();
    executor.spawn(&mut task, async move {
        while let Ok(room) = sender.reserve_many(MADE_AT_ONCE).await {
            for place in room {
                match messages.next().await {
                    Some(Ok(message)) => place.send(Ok(message)),
                    Some(Err(status)) => {
                        // The query is dropped before its end is visible, so that the caller sees its effects.
                        drop(messages);
                        place.send(Err(status));
                        return;
                    }
                    None => return,
                }
            }
        }
    });
    PrefetchState::Making { receiver, task }
}

fn broken_down(error: &JoinError) -> Status {
    tracing::error!("making the rest of a result broke down: {error}");
    Status::internal("the rest of the result could not be made: the server broke down over it; please report it")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use bytes::Bytes;

    use super::*;
    use crate::executors::Executors;
    use crate::stream::message::Message;
    use crate::stream::outgoing::FlightStream;

    const MANY: usize = 2 * AHEAD_MAX;

    /// A message that its number identifies.
    fn message(number: usize) -> Message {
        Message::default().with_metadata(Bytes::from(number.to_string()))
    }

    fn wire(message: Message) -> Vec<Bytes> {
        message.into_wire(true).unwrap().into()
    }

    /// A stream of `count` messages, followed by `end`.
    fn messages(count: usize, end: impl Stream<Item = Result<Message, Status>> + Send + 'static) -> FlightStream {
        Box::pin(futures::stream::iter((0..count).map(|number| Ok(message(number)))).chain(end))
    }

    /// The number of received messages, which must be in order, and the final result.
    async fn read(messages: FlightStream) -> (usize, Option<Status>) {
        let executors = Executors::new(1);
        let (mut count, mut messages) = (0, prefetch(messages, executors.lease()));
        while let Some(read) = messages.next().await {
            match read {
                Ok(read) => assert_eq!(wire(read), wire(message(count))),
                Err(status) => return (count, Some(status)),
            }
            count += 1;
        }
        (count, None)
    }

    #[tokio::test]
    async fn results_of_any_length_arrive_complete_and_in_order() {
        for count in [0, 1, MANY - 1, MANY, 100] {
            let (read, failed) = read(messages(count, futures::stream::empty())).await;
            assert!(read == count && failed.is_none(), "{read} of {count}");
        }
    }

    #[tokio::test]
    async fn an_error_arrives_after_the_messages_before_it() {
        for count in [3, MANY, 30] {
            let (read, failed) = read(messages(count, futures::stream::iter([Err(Status::data_loss("gone"))]))).await;
            assert_eq!((read, failed.unwrap().message()), (count, "gone"));
        }
    }

    #[tokio::test]
    async fn a_panic_on_the_other_thread_does_not_look_like_the_end() {
        let (read, failed) = read(messages(30, futures::stream::poll_fn(|_| panic!("a bug")))).await;
        assert_eq!((read, failed.unwrap().code()), (30, tonic::Code::Internal));
    }

    #[tokio::test]
    async fn messages_are_dropped_with_their_reader() {
        let guard = Arc::new(());
        let of_stream = Arc::clone(&guard);
        let endless = futures::stream::repeat_with(move || {
            let _guard = &of_stream;
            Ok(Message::default())
        });
        let executors = Executors::new(1);
        let mut read = prefetch(messages(30, endless), executors.lease());
        for _ in 0..40 {
            read.next().await.unwrap().unwrap();
        }
        drop(read);
        let release = async {
            while Arc::strong_count(&guard) > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), release).await.expect("the messages are dropped with their reader");
    }
}

//! Results are made on the threads of statements, and sent on those of connections: the next message is made while one is being sent.
//!
//! Where much is unread nothing is made ahead, see `unsent`: the messages themselves wait for room.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::{Stream, StreamExt};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{JoinError, JoinSet};
use tonic::Status;

use crate::executors::{ExecutorLease, InCallContext};

/// Messages that wait for the one that is sent, those in the making among them.
const AHEAD_MAX: usize = 4;
/// So many are made at a turn: each turn wakes the other thread, which costs about as much as to make a message.
const MADE_AT_ONCE: usize = 2;

pub type Made<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The same messages, made on the executor once they are asked for. Once they are dropped, so are those that they are made of: soon.
pub fn prefetch<T: Send + 'static>(messages: Made<T>, executor: ExecutorLease) -> Made<T> {
    Box::pin(PrefetchState::Waiting(Some((messages, executor))))
}

enum PrefetchState<T> {
    Waiting(Option<(Made<T>, ExecutorLease)>),
    /// The task is the only one of its set, which ends it when it is dropped.
    Making {
        made: Receiver<Result<T, Status>>,
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
        let PrefetchState::Making { made, task } = &mut *self else { return Poll::Ready(None) };
        if let Some(message) = ready!(made.poll_recv(context)) {
            return Poll::Ready(Some(message));
        }
        // A task that broke down has not made all there is.
        let ended = ready!(task.poll_join_next(context));
        Poll::Ready(ended.and_then(Result::err).map(|error| Err(broken_down(&error))))
    }
}

fn making<T: Send + 'static>(messages: Made<T>, executor: ExecutorLease) -> PrefetchState<T> {
    let (sender, made) = channel(AHEAD_MAX);
    let mut messages = InCallContext::new(messages);
    let mut task = JoinSet::new();
    executor.spawn(&mut task, async move {
        while let Ok(room) = sender.reserve_many(MADE_AT_ONCE).await {
            for place in room {
                match messages.next().await {
                    Some(Ok(message)) => place.send(Ok(message)),
                    Some(Err(status)) => {
                        // Whoever sees the end may ask what the query has left.
                        drop(messages);
                        place.send(Err(status));
                        return;
                    }
                    None => return,
                }
            }
        }
    });
    PrefetchState::Making { made, task }
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

    /// A message that is told apart by its number.
    fn message(number: usize) -> Message {
        Message::default().with_metadata(Bytes::from(number.to_string()))
    }

    fn wire(message: Message) -> Vec<Bytes> {
        message.into_wire(true).unwrap().into()
    }

    /// So many messages, and then what `end` yields.
    fn messages(count: usize, end: impl Stream<Item = Result<Message, Status>> + Send + 'static) -> FlightStream {
        Box::pin(futures::stream::iter((0..count).map(|number| Ok(message(number)))).chain(end))
    }

    /// How many messages came, which are the first ones in order, and what it ended with.
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
    async fn results_of_any_length_come_whole_and_in_order() {
        for count in [0, 1, MANY - 1, MANY, 100] {
            let (read, failed) = read(messages(count, futures::stream::empty())).await;
            assert!(read == count && failed.is_none(), "{read} of {count}");
        }
    }

    #[tokio::test]
    async fn what_fails_is_said_behind_the_messages_before_it() {
        for count in [3, MANY, 30] {
            let (read, failed) = read(messages(count, futures::stream::iter([Err(Status::data_loss("gone"))]))).await;
            assert_eq!((read, failed.unwrap().message()), (count, "gone"));
        }
    }

    #[tokio::test]
    async fn what_breaks_down_on_the_other_thread_is_no_end() {
        let (read, failed) = read(messages(30, futures::stream::poll_fn(|_| panic!("a bug")))).await;
        assert_eq!((read, failed.unwrap().code()), (30, tonic::Code::Internal));
    }

    #[tokio::test]
    async fn no_more_is_made_once_nobody_reads() {
        let held = Arc::new(());
        let of_stream = Arc::clone(&held);
        let endless = futures::stream::repeat_with(move || {
            let _held = &of_stream;
            Ok(Message::default())
        });
        let executors = Executors::new(1);
        let mut read = prefetch(messages(30, endless), executors.lease());
        for _ in 0..40 {
            read.next().await.unwrap().unwrap();
        }
        drop(read);
        let gone = async {
            while Arc::strong_count(&held) > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), gone).await.expect("the messages are dropped with their reader");
    }
}

//! A large result is made on another thread: the next message while one is being sent.
//!
//! Where much is unread nothing is made ahead, see `unsent`: the messages themselves wait for room.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::{Stream, StreamExt};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{JoinError, JoinSet};
use tonic::Status;

use super::message::Message;
use super::outgoing::FlightStream;
use crate::monitor::OfCall;

/// Messages of a result that are made where they are sent: one of a few is not worth another thread.
const MADE_HERE: usize = 8;
/// Messages that wait for the one that is sent, those in the making among them.
const AHEAD_MAX: usize = 4;
/// So many are made at a turn: each turn wakes the other thread, which costs about as much as to make a message.
const MADE_AT_ONCE: usize = 2;

/// The same messages. Once they are dropped, so are those that they are made of: soon, where another thread makes them.
pub fn ahead(messages: FlightStream) -> FlightStream {
    Box::pin(Ahead::Here { messages, made: 0 })
}

enum Ahead {
    Here { messages: FlightStream, made: usize },
    /// The task is the only one of its set, which ends it when it is dropped.
    Beside { made: Receiver<Result<Message, Status>>, task: JoinSet<()> },
}

impl Stream for Ahead {
    type Item = Result<Message, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Ahead::Here { messages, made } = &mut *self {
            if *made < MADE_HERE {
                let polled = messages.poll_next_unpin(context);
                *made += usize::from(polled.is_ready());
                return polled;
            }
            let messages = std::mem::replace(messages, Box::pin(futures::stream::empty()));
            *self = beside(messages);
        }
        let Ahead::Beside { made, task } = &mut *self else { return Poll::Ready(None) };
        if let Some(message) = ready!(made.poll_recv(context)) {
            return Poll::Ready(Some(message));
        }
        // A task that broke down has not made all there is.
        let ended = ready!(task.poll_join_next(context));
        Poll::Ready(ended.and_then(Result::err).map(|error| Err(broken_down(&error))))
    }
}

fn beside(messages: FlightStream) -> Ahead {
    let (sender, made) = channel(AHEAD_MAX);
    let mut messages = WithinCall { messages: Some(messages), call: OfCall::current() };
    let mut task = JoinSet::new();
    task.spawn(async move {
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
    Ahead::Beside { made, task }
}

/// Made and dropped as parts of the call, whichever thread does it.
struct WithinCall {
    messages: Option<FlightStream>,
    call: OfCall,
}

impl Stream for WithinCall {
    type Item = Result<Message, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let WithinCall { messages, call } = &mut *self;
        let Some(messages) = messages else { return Poll::Ready(None) };
        call.within(|| messages.poll_next_unpin(context))
    }
}

impl Drop for WithinCall {
    fn drop(&mut self) {
        let messages = self.messages.take();
        self.call.within(|| drop(messages));
    }
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
        let (mut count, mut messages) = (0, ahead(messages));
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
        for count in [0, 1, MADE_HERE - 1, MADE_HERE, MADE_HERE + 1, 100] {
            let (read, failed) = read(messages(count, futures::stream::empty())).await;
            assert!(read == count && failed.is_none(), "{read} of {count}");
        }
    }

    #[tokio::test]
    async fn messages_that_are_waited_for_are_few_as_well() {
        let mut was_moved = false;
        let slow = messages(MADE_HERE, futures::stream::empty()).then(|message| async {
            tokio::task::yield_now().await;
            message
        });
        let mut slow = Ahead::Here { messages: Box::pin(slow), made: 0 };
        for _ in 0..MADE_HERE {
            slow.next().await.unwrap().unwrap();
            was_moved |= matches!(slow, Ahead::Beside { .. });
        }
        assert!(!was_moved, "they were made on another thread");
    }

    #[tokio::test]
    async fn what_fails_is_said_behind_the_messages_before_it() {
        for count in [3, MADE_HERE, 30] {
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
        let mut read = ahead(messages(30, endless));
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

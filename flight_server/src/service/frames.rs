//! The bytes of a result on their way into the response: of a small one made as they are asked for, of a large one on another thread,
//! the next message while one is being sent.

use std::collections::VecDeque;
use std::convert::Infallible;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use hyper::body::Frame;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{JoinError, JoinSet};
use tonic::Status;
use tonic::codegen::http::{HeaderMap, HeaderValue};

use crate::error::told;
use crate::stream::FlightStream;

/// Messages of a result that are made where they are sent: one of a few is not worth another thread.
const MADE_HERE: usize = 8;
/// Messages that wait for the one that is sent, beside one in the making. Where much is unread there are none, see `unsent`.
const AHEAD_MAX: usize = 1;

/// What goes to the socket for a message.
type Wire = Result<VecDeque<Bytes>, Status>;

/// The bytes of the messages, and how it ended. The stream of messages is dropped before that is said.
pub fn frames(messages: FlightStream, in_place: bool) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
    let begun = (Some(Making::Here { messages, made: 0 }), VecDeque::<Bytes>::new());
    futures::stream::unfold(begun, move |(mut making, mut left)| async move {
        loop {
            if let Some(piece) = left.pop_front() {
                return Some((Ok(Frame::data(piece)), (making, left)));
            }
            match making.as_mut()?.next(in_place).await {
                Some(Ok(wire)) => left = wire,
                Some(Err(status)) => {
                    drop(making);
                    return Some((Ok(trailers(&status)), (None, left)));
                }
                None => {
                    drop(making);
                    return Some((Ok(trailers(&Status::ok(""))), (None, left)));
                }
            }
        }
    })
}

enum Making {
    Here { messages: FlightStream, made: usize },
    Beside(Beside),
}

/// The task, which is the only one of its set, ends when this is dropped.
struct Beside {
    made: Receiver<Wire>,
    task: JoinSet<()>,
}

impl Making {
    async fn next(&mut self, in_place: bool) -> Option<Wire> {
        if let Making::Here { messages, made } = self {
            if *made < MADE_HERE {
                *made += 1;
                return next(messages, in_place).await;
            }
            let messages = std::mem::replace(messages, Box::pin(futures::stream::empty()));
            *self = Making::Beside(beside(messages, in_place));
        }
        match self {
            Making::Beside(beside) => beside.next().await,
            Making::Here { .. } => None,
        }
    }
}

impl Beside {
    async fn next(&mut self) -> Option<Wire> {
        match self.made.recv().await {
            Some(wire) => Some(wire),
            // One that broke down has not sent all there is.
            None => self.task.join_next().await?.err().map(|error| Err(broken_down(&error))),
        }
    }
}

fn broken_down(error: &JoinError) -> Status {
    told("the rest of a result", Status::internal(format!("making the rest of the result broke down: {error}; please report it")))
}

async fn next(messages: &mut FlightStream, in_place: bool) -> Option<Wire> {
    messages.next().await.map(|message| message.and_then(|message| message.into_wire(in_place)))
}

fn beside(mut messages: FlightStream, in_place: bool) -> Beside {
    let (sender, made) = channel(AHEAD_MAX);
    let mut task = JoinSet::new();
    task.spawn(async move {
        while let Some(wire) = next(&mut messages, in_place).await {
            let is_last = wire.is_err();
            if is_last {
                drop(std::mem::replace(&mut messages, Box::pin(futures::stream::empty())));
            }
            if sender.send(wire).await.is_err() || is_last {
                return;
            }
        }
        // Before the sender: whoever sees that end may ask what the query has left.
        drop(messages);
    });
    Beside { made, task }
}

fn trailers(status: &Status) -> Frame<Bytes> {
    let mut headers = HeaderMap::new();
    if status.add_header(&mut headers).is_err() {
        // Its metadata is nothing that a header can hold.
        headers.clear();
        headers.insert("grpc-status", HeaderValue::from(status.code() as i32));
    }
    Frame::trailers(headers)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::stream::Message;

    /// Messages that are told apart by their metadata, and then what `end` yields.
    fn messages(count: usize, end: impl Stream<Item = Result<Message, Status>> + Send + 'static) -> FlightStream {
        let numbered = (0..count).map(|number| Ok(Message::default().with_metadata(Bytes::from(format!("number {number:04}")))));
        Box::pin(futures::stream::iter(numbered).chain(end))
    }

    /// The numbers that came, and the code at the end.
    async fn read(messages: FlightStream) -> (Vec<usize>, String) {
        let frames: Vec<_> = frames(messages, true).collect().await;
        let mut frames: Vec<Frame<Bytes>> = frames.into_iter().map(|frame| frame.unwrap()).collect();
        let end = frames.pop().unwrap().into_trailers().unwrap()["grpc-status"].to_str().unwrap().to_string();
        let number = |frame: Frame<Bytes>| {
            let data = frame.into_data().unwrap();
            std::str::from_utf8(&data[data.len() - 4..]).unwrap().parse().unwrap()
        };
        (frames.into_iter().map(number).collect(), end)
    }

    #[tokio::test]
    async fn results_of_any_length_come_whole_and_in_order() {
        for count in [0, 1, MADE_HERE - 1, MADE_HERE, MADE_HERE + 1, 100] {
            let (numbers, end) = read(messages(count, futures::stream::empty())).await;
            assert_eq!((numbers, end.as_str()), ((0..count).collect(), "0"));
        }
    }

    #[tokio::test]
    async fn what_fails_is_said_behind_the_messages_before_it() {
        for count in [3, MADE_HERE, 30] {
            let failing = futures::stream::iter([Err(Status::data_loss("gone")), Ok(Message::default())]);
            let (numbers, end) = read(messages(count, failing)).await;
            assert_eq!((numbers.len(), end.as_str()), (count, "15"));
        }
    }

    #[tokio::test]
    async fn what_breaks_down_on_the_other_thread_is_no_end() {
        let broken = futures::stream::poll_fn(|_| panic!("a bug"));
        let (numbers, end) = read(messages(30, broken)).await;
        assert_eq!((numbers.len(), end.as_str()), (30, "13"));
    }

    #[tokio::test]
    async fn no_more_is_made_once_nobody_reads() {
        let held = Arc::new(());
        let of_stream = Arc::clone(&held);
        let endless = futures::stream::repeat_with(move || {
            let _held = &of_stream;
            Ok(Message::default())
        });
        let mut frames = Box::pin(frames(messages(30, endless), true));
        for _ in 0..40 {
            frames.next().await.unwrap().unwrap();
        }
        drop(frames);
        let gone = async {
            while Arc::strong_count(&held) > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), gone).await.expect("the messages are dropped with their reader");
    }
}

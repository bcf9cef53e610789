//! The body of an answer: a message encoded by tonic, or the messages of a result with their parts in place.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures::Stream;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

pub enum Answer {
    One(Body),
    Messages(Pin<Box<dyn Stream<Item = Frame<Parts>> + Send>>),
}

impl HttpBody for Answer {
    type Data = Parts;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Parts>, Status>>> {
        match &mut *self {
            Answer::One(body) => {
                let frame = Pin::new(body).poll_frame(context);
                frame.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(Parts::from))))
            }
            Answer::Messages(messages) => messages.as_mut().poll_next(context).map(|frame| frame.map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Answer::One(body) => body.is_end_stream(),
            Answer::Messages(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::One(body) => body.size_hint(),
            Answer::Messages(_) => SizeHint::default(),
        }
    }
}

/// Bytes in several parts, each of which is released when it is sent.
pub struct Parts {
    parts: VecDeque<Bytes>,
    bytes: usize,
}

impl From<VecDeque<Bytes>> for Parts {
    fn from(parts: VecDeque<Bytes>) -> Parts {
        let bytes = parts.iter().map(Bytes::len).sum();
        Parts { parts, bytes }
    }
}

impl From<Bytes> for Parts {
    fn from(one: Bytes) -> Parts {
        VecDeque::from([one]).into()
    }
}

impl Buf for Parts {
    fn remaining(&self) -> usize {
        self.bytes
    }

    fn chunk(&self) -> &[u8] {
        self.parts.iter().find(|part| !part.is_empty()).map_or(&[], |part| part)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let parts = self.parts.iter().filter(|part| !part.is_empty());
        slices.iter_mut().zip(parts).map(|(slice, part)| *slice = IoSlice::new(part)).count()
    }

    /// # Panics
    /// Beyond the end, as every `Buf`.
    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.bytes, "{count} bytes of {} are sent", self.bytes);
        self.bytes -= count;
        while let Some(first) = self.parts.front_mut() {
            if first.len() > count {
                first.advance(count);
                return;
            }
            count -= first.len();
            self.parts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Parts {
        VecDeque::from([&b"he"[..], b"", b"llo", b" ", b"world"].map(Bytes::from_static)).into()
    }

    #[test]
    fn the_parts_are_one_text_wherever_it_is_cut() {
        for sent in 0..=11 {
            let mut parts = parts();
            parts.advance(sent);
            assert_eq!(parts.remaining(), 11 - sent);
            assert_eq!(parts.copy_to_bytes(11 - sent), b"hello world"[sent..]);
        }
    }

    #[test]
    fn a_vectored_write_gets_the_remaining_non_empty_parts() {
        let mut parts = parts();
        parts.advance(3);
        let mut slices = [IoSlice::new(&[]); 8];
        let count = parts.chunks_vectored(&mut slices);
        assert_eq!(slices[..count].iter().map(|slice| slice.to_vec()).collect::<Vec<_>>(), [&b"lo"[..], b" ", b"world"]);
        assert_eq!(parts.chunks_vectored(&mut slices[..1]), 1);
    }

    #[test]
    fn a_part_is_released_when_it_is_sent() {
        let first = Bytes::from(vec![1; 100]);
        let mut parts = Parts::from(VecDeque::from([first.clone(), Bytes::from_static(b"more")]));
        parts.advance(99);
        assert!(!first.is_unique());
        parts.advance(1);
        assert!(first.is_unique());
    }
}

//! The body of a request, with a check that it is complete.
//!
//! tonic does not distinguish a call that its client cancels from one that ends: the reader of rows would take those that came for all
//! rows, and commit them. Here the stream counts as complete only if the client has ended it explicitly.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tonic::body::Body;
use tonic::codegen::http::Request;
use tonic::{Code, Status};

/// The request with a body that ends by an error unless it is whole.
pub fn require_whole_body(request: Request<Body>) -> Request<Body> {
    request.map(|body| Body::new(WholeBody(body)))
}

struct WholeBody(Body);

impl HttpBody for WholeBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll_frame(context)) {
            // Only this code looks like a normal end to tonic.
            Some(Err(status)) if status.code() == Code::Cancelled => Some(Err(broken_off())),
            None if !self.0.is_end_stream() => Some(Err(broken_off())),
            frame => frame,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

fn broken_off() -> Status {
    Status::aborted("the client has left before all that it sends had come, so nothing of it is kept; send it again")
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full, StreamBody};

    use super::*;

    fn body(end: Option<Status>) -> Body {
        let data = futures::stream::iter([Ok(Frame::data(Bytes::from_static(b"rows")))]);
        Body::new(StreamBody::new(futures::StreamExt::chain(data, futures::stream::iter(end.map(Err)))))
    }

    async fn read(body: Body) -> Result<Bytes, Status> {
        require_whole_body(Request::new(body)).into_body().collect().await.map(|whole| whole.to_bytes())
    }

    #[tokio::test]
    async fn a_cancelled_request_is_an_error() {
        assert_eq!(read(body(Some(Status::cancelled("stream reset")))).await.unwrap_err().code(), Code::Aborted);
        assert_eq!(read(body(Some(Status::internal("damaged")))).await.unwrap_err().code(), Code::Internal);
        // hyper treats a reset without a reason as an end without an error.
        assert_eq!(read(body(None)).await.unwrap_err().code(), Code::Aborted);
    }

    #[tokio::test]
    async fn an_explicitly_ended_request_is_complete() {
        assert_eq!(read(Body::new(Full::new(Bytes::from_static(b"rows")))).await.unwrap(), "rows");
        assert_eq!(read(Body::empty()).await.unwrap(), "");
    }
}

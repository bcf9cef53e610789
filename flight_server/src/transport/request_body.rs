//! What a client sends, and whether it came to its end.
//!
//! To tonic a call that its client takes back ends like any other: who reads rows would take those that came for all there
//! are, and commit them. Here the end of what is sent is believed only where the client has said it.

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
            // This code alone is what tonic takes for an end.
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
    async fn what_is_taken_back_has_not_ended() {
        assert_eq!(read(body(Some(Status::cancelled("stream reset")))).await.unwrap_err().code(), Code::Aborted);
        assert_eq!(read(body(Some(Status::internal("damaged")))).await.unwrap_err().code(), Code::Internal);
        // A reset without a reason is an end without an error to hyper.
        assert_eq!(read(body(None)).await.unwrap_err().code(), Code::Aborted);
    }

    #[tokio::test]
    async fn what_is_said_to_have_ended_is_whole() {
        assert_eq!(read(Body::new(Full::new(Bytes::from_static(b"rows")))).await.unwrap(), "rows");
        assert_eq!(read(Body::empty()).await.unwrap(), "");
    }
}

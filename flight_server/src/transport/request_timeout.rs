//! The timeout for the single message of a call: it must keep arriving. Calls that send streams of messages are exempt here;
//! [`crate::active_streams`] has the timeout for those.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;

/// Calls whose clients send a stream of messages.
const STREAMING: [&str; 3] = ["/Handshake", "/DoPut", "/DoExchange"];

/// A service with timeouts for its requests.
#[derive(Clone)]
pub struct RequestTimeoutService<S> {
    pub service: S,
    /// The limit between two pieces of a request.
    pub silence: Duration,
    /// The limit for the whole request.
    pub longest: Duration,
}

impl<S: Service<http::Request<Body>>> Service<http::Request<Body>> for RequestTimeoutService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> S::Future {
        let is_streaming = STREAMING.iter().any(|call| request.uri().path().ends_with(call));
        self.service.call(match is_streaming {
            true => request,
            false => request.map(|body| Body::new(TimedBody::new(body, self.silence, self.longest))),
        })
    }
}

impl<S: NamedService> NamedService for RequestTimeoutService<S> {
    const NAME: &'static str = S::NAME;
}

/// A body that ends with an error when its client stops sending.
struct TimedBody {
    body: Body,
    silence: Duration,
    until: Instant,
    heard: Instant,
    /// The timer, which is set on the first wait: most requests arrive whole.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    fn new(body: Body, silence: Duration, longest: Duration) -> TimedBody {
        let now = Instant::now();
        TimedBody { body, silence, until: now + longest, heard: now, alarm: None }
    }

    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let at = self.until.min(self.heard + self.silence);
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if alarm.deadline() != at {
            alarm.as_mut().reset(at);
        }
        alarm.as_mut().poll(context)
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_ready() {
            self.heard = Instant::now();
            return polled;
        }
        ready!(self.poll_alarm(context));
        Poll::Ready(Some(Err(Status::deadline_exceeded("the request did not come whole in time; send it again"))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    fn awaited(pieces: impl futures::Stream<Item = Bytes> + Send + 'static, silence: Duration, longest: Duration) -> TimedBody {
        use futures::StreamExt;
        let frames = pieces.map(|piece| Ok::<_, Status>(Frame::data(piece)));
        TimedBody::new(Body::new(StreamBody::new(frames)), silence, longest)
    }

    fn every(pause: Duration, count: usize) -> impl futures::Stream<Item = Bytes> + Send + 'static {
        futures::stream::unfold(count, move |rest| async move {
            tokio::time::sleep(pause).await;
            Some((Bytes::from_static(b"x"), rest.checked_sub(1)?))
        })
    }

    const MILLISECOND: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_slow_request_is_awaited_but_a_silent_one_is_not() {
        let slow = awaited(every(300 * MILLISECOND, 8), 2000 * MILLISECOND, LONG);
        assert_eq!(slow.collect().await.unwrap().to_bytes().len(), 8);
        let silent = awaited(every(LONG, 8), 50 * MILLISECOND, LONG);
        assert_eq!(silent.collect().await.unwrap_err().code(), tonic::Code::DeadlineExceeded);
    }

    #[tokio::test]
    async fn a_request_that_never_ends_is_an_error() {
        let endless = awaited(every(20 * MILLISECOND, usize::MAX), LONG, 300 * MILLISECOND);
        assert_eq!(endless.collect().await.unwrap_err().code(), tonic::Code::DeadlineExceeded);
    }
}

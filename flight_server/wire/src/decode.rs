//! Decodes messages, without panics on invalid ones.

use std::task::{Context, Poll};

use arrow_flight::decode::{DecodedFlightData, FlightDataDecoder};
use arrow_flight::error::FlightError;
use futures::StreamExt;
use tonic::Status;

use crate::guard::guarded;

/// After an error the stream ends, because the decoder may be in an inconsistent state.
pub fn decoded(decoder: &mut Option<FlightDataDecoder>, context: &mut Context<'_>) -> Poll<Option<Result<DecodedFlightData, Status>>> {
    let Some(reader) = decoder else { return Poll::Ready(None) };
    let polled = guarded(|| reader.poll_next_unpin(context));
    let failed = match polled {
        Ok(Poll::Pending) => return Poll::Pending,
        Ok(Poll::Ready(None)) => None,
        Ok(Poll::Ready(Some(Ok(decoded)))) => return Poll::Ready(Some(Ok(decoded))),
        Ok(Poll::Ready(Some(Err(error)))) => Some(Err(foreign_status(error))),
        Err(status) => Some(Err(status)),
    };
    *decoder = None;
    Poll::Ready(failed)
}

/// The status of an error in received messages.
pub fn foreign_status(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        other => Status::invalid_argument(format!("the Arrow data of a message cannot be read: {other}")),
    }
}

//! The calls over a channel, each with the headers that identify the caller.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::ProstMessageExt;
use arrow_flight::{Action, FlightData, FlightDescriptor, FlightInfo, Ticket};
use bytes::Bytes;
use flight_wire::VIEW_TYPES;
use futures::TryStreamExt;
use prost::Message;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::transport::Channel;
use tonic::{Request, Response, Status, Streaming};

/// A row that cannot be cut may be long; the server sends at most 1 GiB of it.
const MESSAGE_BYTES_MAX: usize = 2 << 30;

static LINKS_MADE: AtomicU64 = AtomicU64::new(0);

#[derive(Clone)]
pub struct Link {
    pub flight: FlightServiceClient<Channel>,
    /// The number of this link. Its clones have the same one, and no other link has it.
    pub number: u64,
    headers: MetadataMap,
}

impl Link {
    pub fn new(channel: Channel) -> Link {
        let flight = FlightServiceClient::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let mut headers = MetadataMap::new();
        headers.insert(VIEW_TYPES, MetadataValue::from_static("true"));
        Link { flight, number: LINKS_MADE.fetch_add(1, Ordering::Relaxed), headers }
    }

    pub fn set_header(&mut self, name: &'static str, value: MetadataValue<Ascii>) {
        self.headers.insert(name, value);
    }

    pub fn request<M>(&self, message: M) -> Request<M> {
        let mut request = Request::new(message);
        *request.metadata_mut() = self.headers.clone();
        request
    }

    pub async fn info(&mut self, command: impl ProstMessageExt) -> Result<FlightInfo, Status> {
        let descriptor = FlightDescriptor::new_cmd(command.as_any().encode_to_vec());
        let request = self.request(descriptor);
        Ok(self.flight.get_flight_info(request).await?.into_inner())
    }

    pub async fn get(mut self, ticket: Ticket) -> Result<Streaming<FlightData>, Status> {
        let request = self.request(ticket);
        Ok(self.flight.do_get(request).await?.into_inner())
    }

    /// The headers and the messages of the answer.
    pub async fn act(&mut self, name: &str, body: impl Into<Bytes>) -> Result<(MetadataMap, Vec<Bytes>), Status> {
        let request = self.request(Action::new(name, body));
        let (headers, answers, _) = Response::into_parts(self.flight.do_action(request).await?);
        let answers: Vec<_> = answers.try_collect().await?;
        Ok((headers, answers.into_iter().map(|answer| answer.body).collect()))
    }
}

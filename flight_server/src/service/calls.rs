//! The service as tonic serves it: it reads the headers here, and the other files of this module do the work.

use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse, PollInfo,
    PutResult, SchemaResult, Ticket,
};
use bytes::Bytes;
use tonic::{Request, Response, Status, Streaming};

use super::{Answers, Service, do_action, one};
use crate::auth::Credentials;
use crate::error::log_status;
use crate::executors::ExecutorLease;
use crate::flight;
use crate::named_calls;
use crate::sessions::CallContext;
use crate::stream::{FlightStream, prefetch, schema_bytes};

#[derive(Clone)]
pub struct Calls(pub Arc<Service>);

impl Calls {
    pub async fn download(&self, request: Request<Ticket>) -> Result<FlightStream, Status> {
        let caller = self.0.caller(&request).await?;
        logged("DoGet", self.0.get(caller, request.into_inner()).await)
    }

    async fn info(&self, caller: CallContext, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
        let (service, executor) = (Arc::clone(&self.0), self.executor(&caller, &descriptor.cmd));
        executor.run(async move { service.info(&caller, descriptor).await }).await
    }

    async fn put(&self, caller: CallContext, messages: Streaming<FlightData>) -> Result<Bytes, Status> {
        let (service, put) = (Arc::clone(&self.0), self.0.begin_put(&caller.principal, messages).await?);
        self.executor(&caller, &put.descriptor.cmd).run(async move { service.put(&caller, put).await }).await
    }

    /// Runs a call that plans or runs the command.
    fn executor(&self, caller: &CallContext, command: &[u8]) -> ExecutorLease {
        if self.0.is_kill(caller, command) { self.0.executors.control() } else { self.0.executors.lease() }
    }
}

#[tonic::async_trait]
impl FlightService for Calls {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoActionStream = Answers<arrow_flight::Result>;
    type ListActionsStream = Answers<ActionType>;
    type DoExchangeStream = Answers<FlightData>;

    async fn handshake(&self, request: Request<Streaming<HandshakeRequest>>) -> Result<Response<Self::HandshakeStream>, Status> {
        let credentials = Credentials::of(&request)?;
        logged("Handshake", self.0.handshake(credentials).await)
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        self.0.drain.check()?;
        let caller = self.0.caller(&request).await?;
        let connection = self.0.sessions.connection(&caller)?;
        let criteria = request.into_inner();
        let flights = async move { flight::list(connection, &criteria, caller.client_options).await };
        let flights = self.0.executors.lease().run(flights).await.map(|flights| prefetch(flights, self.0.executors.lease()));
        logged("ListFlights", flights.map(Response::new))
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        self.0.drain.check()?;
        let caller = self.0.caller(&request).await?;
        let name = named_calls::name(request.metadata())?;
        let (principal, descriptor) = (caller.principal.clone(), request.into_inner());
        let info = self.info(caller, descriptor);
        logged("GetFlightInfo", self.0.named_calls.run(&principal, name, info).await.map(Response::new))
    }

    /// Planning is too short to be polled for: the first answer is the last.
    async fn poll_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        self.0.drain.check()?;
        let caller = self.0.caller(&request).await?;
        let info = logged("PollFlightInfo", self.info(caller, request.into_inner()).await)?;
        Ok(Response::new(PollInfo { info: Some(info), progress: Some(1.0), ..PollInfo::new() }))
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        self.0.drain.check()?;
        let caller = self.0.caller(&request).await?;
        let (service, descriptor) = (Arc::clone(&self.0), request.into_inner());
        let schema = async move { service.schema(&caller, descriptor).await };
        let schema = logged("GetSchema", self.0.executors.lease().run(schema).await)?;
        Ok(Response::new(SchemaResult { schema: schema_bytes(&schema)? }))
    }

    /// Never called: [`super::Downloads`] answers it.
    async fn do_get(&self, _: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        Err(Status::unimplemented("DoGet is answered before tonic has it"))
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        self.0.drain.check()?;
        let caller = self.0.caller(&request).await?;
        let name = named_calls::name(request.metadata())?;
        let principal = caller.principal.clone();
        let answer = logged("DoPut", self.0.named_calls.run(&principal, name, self.put(caller, request.into_inner())).await)?;
        Ok(Response::new(one(PutResult { app_metadata: answer })))
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        let caller = self.0.caller(&request).await?;
        let action = request.into_inner();
        if do_action::is_short(&action) {
            return logged("DoAction", self.0.action(&caller, action).await);
        }
        let service = Arc::clone(&self.0);
        logged("DoAction", self.0.executors.lease().run(async move { service.action(&caller, action).await }).await)
    }

    async fn list_actions(&self, request: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        self.0.caller(&request).await?;
        Ok(Response::new(Box::pin(futures::stream::iter(do_action::list().into_iter().map(Ok)))))
    }

    async fn do_exchange(&self, request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoExchangeStream>, Status> {
        self.0.caller(&request).await?;
        Err(Status::unimplemented("DoExchange is not answered; send rows by DoPut and fetch them by DoGet"))
    }
}

fn logged<T>(call: &str, answer: Result<T, Status>) -> Result<T, Status> {
    answer.map_err(|error| log_status(call, error))
}

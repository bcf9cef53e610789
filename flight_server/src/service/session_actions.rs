//! Beginning and ending sessions, and their options.

use arrow_flight::HandshakeResponse;
use bytes::Bytes;
use flight_wire::COOKIE;
use flight_wire::session_messages::{CloseSessionResult, SetSessionOptionsRequest};
use prost::Message;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Response, Status};

use super::bounds::check_length;
use super::do_action::answer;
use super::{Answers, Service, one};
use crate::auth::{Credentials, Secret};
use crate::error::protobuf_status;
use crate::sessions::{CallContext, get_options, set_options};

type Acted = Result<Response<Answers<arrow_flight::Result>>, Status>;

impl Service {
    /// Returns a token that identifies the caller. If the server has no users, it begins a session for anybody, whose handle is
    /// the token.
    pub async fn handshake(&self, credentials: Credentials) -> Result<Response<Answers<HandshakeResponse>>, Status> {
        let token = match (self.logins.identity(&credentials).await?, credentials.secret) {
            (None, _) => self.sessions.begin(None)?.0,
            // No new token for a token: a stolen one could be renewed for ever.
            (Some(_), Secret::Bearer(token)) => token.into(),
            (Some(identity), _) => self.logins.token(&identity)?.into(),
        };
        let mut response = Response::new(one(HandshakeResponse { protocol_version: 0, payload: token.clone() }));
        response.metadata_mut().insert("authorization", header("Bearer ", &token)?);
        Ok(response)
    }

    /// Begins a session if the call has none, and names it by a cookie.
    pub async fn set_session_options(&self, caller: &CallContext, body: &Bytes) -> Acted {
        check_length(body, "request")?;
        let request = SetSessionOptionsRequest::decode(body.clone()).map_err(|_| protobuf_status("request"))?;
        match &caller.session {
            Some((_, connection)) => answer(set_options(connection, request).await?),
            None => {
                let (handle, connection) = self.sessions.begin(caller.identity.as_ref())?;
                let mut response = answer(set_options(&connection, request).await?)?;
                response.metadata_mut().insert("set-cookie", header(&format!("{COOKIE}="), &handle)?);
                Ok(response)
            }
        }
    }

    pub async fn get_session_options(&self, caller: &CallContext) -> Acted {
        let connection = self.sessions.connection(caller)?;
        answer(get_options(&connection).await?)
    }

    /// Closes the session with its prepared statements and its transactions, which roll back.
    pub fn close_session(&self, caller: &CallContext) -> Acted {
        let Some((handle, _)) = &caller.session else {
            return Err(Status::failed_precondition("this call has no session, so there is none to close"));
        };
        self.sessions.end(caller, handle);
        self.prepared.end_of_session(handle);
        self.tickets.end_of_session(handle);
        self.transactions.end_of_session(handle);
        answer(CloseSessionResult::closed())
    }
}

fn header(start: &str, handle: &[u8]) -> Result<MetadataValue<Ascii>, Status> {
    let text = format!("{start}{}", String::from_utf8_lossy(handle));
    text.parse().map_err(|_| Status::internal("a handle does not fit into a header"))
}

//! The open sessions, and the session of a call.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use engine::{Binding, Engine, Identity};
use flight_wire::{COOKIE, ErrorDetails, SESSION_ENDED};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::metadata::MetadataMap;

use super::connection::Connection;
use crate::auth::{Credentials, Principal, Secret};
use crate::budget::Budget;
use crate::error::status;
use crate::handles::{Handle, Handles};
use crate::options::ServerOptions;
use crate::stream::ClientOptions;

pub struct Sessions {
    engine: Engine,
    open: Handles<Connection>,
    budget: Arc<Budget>,
}

/// The context of a call: its principal, its session, what it is for, and the options of the client.
pub struct CallContext {
    /// `None` if the server has no users.
    pub identity: Option<Identity>,
    pub principal: Principal,
    pub session: Option<(Handle, Arc<Connection>)>,
    pub client_options: ClientOptions,
    /// The version and the segments that a plan of the call refers to.
    pub binding: Binding,
    /// The address of the client.
    pub peer: Option<SocketAddr>,
    /// Cancelling it closes the client's connection.
    pub cut: Option<CancellationToken>,
}

impl Sessions {
    pub fn new(engine: &Engine, options: &ServerOptions, budget: &Arc<Budget>) -> Sessions {
        let max = options.sessions_max;
        let open = Handles::new("sessions", max, options.limits.of_user(max), options.session_idle);
        Sessions { engine: engine.clone(), open, budget: Arc::clone(budget) }
    }

    /// **Invariant:** a session belongs to the principal that began it. If the server has users, a token only identifies the caller,
    /// and the cookie names the session. If it has none, the token of a handshake names a session as well.
    pub fn caller(
        &self,
        identity: Option<Identity>,
        session: Option<Handle>,
        shown: Credentials,
        (client_options, binding): (ClientOptions, Binding),
    ) -> Result<CallContext, Status> {
        let principal = Principal::of(identity.as_ref());
        let session = match (session, shown.secret) {
            (None, Secret::Bearer(token)) if identity.is_none() => Some(Bytes::from(token)),
            (session, _) => session,
        };
        let session = session.map(|handle| self.find(&principal, &handle).map(|connection| (handle, connection))).transpose()?;
        Ok(CallContext { identity, principal, session, client_options, binding, peer: shown.peer, cut: shown.cut })
    }

    /// A session that has ended is never replaced silently: its settings would be lost unnoticed.
    fn find(&self, principal: &Principal, handle: &[u8]) -> Result<Arc<Connection>, Status> {
        self.open.get(principal, handle).map_err(|unknown| {
            let mut refusal = Status::unauthenticated(format!("{}, by connecting again", unknown.message()));
            ErrorDetails { kind: Some(SESSION_ENDED.to_string()), ..ErrorDetails::default() }.put_into(&mut refusal);
            refusal
        })
    }

    pub fn begin(&self, identity: Option<&Identity>) -> Result<(Handle, Arc<Connection>), Status> {
        let connection = Connection::of_session(self.engine_session(identity)?, &self.budget);
        Ok((self.open.insert_arc(&Principal::of(identity), Arc::clone(&connection))?, connection))
    }

    pub fn end(&self, caller: &CallContext, handle: &[u8]) -> bool {
        self.open.remove(&caller.principal, handle)
    }

    pub fn retain(&self, keep: impl Fn(&Principal) -> bool) {
        self.open.retain(|principal, _| keep(principal));
    }

    pub fn sweep(&self) {
        self.open.sweep();
    }

    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// The session of the caller, or a new one for this call.
    pub fn connection(&self, caller: &CallContext) -> Result<Arc<Connection>, Status> {
        match &caller.session {
            Some((_, connection)) => Ok(Arc::clone(connection)),
            None => Ok(Connection::of_call(self.engine_session(caller.identity.as_ref())?)),
        }
    }

    /// A new session with the settings of the caller's session.
    pub fn another(&self, caller: &CallContext) -> Result<engine::Session, Status> {
        let session = self.engine_session(caller.identity.as_ref())?;
        if let Some((_, connection)) = &caller.session {
            connection.lend_settings(&session)?;
        }
        Ok(session)
    }

    /// A transaction of the caller, which begins with its first statement and ends with the session.
    pub fn transaction(&self, caller: &CallContext) -> Result<Arc<Connection>, Status> {
        let begun_in = caller.session.as_ref().map(|(handle, _)| handle.clone());
        Ok(Connection::in_transaction(self.another(caller)?, begun_in, &self.budget))
    }

    /// A transaction that pins a version for the caller. It ends with its lease.
    pub fn lease(&self, caller: &CallContext) -> Result<Arc<Connection>, Status> {
        Ok(Connection::in_lease(self.another(caller)?, &self.budget))
    }

    fn engine_session(&self, identity: Option<&Identity>) -> Result<engine::Session, Status> {
        let session = match identity {
            Some(identity) => self.engine.session_as(identity),
            None => self.engine.session(),
        };
        session.map_err(status)
    }
}

/// The handle in the cookie. Other cookies are ignored.
pub fn cookie(headers: &MetadataMap) -> Result<Option<Handle>, Status> {
    for header in headers.get_all("cookie") {
        let text = header.to_str().map_err(|_| Status::invalid_argument("the header cookie is not plain ASCII text"))?;
        let mut pairs = text.split(';').filter_map(|pair| pair.trim().split_once('='));
        if let Some((_, value)) = pairs.find(|(name, _)| *name == COOKIE) {
            return Ok(Some(Bytes::copy_from_slice(value.trim_matches('"').as_bytes())));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> MetadataMap {
        let mut map = MetadataMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn a_session_is_named_by_its_cookie() {
        let session_of = |pairs| cookie(&headers(pairs)).unwrap().map(|handle| String::from_utf8(handle.to_vec()).unwrap());
        assert_eq!(session_of(&[("cookie", "a=b; arrow_flight_session_id=7f; c=d")]).unwrap(), "7f");
        assert_eq!(session_of(&[("cookie", "a=b"), ("cookie", "arrow_flight_session_id=\"7f\"")]).unwrap(), "7f");
        assert_eq!(session_of(&[("cookie", "a=b")]), None);
        assert_eq!(session_of(&[]), None);
    }
}

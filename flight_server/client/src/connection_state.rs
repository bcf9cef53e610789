//! The connection of a session. Results that are being streamed share it, because they notice a break as any call does.

use std::time::Duration;

use parking_lot::Mutex;
use tonic::Status;

use crate::error::RemoteError;
use crate::link::Link;
use crate::options::ConnectOptions;
use crate::session_state::SessionState;

pub struct ConnectionState {
    pub options: ConnectOptions,
    pub link: Mutex<Option<Link>>,
    /// What the session of that link holds.
    pub session_state: Mutex<SessionState>,
    /// How long the previous session was idle before a new one replaced it. `None` once the user was told.
    pub renewed: Mutex<Option<Duration>>,
}

impl ConnectionState {
    /// The error of a failed call for a statement, over the link with this number. After a break, no statement silently runs in a new
    /// session as if it were the old one: the user is told first.
    pub fn failed(&self, number: u64, status: &Status, sql: &str) -> RemoteError {
        let error = RemoteError::of_call(status, sql, &self.options, &self.session_state.lock());
        // Several calls notice one break, and by the last of them there may be a new session.
        if error.is_lost() {
            self.link.lock().take_if(|link| link.number == number);
        }
        error
    }

    pub fn protocol(&self, what: &str) -> RemoteError {
        RemoteError::Protocol { address: self.options.address.to_string(), what: what.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use tonic::transport::Channel;

    use super::*;
    use crate::{Login, Tls};

    #[tokio::test]
    async fn a_break_that_is_noticed_late_leaves_the_new_session_alone() {
        let link = || Link::new(Channel::from_static("http://127.0.0.1:1").connect_lazy());
        let (old, new) = (link(), link());
        let options = ConnectOptions { address: "grpc://127.0.0.1:1".parse().unwrap(), tls: Tls::default(), login: Login::Nobody };
        let shared =
            ConnectionState { options, link: Mutex::new(Some(new.clone())), session_state: Mutex::default(), renewed: Mutex::default() };
        let status = Status::unauthenticated("the session is gone");
        assert!(shared.failed(old.number, &status, "").is_lost());
        assert!(shared.link.lock().is_some());
        assert!(shared.failed(new.number, &status, "").is_lost());
        assert!(shared.link.lock().is_none());
    }
}

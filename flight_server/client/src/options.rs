//! How to connect to a server, and as which user.

use std::fmt;
use std::path::PathBuf;

use crate::address::Address;

#[derive(Debug, Clone)]
pub struct ConnectOptions {
    pub address: Address,
    pub tls: Tls,
    pub login: Login,
}

/// PEM files.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// The authorities of the server's certificate; those of the system if not given.
    pub ca: Option<PathBuf>,
    /// Certificate and key of the client, if the server asks for them.
    pub identity: Option<(PathBuf, PathBuf)>,
}

#[derive(Clone)]
pub enum Login {
    /// No login: the caller is the user of the client certificate, or anonymous.
    Nobody,
    Password {
        user: String,
        password: String,
    },
    /// A bearer token that the server has issued.
    Token(String),
}

/// Without the secrets.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Login::Nobody => f.write_str("Nobody"),
            Login::Password { user, .. } => write!(f, "Password {{ user: {user:?} }}"),
            Login::Token(_) => f.write_str("Token"),
        }
    }
}

impl ConnectOptions {
    pub fn user(&self) -> Option<&str> {
        match &self.login {
            Login::Password { user, .. } => Some(user),
            Login::Nobody | Login::Token(_) => None,
        }
    }
}

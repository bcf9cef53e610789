//! How a server is reached, and who one is there.

use std::fmt;
use std::path::PathBuf;

use crate::address::Address;

#[derive(Debug, Clone)]
pub struct ConnectOptions {
    pub address: Address,
    pub tls: Tls,
    pub login: Login,
}

/// Files in PEM.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Certificates that the server's is signed by; those of the system if not given.
    pub ca: Option<PathBuf>,
    /// Certificate and key of the client, where the server asks for them.
    pub identity: Option<(PathBuf, PathBuf)>,
}

#[derive(Clone)]
pub enum Login {
    /// As nobody, or as whom the client's certificate names.
    Nobody,
    Password {
        user: String,
        password: String,
    },
    /// A bearer token that the server has given out before.
    Token(String),
}

/// Without what is secret.
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

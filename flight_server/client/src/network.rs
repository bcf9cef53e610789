//! The nodes that an engine of this process can reach, and the credentials for them.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::RemoteTables;
use parking_lot::Mutex;
use substrait_plans::pushdown::{CachedNode, Network, Node, NodeError, TableLocation};

use crate::address::Address;
use crate::location::{Location, node_name};
use crate::node::FlightNode;
use crate::options::{ConnectOptions, Login, Tls};

/// The credentials for nodes. Secrets are sent to whichever node a table names, so they need a user that is named: here, or before the
/// host in the location of the table.
#[derive(Clone, Default)]
pub struct Credentials {
    pub user: Option<String>,
    pub password: Option<String>,
    /// A file with the password in its first line, which no other user may read.
    pub password_file: Option<PathBuf>,
    /// A bearer token, for nodes without a user name.
    pub token: Option<String>,
    /// Used for nodes with TLS.
    pub tls: Tls,
}

/// A password is one line; a longer file is not a password file.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// Without the secrets.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).field("tls", &self.tls).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads `QUIVER_USER`, `QUIVER_PASSWORD`, `QUIVER_PASSWORD_FILE`, `QUIVER_TOKEN`, `QUIVER_TLS_CA`, `QUIVER_CLIENT_CERT` and
    /// `QUIVER_CLIENT_KEY`.
    pub fn of_environment() -> Credentials {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Credentials {
            user: text("QUIVER_USER"),
            password: text("QUIVER_PASSWORD"),
            password_file: path("QUIVER_PASSWORD_FILE"),
            token: text("QUIVER_TOKEN"),
            tls: Tls { ca: path("QUIVER_TLS_CA"), identity: path("QUIVER_CLIENT_CERT").zip(path("QUIVER_CLIENT_KEY")) },
        }
    }

    fn options(&self, address: Address) -> Result<ConnectOptions, NodeError> {
        let login = match address.user.clone().or_else(|| self.user.clone()) {
            Some(user) => Login::Password { password: self.password_of(&user, &address)?, user },
            None => self.token.clone().map_or(Login::Nobody, Login::Token),
        };
        let tls = if address.is_tls { self.tls.clone() } else { Tls::default() };
        Ok(ConnectOptions { address, tls, login })
    }

    fn password_of(&self, user: &str, address: &Address) -> Result<String, NodeError> {
        let missing = |reason: String| NodeError::Unreachable {
            node: node_name(address),
            reason,
            hint: Some("give it in QUIVER_PASSWORD, or in a file that QUIVER_PASSWORD_FILE names".into()),
        };
        match (&self.password, &self.password_file) {
            (Some(password), _) => Ok(password.clone()),
            (None, Some(path)) => {
                first_line(path).map_err(|error| missing(format!("the password of {user} cannot be read from {}: {error}", path.display())))
            }
            (None, None) => Err(missing(format!("the password of {user} is missing"))),
        }
    }
}

/// The first line of a file, which no other user may read.
fn first_line(path: &Path) -> Result<String, std::io::Error> {
    let file = File::open(path)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        return Err(std::io::Error::other("others may read it, so it is no place for a secret; chmod 600 changes that"));
    }
    let mut text = String::new();
    file.take(SECRET_BYTES_MAX).read_to_string(&mut text)?;
    let line = text.lines().next().filter(|line| !line.is_empty());
    line.map(str::to_string).ok_or_else(|| std::io::Error::other("its first line is empty"))
}

/// Holds each node once, as long as this value lives.
#[derive(Debug)]
pub struct FlightNodes {
    credentials: Credentials,
    /// Keyed by the node's name and the user.
    nodes: Mutex<HashMap<(String, Option<String>), Arc<dyn Node>>>,
}

impl FlightNodes {
    pub fn new(credentials: Credentials) -> FlightNodes {
        FlightNodes { credentials, nodes: Mutex::default() }
    }
}

impl Network for FlightNodes {
    fn place(&self, location: &str) -> Result<TableLocation, NodeError> {
        let location: Location = location.parse().map_err(|error: crate::BadLocation| NodeError::Location { reason: error.to_string() })?;
        let Location { address, schema, table } = location;
        let key = (node_name(&address), address.user.clone());
        let mut nodes = self.nodes.lock();
        let node = match nodes.get(&key) {
            Some(node) => Arc::clone(node),
            None => {
                let node: Arc<dyn Node> = Arc::new(CachedNode::new(Arc::new(FlightNode::new(self.credentials.options(address)?))));
                nodes.insert(key, Arc::clone(&node));
                node
            }
        };
        Ok(TableLocation { node, namespace: schema, name: table })
    }
}

/// Gives an engine of this process access to tables of other nodes.
pub fn remote_tables(credentials: Credentials) -> Arc<dyn RemoteTables> {
    substrait_plans::pushdown::remote_tables(Arc::new(FlightNodes::new(credentials)))
}

//! The address of a server: `grpc+tls://host:port`.

use std::fmt;
use std::str::FromStr;

use flight_wire::DEFAULT_PORT;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub is_tls: bool,
    /// An IPv6 address stands here without its brackets.
    pub host: String,
    pub port: u16,
    /// The user of `user@host`.
    pub user: Option<String>,
}

/// No message repeats the text that was given: it may hold a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    #[error("expected grpc://HOST[:PORT], or grpc+tls://HOST[:PORT] for a server with TLS")]
    Scheme,
    #[error("expected the name of a host after the //")]
    Host,
    #[error("expected a port from 1 to 65535 after the host")]
    Port,
    #[error("expected nothing after the host and port")]
    Rest,
    #[error(
        "a password in the address can be read by every user of this machine; leave it out, and give it when asked, in QUIVER_PASSWORD, by --password-file or --password-stdin"
    )]
    Password,
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Address, BadAddress> {
        let (scheme, rest) = text.split_once("://").ok_or(BadAddress::Scheme)?;
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "grpc" | "grpc+tcp" => false,
            "grpc+tls" => true,
            _ => return Err(BadAddress::Scheme),
        };
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(BadAddress::Password),
            Some((user, place)) => (Some(user.to_string()).filter(|user| !user.is_empty()), place),
            None => (None, authority),
        };
        if !matches!(rest, "" | "/") {
            return Err(BadAddress::Rest);
        }
        let (host, port) = split_port(place)?;
        let port = port.map_or(Ok(DEFAULT_PORT), |port| port.parse().map_err(|_| BadAddress::Port))?;
        if port == 0 {
            return Err(BadAddress::Port);
        }
        let is_name = |char: char| char.is_alphanumeric() || matches!(char, '.' | '-' | '_' | ':');
        if host.is_empty() || !host.chars().all(is_name) {
            return Err(BadAddress::Host);
        }
        Ok(Address { is_tls, host: host.to_string(), port, user })
    }
}

/// `[::1]:31337`, `host:31337` and both without a port.
fn split_port(place: &str) -> Result<(&str, Option<&str>), BadAddress> {
    let Some(bracketed) = place.strip_prefix('[') else {
        return Ok(match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        });
    };
    let (host, rest) = bracketed.split_once(']').ok_or(BadAddress::Host)?;
    match rest.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err(BadAddress::Host),
    }
}

impl Address {
    /// The address as an HTTP URI, because gRPC runs over HTTP.
    pub(crate) fn http_uri(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.bracketed(), self.port)
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

/// The address without the user.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "grpc+tls" } else { "grpc" };
        write!(f, "{scheme}://{}:{}", self.bracketed(), self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<Address>().map_or_else(|error| format!("{error:?}"), |address| address.to_string())
    }

    #[test]
    fn a_port_may_be_left_out_and_ipv6_has_brackets() {
        assert_eq!(shown("grpc://db"), "grpc://db:31337");
        assert_eq!(shown("GRPC+TLS://db.example.org:443/"), "grpc+tls://db.example.org:443");
        assert_eq!(shown("grpc+tcp://127.0.0.1:7"), "grpc://127.0.0.1:7");
        assert_eq!(shown("grpc://[::1]"), "grpc://[::1]:31337");
        assert_eq!(shown("grpc+tls://[::1]:9"), "grpc+tls://[::1]:9");
        assert_eq!("grpc://ann@db".parse::<Address>().unwrap().user.as_deref(), Some("ann"));
    }

    #[test]
    fn an_invalid_address_is_an_error_that_says_what_is_expected() {
        for (text, error) in [
            ("db:31337", "Scheme"),
            ("http://db", "Scheme"),
            ("grpc://", "Host"),
            ("grpc://a b", "Host"),
            ("grpc://[::1", "Host"),
            ("grpc://db:", "Port"),
            ("grpc://db:0", "Port"),
            ("grpc://db:65536", "Port"),
            ("grpc://db/path", "Rest"),
            ("grpc://db?x=1", "Rest"),
            ("grpc://ann:secret@db", "Password"),
        ] {
            assert_eq!(shown(text), error, "{text}");
        }
    }
}

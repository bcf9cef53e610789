//! The location of a table of a server: `quiver://host:port/schema.table`.

use std::fmt;
use std::str::FromStr;

use crate::address::{Address, BadAddress};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub address: Address,
    pub schema: String,
    pub table: String,
}

/// No message repeats the text that was given: it may hold a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLocation {
    #[error("expected quiver://HOST[:PORT]/[SCHEMA.]TABLE, or quiver+tls:// for a server with TLS")]
    Scheme,
    #[error("expected the name of a host after the //, and a port from 1 to 65535 if there is one")]
    Address,
    #[error("expected one table after the host, as /schema.table; within a name a dot is %2E, and a slash %2F")]
    Table,
    #[error(
        "a password has no place in it, as it is kept with the table; give it in QUIVER_PASSWORD, or in a file that QUIVER_PASSWORD_FILE names"
    )]
    Password,
}

const DEFAULT_SCHEMA: &str = "main";

impl FromStr for Location {
    type Err = BadLocation;

    fn from_str(text: &str) -> Result<Location, BadLocation> {
        let (scheme, rest) = text.split_once("://").ok_or(BadLocation::Scheme)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "quiver" => "grpc",
            "quiver+tls" => "grpc+tls",
            _ => return Err(BadLocation::Scheme),
        };
        // A user may stand before the host, but not a password, which could hold any character.
        let (authority, path) = rest.split_once('/').ok_or(BadLocation::Table)?;
        let address = format!("{scheme}://{authority}").parse::<Address>().map_err(|error| match error {
            BadAddress::Password => BadLocation::Password,
            _ => BadLocation::Address,
        })?;
        if path.contains('@') {
            return Err(BadLocation::Password);
        }
        let (schema, table) = path.split_once('.').unwrap_or((DEFAULT_SCHEMA, path));
        let is_name = |name: &str| !name.is_empty() && !name.contains(['.', '/', '?', '#']);
        match (unescaped(schema), unescaped(table)) {
            (Some(unescaped_schema), Some(unescaped_table)) if is_name(schema) && is_name(table) => {
                Ok(Location { address, schema: unescaped_schema, table: unescaped_table })
            }
            _ => Err(BadLocation::Table),
        }
    }
}

/// `None` if the text is not UTF-8, or if a `%` is not followed by two digits.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        // `from_str_radix` would accept a sign as well.
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// The address of the server without the user, which is the name of the node.
pub fn node_name(address: &Address) -> String {
    address.to_string().replacen("grpc", "quiver", 1)
}

/// Without the user.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |name: &str| {
            name.replace('%', "%25").replace('.', "%2E").replace('/', "%2F").replace('?', "%3F").replace('#', "%23").replace('@', "%40")
        };
        write!(f, "{}/{}.{}", node_name(&self.address), escaped(&self.schema), escaped(&self.table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<Location>().map_or_else(|error| format!("{error:?}"), |location| location.to_string())
    }

    #[test]
    fn a_table_is_named_behind_its_host() {
        assert_eq!(shown("quiver://db/t"), "quiver://db:31337/main.t");
        assert_eq!(shown("QUIVER+TLS://db.example.org:443/sales.orders"), "quiver+tls://db.example.org:443/sales.orders");
        assert_eq!(shown("quiver://[::1]:7/a.b"), "quiver://[::1]:7/a.b");
        assert_eq!(shown("quiver://ann@db/Fl%C3%BCge"), "quiver://db:31337/main.Fl\u{fc}ge");
        let dotted: Location = "quiver://ann@db/a%2Eb.c%2fd%25".parse().unwrap();
        assert_eq!((dotted.schema.as_str(), dotted.table.as_str(), dotted.address.user.as_deref()), ("a.b", "c/d%", Some("ann")));
        assert_eq!(shown(&dotted.to_string()), dotted.to_string());
    }

    #[test]
    fn an_invalid_location_is_an_error_that_says_what_is_expected() {
        for (text, error) in [
            ("db/t", "Scheme"),
            ("grpc://db/t", "Scheme"),
            ("quiver://db", "Table"),
            ("quiver://db/", "Table"),
            ("quiver://db/a.b.c", "Table"),
            ("quiver://db/a.", "Table"),
            ("quiver://db/a/b", "Table"),
            ("quiver://db/t?x=1", "Table"),
            ("quiver://db/%zz", "Table"),
            ("quiver://db/a%+5b", "Table"),
            ("quiver://db/a%4", "Table"),
            ("quiver://db/%ff", "Table"),
            ("quiver://db:0/t", "Address"),
            ("quiver:///t", "Address"),
            ("quiver://ann:secret@db/t", "Password"),
            ("quiver://ann:sec/ret@db/t", "Address"),
        ] {
            assert_eq!(shown(text), error, "{text}");
        }
    }
}

//! The credentials of a call. Nothing is verified here.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tokio_util::sync::CancellationToken;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

use super::certificate::common_name;
use crate::transport::Peer;

/// The padding is optional, because some clients leave it out.
const BASIC: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

pub enum Secret {
    Nothing,
    Basic { user: String, password: String },
    Bearer(String),
}

pub struct Credentials {
    pub secret: Secret,
    pub peer: Option<SocketAddr>,
    /// Cancelling it closes the connection.
    pub cut: Option<CancellationToken>,
    /// The address of the client.
    shown: Option<Peer>,
}

impl Credentials {
    pub fn of<T>(request: &Request<T>) -> Result<Credentials, Status> {
        let secret = Secret::of(request.metadata())?;
        let shown = request.extensions().get::<Peer>().cloned();
        let (peer, cut) = (shown.as_ref().map(|peer| peer.address), shown.as_ref().map(|peer| peer.cut.clone()));
        Ok(Credentials { secret, peer, cut, shown })
    }

    /// The user of the client certificate, if there is one.
    pub fn certificate_user(&self) -> Option<Result<String, Status>> {
        let own = self.shown.as_ref()?.certificates.as_ref()?.first()?;
        Some(common_name(own))
    }
}

impl Secret {
    fn of(headers: &MetadataMap) -> Result<Secret, Status> {
        let Some(header) = headers.get("authorization") else { return Ok(Secret::Nothing) };
        let text = header.to_str().map_err(|_| Status::invalid_argument("the header authorization is not plain ASCII text"))?;
        let Some((scheme, rest)) = text.trim().split_once(' ') else { return Err(unknown()) };
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => Ok(Secret::Bearer(rest.trim().to_string())),
            "basic" => basic(rest.trim()).ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }
}

fn unknown() -> Status {
    Status::unauthenticated("the header authorization is not understood; send Basic with a name and a password, or Bearer with a token")
}

fn basic(text: &str) -> Option<Secret> {
    let pair = String::from_utf8(BASIC.decode(text).ok()?).ok()?;
    let (user, password) = pair.split_once(':')?;
    Some(Secret::Basic { user: user.to_string(), password: password.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str) -> Result<Secret, Status> {
        let mut headers = MetadataMap::new();
        headers.insert("authorization", header.parse().unwrap());
        Secret::of(&headers)
    }

    #[test]
    fn a_password_may_have_a_colon() {
        // ada:a:b
        let Secret::Basic { user, password } = of("Basic YWRhOmE6Yg==").unwrap() else { panic!("not basic") };
        assert_eq!((user.as_str(), password.as_str()), ("ada", "a:b"));
    }

    #[test]
    fn the_scheme_may_be_written_in_any_case() {
        assert!(matches!(of("bearer  7f ").unwrap(), Secret::Bearer(token) if token == "7f"));
        assert!(matches!(of("BASIC YWRhOmI=").unwrap(), Secret::Basic { .. }));
        assert!(matches!(Secret::of(&MetadataMap::new()).unwrap(), Secret::Nothing));
    }

    #[test]
    fn an_unknown_scheme_is_refused() {
        for header in ["x", "Digest abc", "Basic", "Basic %%%", "Basic YWRh"] {
            assert_eq!(of(header).err().unwrap().code(), tonic::Code::Unauthenticated, "{header}");
        }
    }
}

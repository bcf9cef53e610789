//! The channel, the login and the session.

use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow_flight::HandshakeRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flight_wire::COOKIE;
use flight_wire::session_messages::SetSessionOptionsRequest;
use futures::TryStreamExt;
use prost::Message;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::error::{RemoteError, own_certificate, root};
use crate::link::Link;
use crate::options::{ConnectOptions, Login, Tls};

/// The limit for a host that does not answer at all.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// A connection whose peer has vanished silently is noticed after about the sum of the two.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(30);
const KEEPALIVE_WAIT: Duration = Duration::from_secs(20);
/// The flow-control windows. They are small, so that results wait at the server and not here.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;
/// The size of the server's HTTP/2 frames. With the usual 16 KiB, a long result would need very many.
const FRAME_BYTES: u32 = 256 << 10;

/// Connects, logs in and begins a session.
pub async fn connect(options: &ConnectOptions) -> Result<Link, RemoteError> {
    let mut link = Link::new(channel(options).await?);
    let has_session = match &options.login {
        Login::Nobody => false,
        Login::Token(token) => {
            link.set_header("authorization", header(&format!("Bearer {token}"), options)?);
            false
        }
        Login::Password { user, password } => log_in(&mut link, user, password, options).await?,
    };
    if !has_session {
        begin_session(&mut link, options).await?;
    }
    Ok(link)
}

async fn channel(options: &ConnectOptions) -> Result<Channel, RemoteError> {
    let failed = |error: tonic::transport::Error| RemoteError::unreachable(root(&error), options);
    let endpoint = Endpoint::from_shared(options.address.http_uri()).map_err(failed)?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_MAX)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEPALIVE_EVERY)
        .keep_alive_timeout(KEEPALIVE_WAIT)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES);
    let endpoint = match options.address.is_tls {
        // The server was not contacted yet, so an error here is about the client certificate.
        true => endpoint.tls_config(tls(&options.tls)?).map_err(|error| match &options.tls.identity {
            Some((certificate, _)) => own_certificate(certificate, root(&error)),
            None => failed(error),
        })?,
        false if options.tls.ca.is_some() || options.tls.identity.is_some() => {
            return Err(RemoteError::TlsUnused { address: options.address.to_string() });
        }
        false => endpoint,
    };
    endpoint.connect().await.map_err(failed)
}

fn tls(files: &Tls) -> Result<ClientTlsConfig, RemoteError> {
    let config = ClientTlsConfig::new().timeout(CONNECT_MAX);
    let config = match &files.ca {
        Some(path) => config.ca_certificate(Certificate::from_pem(pem(path, "CERTIFICATE")?)),
        None => config.with_native_roots(),
    };
    Ok(match &files.identity {
        Some((certificate, key)) => config.identity(Identity::from_pem(pem(certificate, "CERTIFICATE")?, pem(key, "PRIVATE KEY")?)),
        None => config,
    })
}

/// Without this check, a file that lacks the expected PEM section would be read as an empty list.
fn pem(path: &Path, what: &str) -> Result<String, RemoteError> {
    let path = PathBuf::from(path);
    match std::fs::read_to_string(&path) {
        Ok(text) if text.contains("-----BEGIN ") && text.contains(&format!("{what}-----")) => Ok(text),
        Ok(_) => Err(RemoteError::TlsFile { path, reason: format!("there is no {what} in it, as PEM has it") }),
        Err(error) => Err(RemoteError::TlsFile { path, reason: error.to_string() }),
    }
}

/// Logs in by name and password. The result says whether the answer has begun a session as well.
async fn log_in(link: &mut Link, user: &str, password: &str, options: &ConnectOptions) -> Result<bool, RemoteError> {
    let hello = HandshakeRequest { protocol_version: 0, payload: bytes::Bytes::new() };
    let mut request = link.request(futures::stream::iter([hello]));
    request.metadata_mut().insert("authorization", header(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))), options)?);
    let refused = |status| RemoteError::of_login(&status, options);
    let (headers, answers, _) = link.flight.handshake(request).await.map_err(refused)?.into_parts();
    answers.try_collect::<Vec<_>>().await.map_err(refused)?;
    let token = headers.get("authorization").cloned();
    let token = token.ok_or_else(|| unlike_quiver("a handshake without a token", options))?;
    link.set_header("authorization", token);
    Ok(take_cookies(link, &headers))
}

/// The session is named by a cookie, or by the token that came before it.
async fn begin_session(link: &mut Link, options: &ConnectOptions) -> Result<(), RemoteError> {
    let nothing = SetSessionOptionsRequest::default().encode_to_vec();
    let (headers, _) = link.act("SetSessionOptions", nothing).await.map_err(|status| RemoteError::of_login(&status, options))?;
    if !take_cookies(link, &headers) && matches!(options.login, Login::Nobody) {
        return Err(unlike_quiver("it begins no session", options));
    }
    Ok(())
}

fn take_cookies(link: &mut Link, headers: &MetadataMap) -> bool {
    let cookies = headers.get_all("set-cookie").iter().filter_map(|cookie| cookie.to_str().ok()?.split(';').next());
    let cookies: Vec<&str> = cookies.collect();
    if let Ok(value) = cookies.join("; ").parse::<MetadataValue<Ascii>>()
        && !cookies.is_empty()
    {
        link.set_header("cookie", value);
    }
    cookies.iter().any(|cookie| cookie.trim().starts_with(COOKIE))
}

fn header(text: &str, options: &ConnectOptions) -> Result<MetadataValue<Ascii>, RemoteError> {
    let refused = |_| RemoteError::NotAdmitted {
        address: options.address.to_string(),
        reason: "the token is no line of plain ASCII text".to_string(),
        hint: None,
    };
    text.parse().map_err(refused)
}

fn unlike_quiver(what: &str, options: &ConnectOptions) -> RemoteError {
    RemoteError::Protocol { address: options.address.to_string(), what: what.to_string() }
}

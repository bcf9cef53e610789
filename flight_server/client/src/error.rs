//! Errors of the server or the connection, in the parts that a shell shows.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flight_wire::{ErrorDetails, SESSION_ENDED, place};
use tonic::{Code, Status};

use crate::options::ConnectOptions;
use crate::session_state::{SessionState, time_text};

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The server refused the statement, or it failed there. `kind` is a name of [`engine::ErrorKind`].
    #[error("{message}")]
    Statement { message: String, hint: Option<String>, position: Option<usize>, kind: Option<String> },
    #[error("the connection to {address} is gone: {reason}")]
    Lost { address: String, reason: String },
    /// The server does not know the session any more, and the statement was not run. `lost_state` is what was in it.
    #[error("{}", ended_text(*idle, lost))]
    Ended { idle: Duration, lost: String },
    #[error("cannot connect to {address}: {reason}")]
    Unreachable { address: String, reason: String, hint: Option<&'static str> },
    #[error("{address} does not let you in: {reason}")]
    NotAdmitted { address: String, reason: String, hint: Option<&'static str> },
    #[error("the client certificate {} cannot be used: {reason}", path.display())]
    OwnCertificate { path: PathBuf, reason: String },
    #[error("cannot read {}: {reason}", path.display())]
    TlsFile { path: PathBuf, reason: String },
    #[error("certificates are for addresses with TLS, and {address} is none")]
    TlsUnused { address: String },
    #[error("{address} answers what no server of Quiver does: {what}")]
    Protocol { address: String, what: String },
}

const RECONNECTS: &str = "the next statement connects again, to a new session: settings and an open transaction are lost";
const NEW_SESSION: &str = "the statement was not run; the next one connects again, to a new session";
const NAME_YOURSELF: &str = "give a user with --user NAME, or a token with --token-file FILE";
const PERHAPS_TLS: &str = "a server with TLS is reached by grpc+tls://";
const PERHAPS_PLAIN: &str = "a server without TLS is reached by grpc://";
const UNKNOWN_ISSUER: &str = "name the certificate that has signed the server's with --tls-ca FILE";
const OWN_AUTHORITY: &str =
    "the server's certificate is one of an authority: make it with basicConstraints=CA:FALSE, as docs/security.md shows";
const OLD_CERTIFICATE: &str = "make the server's certificate one of version 3, as docs/security.md shows";
const PERHAPS_CERTIFICATE: &str = "the server perhaps asks for a certificate: --client-cert FILE --client-key FILE";
const PERHAPS_REFUSED: &str =
    "the server perhaps does not take the client certificate: one of its authorities (tls_client_ca) has to have signed it";
const CERTIFICATE_ASKED: &str = "the server asks for a certificate: --client-cert FILE --client-key FILE";

impl RemoteError {
    /// The byte offset in the statement, if the error has a position.
    pub fn position(&self) -> Option<usize> {
        match self {
            RemoteError::Statement { position, .. } => *position,
            _ => None,
        }
    }

    pub fn hint(&self) -> Option<&str> {
        match self {
            RemoteError::Statement { hint, .. } => hint.as_deref(),
            RemoteError::Lost { .. } => Some(RECONNECTS),
            RemoteError::Ended { .. } => Some(NEW_SESSION),
            RemoteError::Unreachable { hint, .. } | RemoteError::NotAdmitted { hint, .. } => *hint,
            RemoteError::TlsUnused { .. } => Some("write grpc+tls://, or leave the certificates out"),
            RemoteError::OwnCertificate { .. } => Some("docs/security.md shows how to make one"),
            RemoteError::TlsFile { .. } | RemoteError::Protocol { .. } => None,
        }
    }

    /// The hint for a server that is reached for its tables: there is no command line, and locations are written differently.
    pub(crate) fn hint_for_tables(&self) -> Option<&'static str> {
        let hint = match self {
            RemoteError::Unreachable { hint, .. } | RemoteError::NotAdmitted { hint, .. } => (*hint)?,
            RemoteError::TlsFile { .. } | RemoteError::OwnCertificate { .. } => {
                return Some("QUIVER_TLS_CA, QUIVER_CLIENT_CERT and QUIVER_CLIENT_KEY name files in PEM");
            }
            _ => return None,
        };
        Some(match hint {
            NAME_YOURSELF => {
                "give a user in QUIVER_USER or before the host in the location, or a token in QUIVER_TOKEN, before the store is opened"
            }
            PERHAPS_TLS => "a table of a server with TLS is at quiver+tls://",
            PERHAPS_PLAIN => "a table of a server without TLS is at quiver://",
            UNKNOWN_ISSUER => "name the certificate that has signed the server's in QUIVER_TLS_CA, before the store is opened",
            PERHAPS_CERTIFICATE => "the server perhaps asks for a certificate: name its files in QUIVER_CLIENT_CERT and QUIVER_CLIENT_KEY",
            CERTIFICATE_ASKED => "the server asks for a certificate: name its files in QUIVER_CLIENT_CERT and QUIVER_CLIENT_KEY",
            other => other,
        })
    }

    /// The error of a call for a statement, in a session that had `session_state`.
    pub(crate) fn of_call(status: &Status, sql: &str, options: &ConnectOptions, session_state: &SessionState) -> RemoteError {
        let lost = |reason: String| RemoteError::Lost { address: options.address.to_string(), reason };
        if let Some(cause) = status.source() {
            return lost(root(cause));
        }
        let ErrorDetails { hint, kind, position } = ErrorDetails::of_status(status);
        if kind.as_deref() == Some(SESSION_ENDED) {
            return RemoteError::Ended { idle: session_state.idle(), lost: session_state.lost_state() };
        }
        // The server no longer knows the token; or the channel has given up: a server answers with no such code.
        if matches!(status.code(), Code::Unauthenticated | Code::Unknown) {
            return lost(status.message().to_string());
        }
        let mut message = status.message();
        if let Some(place) = position.and_then(|position| place(sql, position)) {
            message = message.strip_suffix(&format!(" ({place})")).unwrap_or(message);
        }
        if let Some(hint) = &hint {
            message = message.strip_suffix(&format!("; {hint}")).unwrap_or(message);
        }
        RemoteError::Statement { message: message.to_string(), hint, position, kind }
    }

    /// The error of a call that begins a session.
    pub(crate) fn of_login(status: &Status, options: &ConnectOptions) -> RemoteError {
        if let Some(cause) = status.source() {
            return RemoteError::unreachable(root(cause), options);
        }
        let (address, reason) = (options.address.to_string(), status.message().to_string());
        match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => {
                let hint = options.user().is_none().then_some(NAME_YOURSELF);
                RemoteError::NotAdmitted { address, reason, hint }
            }
            Code::Unimplemented => RemoteError::Protocol { address, what: reason },
            // The channel has given up; a server answers with no such code.
            Code::Unknown => RemoteError::unreachable(reason, options),
            _ => RemoteError::Unreachable { address, reason, hint: None },
        }
    }

    pub(crate) fn unreachable(reason: String, options: &ConnectOptions) -> RemoteError {
        let hint = connection_hint(&reason, options.address.is_tls, options.tls.identity.is_some());
        RemoteError::Unreachable { address: options.address.to_string(), reason: certificate_message(reason), hint }
    }

    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, RemoteError::Lost { .. } | RemoteError::Ended { .. })
    }

    /// Whether the statement can be run in a new session as if that were the old one.
    pub(crate) fn has_lost_nothing(&self) -> bool {
        matches!(self, RemoteError::Ended { lost, .. } if lost.is_empty())
    }
}

fn ended_text(idle: Duration, lost: &str) -> String {
    let lost = if lost.is_empty() { String::new() } else { format!("; lost are {lost}") };
    format!("the session was idle for {} and has ended{lost}", time_text(idle))
}

/// Turns the error of rustls about a server's certificate, which consists of type names, into a sentence.
fn certificate_message(reason: String) -> String {
    let Some(wrong) = reason.strip_prefix("invalid peer certificate: ") else { return reason };
    let has = |words: &str| wrong.contains(words);
    let what = match () {
        () if has("CaUsedAsEndEntity") => "is one of an authority, and not of a server",
        () if has("UnsupportedCertVersion") => "is of version 1 of X.509, and has to be of version 3",
        // An authority of the same name may be trusted, with another kind of key.
        () if has("UnknownIssuer") || has("UnsupportedSignatureAlgorithm") || has("BadSignature") => {
            "is signed by no authority that is known here"
        }
        () => return reason,
    };
    format!("the server's certificate {what}")
}

/// The error of the client's own certificate, in words.
pub(crate) fn own_certificate(path: &Path, reason: String) -> RemoteError {
    let reason = match () {
        () if reason.contains("UnsupportedCertVersion") => "it is of version 1 of X.509, and has to be of version 3".to_string(),
        () if reason.contains("KeyMismatch") => "it does not belong to the key".to_string(),
        () => reason,
    };
    RemoteError::OwnCertificate { path: path.to_path_buf(), reason }
}

/// What rustls, h2 and hyper say of a connection that the server has closed; hyper's last, if it closed before the first request.
const CUT: [&str; 5] = ["connection closed", "connection error", "reset by peer", "roken pipe", "connection was not ready"];

/// The probable cause when a server refuses the connection or is not found.
fn connection_hint(reason: &str, is_tls: bool, has_identity: bool) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if has(&["CaUsedAsEndEntity"]) {
        Some(OWN_AUTHORITY)
    } else if has(&["CertificateRequired", "certificate required"]) {
        Some(CERTIFICATE_ASKED)
    } else if has(&["UnsupportedCertVersion"]) {
        Some(OLD_CERTIFICATE)
    } else if has(&["invalid peer certificate"]) {
        // The reason already names its validity period and its names.
        let has_reason = has(&["xpired", "NotValid", "not valid"]);
        (!has_reason).then_some(UNKNOWN_ISSUER)
    } else if is_tls {
        // With TLS 1.3 a server checks the client certificate after the client's handshake has ended, and closes. Its alert may get lost.
        let is_cut = has(&CUT) || has_identity && has(&["fatal alert"]);
        match has(&["InvalidContentType", "corrupt message"]) {
            true => Some(PERHAPS_PLAIN),
            false => is_cut.then_some(if has_identity { PERHAPS_REFUSED } else { PERHAPS_CERTIFICATE }),
        }
    } else {
        // A server is there, but it closes the connection or does not speak plain gRPC.
        has(&CUT).then_some(PERHAPS_TLS)
    }
}

/// The root cause, which is the most specific: the errors above it only say that something failed.
pub(crate) fn root(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_for_tables_of_a_server_do_not_name_the_command_line() {
        for hint in [
            NAME_YOURSELF,
            PERHAPS_TLS,
            PERHAPS_PLAIN,
            UNKNOWN_ISSUER,
            OWN_AUTHORITY,
            OLD_CERTIFICATE,
            PERHAPS_CERTIFICATE,
            PERHAPS_REFUSED,
            CERTIFICATE_ASKED,
        ] {
            let (address, reason) = ("grpc://db:1".to_string(), "no".to_string());
            let error = RemoteError::Unreachable { address, reason, hint: Some(hint) };
            assert_eq!(error.hint(), Some(hint));
            let table_hint = error.hint_for_tables().unwrap();
            assert!(!table_hint.contains("--") && !table_hint.contains("grpc"), "{table_hint}");
        }
    }

    #[test]
    fn an_unreachable_server_has_a_hint_with_the_probable_cause() {
        for (reason, is_tls, hint) in [
            ("connection closed", false, Some(PERHAPS_TLS)),
            ("http2 error: connection error detected: frame with invalid size", false, Some(PERHAPS_TLS)),
            ("Connection reset by peer (os error 104)", false, Some(PERHAPS_TLS)),
            ("Connection refused (os error 111)", false, None),
            ("Too many open files (os error 24)", false, None),
            ("failed to lookup address information: Name or service not known", false, None),
            ("received corrupt message of type InvalidContentType", true, Some(PERHAPS_PLAIN)),
            ("invalid peer certificate: UnknownIssuer", true, Some(UNKNOWN_ISSUER)),
            ("invalid peer certificate: UnsupportedSignatureAlgorithmContext { .. }", true, Some(UNKNOWN_ISSUER)),
            ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", true, Some(OWN_AUTHORITY)),
            ("invalid peer certificate: certificate expired: verification time 7", true, None),
            ("received fatal alert: CertificateRequired", true, Some(CERTIFICATE_ASKED)),
            ("invalid peer certificate: Other(OtherError(UnsupportedCertVersion))", true, Some(OLD_CERTIFICATE)),
            ("connection closed", true, Some(PERHAPS_CERTIFICATE)),
            ("connection was not ready", true, Some(PERHAPS_CERTIFICATE)),
            ("stream closed because of a broken pipe", true, Some(PERHAPS_CERTIFICATE)),
        ] {
            assert_eq!(connection_hint(reason, is_tls, false), hint, "{reason}");
        }
        assert_eq!(connection_hint("connection closed", true, true), Some(PERHAPS_REFUSED));
    }

    #[test]
    fn a_bad_certificate_is_explained_in_words() {
        for (wrong, words) in [
            ("UnknownIssuer", "is signed by no authority that is known here"),
            (
                "UnsupportedSignatureAlgorithmForPublicKeyContext { signature_algorithm_id: [], .. }",
                "is signed by no authority that is known here",
            ),
            ("Other(OtherError(CaUsedAsEndEntity))", "is one of an authority, and not of a server"),
            ("Other(OtherError(UnsupportedCertVersion))", "is of version 1 of X.509, and has to be of version 3"),
        ] {
            assert_eq!(certificate_message(format!("invalid peer certificate: {wrong}")), format!("the server's certificate {words}"));
        }
        let expired = "invalid peer certificate: certificate expired: verification time 7";
        assert_eq!(certificate_message(expired.to_string()), expired);
    }
}

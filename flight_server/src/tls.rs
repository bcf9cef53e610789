//! Certificates and keys from files, looked over before they are used: an error names the file and what is wrong.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use x509_cert::der::Decode;

use crate::auth::decode_base64;

#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// PEM: the server's certificate, and after it those between it and its authority.
    pub cert: Option<PathBuf>,
    /// PEM: its private key.
    pub key: Option<PathBuf>,
    /// PEM: the authorities of client certificates. With it clients show certificates too.
    pub client_ca: Option<PathBuf>,
    /// One of [`CLIENT_CERT`].
    pub client_cert: String,
}

/// Whether a connection without a client certificate is refused; if not, its calls need another way to say who calls.
pub const CLIENT_CERT: &[&str] = &[REQUIRED, "optional"];
const REQUIRED: &str = "required";

impl Default for TlsOptions {
    fn default() -> Self {
        TlsOptions { cert: None, key: None, client_ca: None, client_cert: REQUIRED.to_string() }
    }
}

impl TlsOptions {
    pub fn is_on(&self) -> bool {
        self.cert.is_some() || self.key.is_some() || self.client_ca.is_some()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("TLS needs a certificate and its private key: give --tls-cert FILE and --tls-key FILE")]
    Incomplete,
    #[error("{path} cannot be read: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} has no certificate; it must be PEM text with BEGIN CERTIFICATE")]
    NoCertificate { path: PathBuf },
    #[error("{path} has a certificate that cannot be read: {reason}")]
    BadCertificate { path: PathBuf, reason: String },
    #[error("{path} has no private key that is understood; it must be PEM text with BEGIN PRIVATE KEY and without a password")]
    NoKey { path: PathBuf },
    #[error("the certificate {cert} and the private key {key} cannot be used together: {reason}")]
    Unusable { cert: PathBuf, key: PathBuf, reason: String },
}

/// Between connecting and the end of the handshake; a client that says nothing holds its place no longer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const KEYS: [&str; 3] = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];

/// A server builder with it, if there is to be TLS.
pub fn secured(server: tonic::transport::Server, options: &TlsOptions) -> Result<tonic::transport::Server, TlsError> {
    if !options.is_on() {
        return Ok(server);
    }
    let (cert, key) = options.cert.as_deref().zip(options.key.as_deref()).ok_or(TlsError::Incomplete)?;
    let (cert_text, key_text) = (certificates(cert)?, read(key)?);
    if !KEYS.iter().any(|kind| !blocks(&key_text, kind).is_empty()) {
        return Err(TlsError::NoKey { path: key.to_path_buf() });
    }
    let mut config = ServerTlsConfig::new().identity(Identity::from_pem(cert_text, key_text)).timeout(HANDSHAKE_TIMEOUT);
    if let Some(ca) = &options.client_ca {
        config = config.client_ca_root(Certificate::from_pem(certificates(ca)?)).client_auth_optional(options.client_cert != REQUIRED);
    }
    let unusable = |error| TlsError::Unusable { cert: cert.to_path_buf(), key: key.to_path_buf(), reason: innermost(&error).to_string() };
    server.tls_config(config).map_err(unusable)
}

/// The text of a file with certificates, each of which can be read.
fn certificates(path: &Path) -> Result<String, TlsError> {
    let text = read(path)?;
    let blocks = blocks(&text, "CERTIFICATE");
    if blocks.is_empty() {
        return Err(TlsError::NoCertificate { path: path.to_path_buf() });
    }
    for block in blocks {
        let bad = |reason: String| TlsError::BadCertificate { path: path.to_path_buf(), reason };
        let der = decode_base64(&block).ok_or_else(|| bad("it is no base64".to_string()))?;
        let certificate = x509_cert::Certificate::from_der(&der).map_err(|error| bad(error.to_string()))?;
        let until = certificate.tbs_certificate.validity.not_after;
        if until.to_system_time() < SystemTime::now() {
            tracing::warn!(path = %path.display(), %until, "a certificate has expired: clients that verify it will refuse it");
        }
    }
    Ok(text)
}

fn read(path: &Path) -> Result<String, TlsError> {
    std::fs::read_to_string(path).map_err(|source| TlsError::Read { path: path.to_path_buf(), source })
}

/// What stands between BEGIN and END of a kind, without line ends.
fn blocks(pem: &str, kind: &str) -> Vec<String> {
    let (begin, end) = (format!("-----BEGIN {kind}-----"), format!("-----END {kind}-----"));
    let parts = pem.split(begin.as_str()).skip(1).filter_map(|rest| rest.split_once(end.as_str()));
    parts.map(|(block, _)| block.split_whitespace().collect()).collect()
}

/// The outer errors only say that there was one.
fn innermost<'a>(error: &'a (dyn std::error::Error + 'static)) -> &'a (dyn std::error::Error + 'static) {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_among_other_text() {
        let pem = "subject: x\n-----BEGIN CERTIFICATE-----\nAB\nCD\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nEF\n-----END PRIVATE KEY-----\n";
        assert_eq!(blocks(pem, "CERTIFICATE"), ["ABCD"]);
        assert_eq!(blocks(pem, "PRIVATE KEY"), ["EF"]);
        assert!(blocks(pem, "EC PRIVATE KEY").is_empty());
    }
}

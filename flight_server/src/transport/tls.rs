//! Certificates and keys from files, which are checked before use: an error names the file and the problem. They can be reloaded,
//! which affects later connections.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::RwLock;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};
use x509_cert::der::Decode;

use crate::options::{CLIENT_CERT_REQUIRED, TlsOptions};

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

/// The ALPN protocol.
const HTTP2: &[u8] = b"h2";

/// The certificates as they were read last. Clones share them.
#[derive(Debug, Clone)]
pub struct Certificates(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: TlsOptions,
    config: RwLock<Arc<ServerConfig>>,
}

impl Certificates {
    /// `None` if TLS is off.
    pub fn of(options: &TlsOptions) -> Result<Option<Certificates>, TlsError> {
        if !options.is_on() {
            return Ok(None);
        }
        let config = RwLock::new(Arc::new(config(options)?));
        Ok(Some(Certificates(Arc::new(Inner { options: options.clone(), config }))))
    }

    /// Reads the files again. Open connections are not affected. If a file is invalid, the previous certificates stay.
    pub fn reload(&self) -> Result<(), TlsError> {
        match config(&self.0.options) {
            Ok(config) => {
                *self.0.config.write() = Arc::new(config);
                tracing::info!("the certificates were read again");
                Ok(())
            }
            Err(error) => {
                tracing::error!("the certificates stay as they were: {error}");
                Err(error)
            }
        }
    }

    /// The acceptor for one connection.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.config.read())
    }
}

fn config(options: &TlsOptions) -> Result<ServerConfig, TlsError> {
    let (cert, key) = options.cert.as_deref().zip(options.key.as_deref()).ok_or(TlsError::Incomplete)?;
    let (chain, private_key) = (certificates(cert)?, private_key(key)?);
    let unusable =
        |error: rustls::Error| TlsError::Unusable { cert: cert.to_path_buf(), key: key.to_path_buf(), reason: error.to_string() };
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().map_err(unusable)?;
    let builder = match &options.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let bad = |reason: String| TlsError::BadCertificate { path: ca.clone(), reason };
            let mut authorities = RootCertStore::empty();
            for certificate in certificates(ca)? {
                authorities.add(certificate).map_err(|error| bad(error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
            let verifier = if options.client_cert == CLIENT_CERT_REQUIRED { verifier } else { verifier.allow_unauthenticated() };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| bad(error.to_string()))?)
        }
    };
    let mut config = builder.with_single_cert(chain, private_key).map_err(unusable)?;
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(config)
}

/// Reads a file of certificates and checks each of them.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bad = |reason: String| TlsError::BadCertificate { path: path.to_path_buf(), reason };
    let certificates: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(read(path)?.as_bytes()).collect();
    let certificates = certificates.map_err(|error| bad(error.to_string()))?;
    if certificates.is_empty() {
        return Err(TlsError::NoCertificate { path: path.to_path_buf() });
    }
    for der in &certificates {
        let certificate = x509_cert::Certificate::from_der(der).map_err(|error| bad(error.to_string()))?;
        let until = certificate.tbs_certificate.validity.not_after;
        if until.to_system_time() < SystemTime::now() {
            tracing::warn!(path = %path.display(), %until, "a certificate has expired: clients that verify it will refuse it");
        }
    }
    Ok(certificates)
}

/// The first key of the file.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(read(path)?.as_bytes()).map_err(|_| TlsError::NoKey { path: path.to_path_buf() })
}

fn read(path: &Path) -> Result<String, TlsError> {
    std::fs::read_to_string(path).map_err(|source| TlsError::Read { path: path.to_path_buf(), source })
}

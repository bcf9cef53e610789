//! A test certificate authority and its certificates, as files and for clients.

use std::net::SocketAddr;
use std::path::PathBuf;

use flight_server::TlsOptions;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tempfile::TempDir;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, Identity};

pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
    dir: TempDir,
}

/// PEM.
pub struct Issued {
    pub certificate: String,
    pub key: String,
}

fn params(names: &[&str], common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(names.iter().map(|name| name.to_string()).collect::<Vec<_>>()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = params(&[], "an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key).unwrap();
        Authority { certificate, issuer: Issuer::new(params, key), dir: tempfile::tempdir().unwrap() }
    }

    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    fn issued(&self, mut params: CertificateParams, purpose: ExtendedKeyUsagePurpose) -> Issued {
        let key = KeyPair::generate().unwrap();
        params.extended_key_usages = vec![purpose];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    pub fn server(&self) -> Issued {
        self.issued(params(&["localhost", "127.0.0.1"], "a server"), ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub fn client(&self, common_name: &str) -> Issued {
        self.issued(params(&[], common_name), ExtendedKeyUsagePurpose::ClientAuth)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Options of a server with a certificate of this authority.
    pub fn tls(&self) -> TlsOptions {
        let issued = self.server();
        let (cert, key) = (self.file("server.crt", &issued.certificate), self.file("server.key", &issued.key));
        TlsOptions { cert: Some(cert), key: Some(key), ..TlsOptions::default() }
    }

    /// Options of a server that requires client certificates of this authority as well.
    pub fn mutual(&self, client_cert: &str) -> TlsOptions {
        TlsOptions { client_ca: Some(self.file("ca.crt", &self.pem())), client_cert: client_cert.to_string(), ..self.tls() }
    }

    /// A client that trusts this authority.
    pub fn channel(&self, address: SocketAddr, own: Option<&Issued>) -> Channel {
        let mut tls = ClientTlsConfig::new().ca_certificate(tonic::transport::Certificate::from_pem(self.pem())).domain_name("localhost");
        if let Some(own) = own {
            tls = tls.identity(Identity::from_pem(&own.certificate, &own.key));
        }
        Endpoint::from_shared(format!("https://{address}")).unwrap().tls_config(tls).unwrap().connect_lazy()
    }
}

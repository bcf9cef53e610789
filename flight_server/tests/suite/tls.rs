//! TLS and mTLS, with certificates of a test authority.

use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use engine::{Engine, EngineOptions};
use flight_server::{Server, ServerOptions, TlsOptions};
use tonic::Code;
use tonic::transport::Channel;

use crate::certificates::{Authority, Issued};
use crate::helpers::{Client, Served, code, options, query, shown, status, wait};

fn served(tls: TlsOptions, users: &[&str]) -> Served {
    Served::with_users(ServerOptions { tls, ..options() }, users)
}

fn client(authority: &Authority, served: &Served, own: Option<&Issued>) -> Client {
    FlightSqlServiceClient::new(channel(authority, served, own))
}

fn channel(authority: &Authority, served: &Served, own: Option<&Issued>) -> Channel {
    wait(async { authority.channel(served.address, own) })
}

/// A status of the client about its connection, and not one of the server.
fn is_cut_off<T>(answer: &Result<T, FlightError>) -> bool {
    matches!(answer, Err(FlightError::Tonic(status)) if matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal))
}

fn answer(client: &mut Client) -> Vec<String> {
    shown(&wait(query(client, "SELECT 7", None)).unwrap())
}

#[test]
fn a_client_that_trusts_the_authority_logs_in() {
    let authority = Authority::new();
    let served = served(authority.tls(), &["ada"]);
    let mut client = client(&authority, &served, None);
    assert_eq!(code(wait(query(&mut client, "SELECT 7", None))), Code::Unauthenticated);
    wait(client.handshake("ada", "secret")).unwrap();
    assert_eq!(answer(&mut client), ["7"]);
}

#[test]
fn tls_without_users_admits_every_client() {
    let authority = Authority::new();
    let served = served(authority.tls(), &[]);
    assert_eq!(answer(&mut client(&authority, &served, None)), ["7"]);
}

#[test]
fn a_client_without_tls_is_not_answered() {
    let authority = Authority::new();
    let served = served(authority.tls(), &["ada"]);
    // The channel of the helper has no TLS.
    let refused = wait(served.client().handshake("ada", "secret")).unwrap_err();
    // The message depends on how far the handshake got.
    assert!(refused.to_string().to_lowercase().contains("transport"), "{refused}");
    assert!(is_cut_off(&served.try_rows("SELECT 1")));
}

#[test]
fn a_client_that_knows_another_authority_does_not_trust_the_server() {
    let (authority, other) = (Authority::new(), Authority::new());
    let served = served(authority.tls(), &["ada"]);
    assert!(is_cut_off(&wait(query(&mut client(&other, &served, None), "SELECT 7", None))));
}

#[test]
fn a_client_certificate_authenticates_the_caller() {
    let authority = Authority::new();
    let served = served(authority.mutual("required"), &["ada", "bob"]);
    served.embedded("CREATE TABLE t AS SELECT 7 AS a");
    let (ada, bob) = (authority.client("ada"), authority.client("bob"));
    let rows = |own| shown(&wait(query(&mut client(&authority, &served, Some(own)), "SELECT a FROM t", None)).unwrap());
    assert_eq!(rows(&ada), ["7"]);
    assert!(wait(query(&mut client(&authority, &served, Some(&bob)), "SELECT a FROM t", None)).is_err());
    served.embedded("GRANT SELECT ON TABLE t TO bob");
    assert_eq!(rows(&bob), ["7"]);
}

#[test]
fn a_client_certificate_of_no_user_or_of_another_authority_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let served = served(authority.mutual("required"), &["ada"]);
    let eve = authority.client("eve");
    let refused = status(wait(query(&mut client(&authority, &served, Some(&eve)), "SELECT 7", None)));
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("\"eve\", who is no user"), "{refused}");
    let forged = other.client("ada");
    assert!(is_cut_off(&wait(query(&mut client(&authority, &served, Some(&forged)), "SELECT 7", None))));
}

#[test]
fn a_client_without_a_certificate_is_let_in_only_where_it_may_have_none() {
    let authority = Authority::new();
    let strict = served(authority.mutual("required"), &["ada"]);
    assert!(is_cut_off(&wait(query(&mut client(&authority, &strict, None), "SELECT 7", None))));
    let lenient = served(authority.mutual("optional"), &["ada"]);
    let mut client = client(&authority, &lenient, None);
    assert_eq!(code(wait(query(&mut client, "SELECT 7", None))), Code::Unauthenticated);
    wait(client.handshake("ada", "secret")).unwrap();
    assert_eq!(answer(&mut client), ["7"]);
}

#[test]
fn a_file_that_will_not_do_is_named() {
    let authority = Authority::new();
    let (good, other) = (authority.tls(), authority.server());
    let missing = authority.file("missing", "").with_extension("not-there");
    let garbage = authority.file("garbage.pem", "garbage");
    let broken = authority.file("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let other_key = authority.file("other.key", &other.key);
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    let refused = |tls: TlsOptions| wait(Server::bind(&engine, ServerOptions { tls, ..options() })).err().unwrap().to_string();
    let cert = |cert: &std::path::Path| refused(TlsOptions { cert: Some(cert.to_path_buf()), ..good.clone() });
    let key = |key: &std::path::Path| refused(TlsOptions { key: Some(key.to_path_buf()), ..good.clone() });
    assert!(cert(&missing).contains("missing.not-there cannot be read"), "{}", cert(&missing));
    assert!(cert(&garbage).contains("garbage.pem has no certificate"), "{}", cert(&garbage));
    assert!(cert(&broken).contains("broken.pem has a certificate that cannot be read"), "{}", cert(&broken));
    assert!(key(&garbage).contains("garbage.pem has no private key"), "{}", key(&garbage));
    let half = refused(TlsOptions { key: None, ..good.clone() });
    assert!(half.contains("--tls-cert FILE and --tls-key FILE"), "{half}");
    assert!(key(&other_key).contains("other.key cannot be used together"), "{}", key(&other_key));
}

/// Replaces the certificate of the server by another one.
fn replace(tls: &TlsOptions, with: &Issued) {
    std::fs::write(tls.cert.as_ref().unwrap(), &with.certificate).unwrap();
    std::fs::write(tls.key.as_ref().unwrap(), &with.key).unwrap();
}

#[test]
fn certificates_that_are_read_again_are_for_new_connections() {
    let (authority, other) = (Authority::new(), Authority::new());
    let tls = authority.tls();
    let served = served(tls.clone(), &[]);
    let certificates = served.certificates.clone().unwrap();
    let mut before = client(&authority, &served, None);
    assert_eq!(answer(&mut before), ["7"]);
    replace(&tls, &other.server());
    assert_eq!(answer(&mut client(&authority, &served, None)), ["7"]);
    certificates.reload().unwrap();
    assert_eq!(answer(&mut client(&other, &served, None)), ["7"]);
    assert!(is_cut_off(&wait(query(&mut client(&authority, &served, None), "SELECT 7", None))));
    // The old connection is still open: a new one would not trust the server.
    assert_eq!(answer(&mut before), ["7"]);
}

#[test]
fn with_a_file_that_will_not_do_the_certificates_stay_as_they_were() {
    let (authority, other) = (Authority::new(), Authority::new());
    let tls = authority.mutual("optional");
    let served = served(tls.clone(), &[]);
    let certificates = served.certificates.clone().unwrap();
    let refused = |path: &Option<std::path::PathBuf>, text: &str| {
        let path = path.as_ref().unwrap();
        let good = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, text).unwrap();
        let refused = certificates.reload().unwrap_err().to_string();
        assert_eq!(answer(&mut client(&authority, &served, None)), ["7"]);
        std::fs::write(path, good).unwrap();
        refused
    };
    assert!(refused(&tls.cert, "garbage").contains("server.crt has no certificate"));
    assert!(refused(&tls.key, "").contains("server.key has no private key"));
    assert!(refused(&tls.key, &other.server().key).contains("server.key cannot be used together"));
    assert!(
        refused(&tls.client_ca, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            .contains("ca.crt has a certificate that cannot be read")
    );
    certificates.reload().unwrap();
    assert_eq!(answer(&mut client(&authority, &served, None)), ["7"]);
}

#[test]
fn authorities_of_clients_are_read_again_too() {
    let (authority, other) = (Authority::new(), Authority::new());
    let tls = authority.mutual("required");
    let served = served(tls.clone(), &["ada"]);
    let (old, new) = (authority.client("ada"), other.client("ada"));
    assert_eq!(answer(&mut client(&authority, &served, Some(&old))), ["7"]);
    assert!(is_cut_off(&wait(query(&mut client(&authority, &served, Some(&new)), "SELECT 7", None))));
    std::fs::write(tls.client_ca.as_ref().unwrap(), other.pem()).unwrap();
    served.certificates.as_ref().unwrap().reload().unwrap();
    assert_eq!(answer(&mut client(&authority, &served, Some(&new))), ["7"]);
    assert!(is_cut_off(&wait(query(&mut client(&authority, &served, Some(&old)), "SELECT 7", None))));
}

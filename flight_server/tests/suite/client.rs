//! The client library, as the shell uses it.

use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use engine::StatementKind;
use flight_client::{Address, ConnectOptions, Login, RemoteError, RemoteSession, Tls};
use flight_server::ServerOptions;
use futures::StreamExt;

use crate::certificates::{Authority, Issued};
use crate::helpers::{Served, eventually, options, shown, wait};

/// Returns no row for hours.
const SILENT: &str =
    "SELECT count(*) FROM generate_series(1, 1000000000) AS a (x), generate_series(1, 1000000000) AS b (y) WHERE x * y = 7";
/// Reads a table twice, and then works for long.
const LONG: &str = "SELECT count(*) AS n FROM t AS one, t AS other WHERE one.a * other.a % 1000003 = -1";
const ENDLESS: &str = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";

fn connected(served: &Served) -> RemoteSession {
    let address: Address = format!("grpc://{}", served.address).parse().unwrap();
    wait(RemoteSession::connect(ConnectOptions { address, tls: Tls::default(), login: Login::Nobody })).unwrap()
}

fn rows(session: &RemoteSession, sql: &str) -> Vec<String> {
    let batches: Vec<RecordBatch> = wait(async { session.execute(sql).await.unwrap().collect().await.unwrap() });
    shown(&batches)
}

fn error(session: &RemoteSession, sql: &str) -> RemoteError {
    wait(async {
        match session.execute(sql).await {
            Ok(output) => output.collect().await.expect_err("it fails"),
            Err(error) => error,
        }
    })
}

#[test]
fn statements_have_their_kind_and_their_report() {
    let served = Served::new();
    let session = connected(&served);
    let kind = |sql: &str| {
        wait(async {
            let mut output = session.execute(sql).await.unwrap();
            while let Some(batch) = output.next().await {
                batch.unwrap();
            }
            (output.kind(), output.report().rows_total)
        })
    };
    assert_eq!(kind("CREATE TABLE t (a BIGINT)"), (StatementKind::Ddl, 0));
    assert_eq!(kind("INSERT INTO t VALUES (1), (2)"), (StatementKind::Write, 0));
    assert_eq!(kind("SELECT * FROM t"), (StatementKind::Query, 2));
    assert_eq!(kind("SET threads = 1"), (StatementKind::Set, 0));
    assert_eq!(kind("BEGIN"), (StatementKind::Transaction, 0));
    assert_eq!(rows(&session, "INSERT INTO t VALUES (3), (4), (5)"), ["3"]);
    assert_eq!(rows(&session, "ROLLBACK"), [""; 0]);
    assert_eq!(rows(&session, "SELECT a FROM t ORDER BY a"), ["1", "2"]);
}

#[test]
fn types_are_those_of_the_engine() {
    let served = Served::new();
    let session = connected(&served);
    let sql = "SELECT 'text' AS s, CAST(1.5 AS DECIMAL(10, 2)) AS d, TIMESTAMPTZ '2026-11-20 00:00:00Z' AS t, [1] AS l";
    let remote = wait(session.execute(sql)).unwrap().schema();
    let embedded = served.embedded(sql).schema();
    // The shell gets text as views, stored or computed.
    assert_eq!(*remote.field(0), embedded.field(0).clone().with_data_type(DataType::Utf8View));
    assert_eq!(remote.fields()[1..], embedded.fields()[1..]);
}

#[test]
fn an_error_comes_in_its_parts() {
    let served = Served::new();
    let session = connected(&served);
    rows(&session, "CREATE TABLE flights (origin VARCHAR)");
    let sql = "SELECT 'ü',\n  orign FROM flights";
    let refused = error(&session, sql);
    assert_eq!(refused.position(), Some(sql.find("orign").unwrap()));
    assert_eq!(refused.hint(), Some("did you mean \"origin\"?"));
    assert!(!refused.to_string().contains("line") && !refused.to_string().contains("did you mean"), "{refused}");
    // An error during the execution.
    let refused = error(&session, "SELECT CAST(value || 'x' AS INT) FROM generate_series(1, 10) AS t (value)");
    assert!(matches!(refused, RemoteError::Statement { .. }), "{refused}");
}

#[test]
fn a_query_is_cancelled_where_its_output_is_dropped() {
    let served = Served::new();
    let session = connected(&served);
    for sql in [SILENT, ENDLESS] {
        let mut output = wait(session.execute(sql)).unwrap();
        wait(async {
            let _ = tokio::time::timeout(Duration::from_millis(100), output.next()).await;
        });
        eventually("the query runs", || served.stat("results_running") == 1);
        drop(output);
        eventually("no query runs", || served.stat("results_running") == 0);
    }
    assert_eq!(rows(&session, "SELECT 1"), ["1"]);
}

#[test]
fn a_change_is_cancelled_when_its_client_leaves() {
    let served = Served::new();
    let session = connected(&served);
    rows(&session, "CREATE TABLE t (a BIGINT)");
    let insert = format!("INSERT INTO t {ENDLESS}");
    wait(async {
        let _ = tokio::time::timeout(Duration::from_millis(200), session.execute(&insert)).await;
    });
    // It waits for the session's lock, and so for the end of the other statement.
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn a_session_tells_how_far_its_statement_is() {
    let served = Served::new();
    let session = connected(&served);
    assert!(wait(session.progress()).is_none());
    rows(&session, "CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 100000) AS s (value)");
    // A query runs while it is fetched, and anything else before there is a ticket.
    for sql in [LONG.to_string(), format!("CREATE TABLE u AS {LONG}")] {
        let first_report = async {
            loop {
                if let Some(report) = session.progress().await
                    && report.rows_scanned > 0
                {
                    return report;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let run = async { session.execute(&sql).await?.collect().await };
        let report = wait(async {
            tokio::select! {
                report = first_report => report,
                done = run => panic!("it has ended: {done:?}"),
            }
        });
        assert!(report.rows_scanned <= report.rows_total, "{report:?}");
        eventually("nothing runs any more", || wait(session.progress()).is_none());
    }
}

#[test]
fn a_session_that_is_forgotten_is_replaced_with_a_word_about_it() {
    let served = Served::with(ServerOptions { session_idle: Duration::from_secs(2), ..options() });
    let session = connected(&served);
    for sql in ["CREATE TABLE t (a INT)", "BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"] {
        rows(&session, sql);
    }
    eventually("the session is forgotten", || served.stat("sessions") == 0);
    assert_eq!(session.take_notice(), None);
    // It runs once, in the new session.
    assert_eq!(rows(&session, "INSERT INTO t VALUES (2)"), ["1"]);
    let notice = session.take_notice().unwrap();
    assert!(notice.contains("the session was idle for ") && notice.contains("nothing was lost"), "{notice}");
    assert_eq!(session.take_notice(), None);
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["2"]);
}

#[test]
fn the_lost_state_of_an_expired_session_is_reported_before_anything_runs() {
    let served = Served::with(ServerOptions { session_idle: Duration::from_secs(2), ..options() });
    let session = connected(&served);
    rows(&session, "CREATE TABLE t (a INT)");
    for (statements, lost) in [
        (vec!["SET threads = 1"], "what was SET"),
        (vec!["PREPARE p AS SELECT 1"], "prepared statements"),
        (vec!["CREATE TEMPORARY TABLE v (a INT)", "BEGIN"], "temporary tables, the open transaction"),
    ] {
        statements.into_iter().for_each(|sql| drop(rows(&session, sql)));
        eventually("the session is forgotten", || served.stat("sessions") == 0);
        let ended = error(&session, "INSERT INTO t VALUES (1)");
        assert!(matches!(ended, RemoteError::Ended { .. }), "{ended:?}");
        assert!(ended.to_string().ends_with(&format!(" and has ended; lost are {lost}")), "{ended}");
        assert!(ended.hint().is_some_and(|hint| hint.contains("was not run")));
        assert!(!session.is_connected());
        assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["0"]);
    }
    assert_eq!(session.take_notice(), None);
}

/// The error of a refused connection.
fn refused(served: &Served, tls: Tls) -> (String, String) {
    let address: Address = format!("grpc+tls://localhost:{}", served.address.port()).parse().unwrap();
    let error = wait(RemoteSession::connect(ConnectOptions { address, tls, login: Login::Nobody })).err().unwrap();
    (error.to_string(), error.hint().unwrap_or_default().to_string())
}

#[test]
fn errors_of_certificates_are_sentences() {
    let (authority, other) = (Authority::new(), Authority::new());
    let served = Served::with_users(ServerOptions { tls: authority.mutual("required"), ..options() }, &["ada"]);
    let ca = Some(authority.file("trusted.crt", &authority.pem()));
    let own = |name: &str, issued: &Issued| {
        let (certificate, key) = (format!("{name}.crt"), format!("{name}.key"));
        Some((authority.file(&certificate, &issued.certificate), authority.file(&key, &issued.key)))
    };
    let (ada, forged) = (authority.client("ada"), other.client("ada"));

    let (message, hint) = refused(&served, Tls { ca: Some(other.file("other.crt", &other.pem())), identity: own("ada", &ada) });
    assert!(message.ends_with("the server's certificate is signed by no authority that is known here"), "{message}");
    assert!(hint.contains("--tls-ca"), "{hint}");

    let (message, hint) = refused(&served, Tls { ca: ca.clone(), identity: None });
    assert!(hint.contains("--client-cert"), "{message}: {hint}");

    let (message, hint) = refused(&served, Tls { ca: ca.clone(), identity: own("forged", &forged) });
    assert!(hint.contains("tls_client_ca"), "{message}: {hint}");

    let (message, _) =
        refused(&served, Tls { ca: ca.clone(), identity: own("mixed", &Issued { certificate: ada.certificate.clone(), key: forged.key }) });
    assert!(message.contains("mixed.crt cannot be used: it does not belong to the key"), "{message}");
}

#[test]
fn a_session_ends_when_it_is_closed() {
    let served = Served::new();
    let session = connected(&served);
    assert_eq!(served.stat("sessions"), 1);
    wait(session.close());
    assert_eq!(served.stat("sessions"), 0);
}

#[test]
fn objects_are_listed_as_in_the_engine() {
    let served = Served::new();
    let session = connected(&served);
    for sql in ["CREATE SCHEMA other", "CREATE TABLE other.t (a BIGINT, \"B\" VARCHAR)", "CREATE VIEW v AS SELECT 1 AS one"] {
        rows(&session, sql);
    }
    rows(&session, "INSERT INTO other.t VALUES (1, 'x')");
    let local = served.engine.session().unwrap();
    let key = |listing: &engine::TableListing| {
        (listing.schema.clone(), listing.name.clone(), listing.kind.clone(), listing.rows, listing.size_bytes)
    };
    let keys = |listings: Vec<engine::TableListing>| listings.iter().map(key).collect::<Vec<_>>();
    assert_eq!(keys(wait(session.tables()).unwrap()), keys(local.tables().unwrap()));
    assert_eq!(keys(wait(session.system_tables()).unwrap()), keys(local.system_tables()));
    assert_eq!(wait(session.schema_names()).unwrap(), local.schema_names().unwrap());
    assert_eq!(wait(session.function_names()).unwrap(), local.function_names());
    assert_eq!(wait(session.column_names("other.t")).unwrap(), ["a", "B"]);
    assert_eq!(wait(session.column_names("it's.missing")).unwrap(), [""; 0]);
    assert_eq!(wait(session.server_version()).unwrap(), env!("CARGO_PKG_VERSION"));
}

fn secured(users: &[&str]) -> (Authority, Served) {
    let authority = Authority::new();
    let served = Served::with_users(ServerOptions { tls: authority.tls(), ..options() }, users);
    (authority, served)
}

fn logged_in(served: &Served, tls: Tls, login: Login) -> Result<RemoteSession, RemoteError> {
    let address: Address = format!("grpc+tls://localhost:{}", served.address.port()).parse().unwrap();
    wait(RemoteSession::connect(ConnectOptions { address, tls, login }))
}

fn password(user: &str, password: &str) -> Login {
    Login::Password { user: user.to_string(), password: password.to_string() }
}

#[test]
fn a_user_logs_in_over_tls() {
    let (authority, served) = secured(&["ada", "bob"]);
    let tls = || Tls { ca: Some(authority.file("ca.crt", &authority.pem())), identity: None };
    let session = logged_in(&served, tls(), password("ada", "secret")).unwrap();
    assert_eq!(rows(&session, "CREATE TABLE t AS SELECT 7 AS a"), ["1"]);
    assert_eq!(rows(&session, "SET threads = 1"), [""; 0]);
    assert_eq!(rows(&session, "SHOW threads"), ["threads 1"]);
    // Objects that the user may not read are invisible.
    let other = logged_in(&served, tls(), password("bob", "secret")).unwrap();
    assert!(wait(other.tables()).unwrap().is_empty());
    assert_eq!(wait(session.tables()).unwrap().len(), 1);
}

#[test]
fn a_refused_caller_gets_the_reason() {
    let (authority, served) = secured(&["ada"]);
    let tls = || Tls { ca: Some(authority.file("ca.crt", &authority.pem())), identity: None };
    let wrong = logged_in(&served, tls(), password("ada", "sesame")).err().unwrap();
    assert!(matches!(wrong, RemoteError::NotAdmitted { .. }), "{wrong}");
    let nobody = logged_in(&served, tls(), Login::Nobody).err().unwrap();
    assert!(matches!(nobody, RemoteError::NotAdmitted { .. }) && nobody.hint().unwrap().contains("--user"), "{nobody}");
    let token = logged_in(&served, tls(), Login::Token("made up".to_string())).err().unwrap();
    assert!(matches!(token, RemoteError::NotAdmitted { .. }), "{token}");
    // The certificate of another authority.
    let other = Authority::new();
    let other = Tls { ca: Some(other.file("ca.crt", &other.pem())), identity: None };
    let unknown = logged_in(&served, other, password("ada", "secret")).err().unwrap();
    assert!(unknown.hint().is_some_and(|hint| hint.contains("--tls-ca")), "{unknown}");
}

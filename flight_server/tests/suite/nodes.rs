//! The server as a node: another engine reads its tables, and runs parts of queries on it.

use std::sync::Arc;

use engine::{Engine, EngineError, EngineOptions, ErrorKind, RecordBatch, Session};
use flight_client::{Credentials, FlightNodes, Tls, remote_tables};
use flight_server::ServerOptions;
use futures::StreamExt;
use substrait_plans::pushdown::{Network, NodeError};

use crate::certificates::Authority;
use crate::helpers::{Served, eventually, options, shown, wait};

const LEVELS: [&str; 3] = ["off", "filter", "full"];

struct Here {
    session: Session,
    _engine: Engine,
}

impl Here {
    fn new(credentials: Credentials) -> Here {
        let options = EngineOptions { threads: Some(2), remote_tables: Some(remote_tables(credentials)), ..EngineOptions::default() };
        let engine = Engine::open_temporary(options).unwrap();
        Here { session: engine.session().unwrap(), _engine: engine }
    }

    fn try_rows(&self, sql: &str) -> Result<Vec<String>, EngineError> {
        let batches: Vec<RecordBatch> = wait(async { Ok::<_, EngineError>(self.session.execute(sql).await?.collect().await?.0) })?;
        Ok(shown(&batches))
    }

    fn rows(&self, sql: &str) -> Vec<String> {
        self.try_rows(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn add(&self, name: &str, location: &str) {
        self.rows(&format!("CREATE EXTERNAL TABLE {name} STORED AS QUIVER LOCATION '{location}'"));
    }
}

const TABLE: [&str; 2] = [
    "CREATE TABLE t (a BIGINT, b VARCHAR, d DECIMAL(12, 2), x DOUBLE)",
    "INSERT INTO t SELECT v, CASE WHEN v % 5 = 0 THEN NULL ELSE 'a text that is longer than a view ' || v END, CAST(v AS DECIMAL(12, 2)) / 8, v * 0.5e0
     FROM generate_series(1, 50000) AS s (v)",
];

fn filled() -> (Served, Here) {
    let served = Served::new();
    for statement in TABLE {
        served.update(statement);
    }
    let here = Here::new(Credentials::default());
    here.add("t", &format!("quiver://{}/main.t", served.address));
    (served, here)
}

/// The value of a metric in the text of EXPLAIN ANALYZE.
fn metric(text: &str, name: &str) -> u64 {
    let (_, rest) = text.split_once(&format!("{name}=")).unwrap_or_else(|| panic!("no {name} in {text}"));
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn a_table_of_a_server_gives_the_rows_of_the_server_at_every_level() {
    let (served, here) = filled();
    for sql in [
        "SELECT count(*), count(b), sum(a), sum(d), avg(x), min(b), max(b) FROM t",
        "SELECT a, b, d FROM t WHERE b LIKE '%77' AND d > 100 ORDER BY a DESC LIMIT 5",
        "SELECT a % 7 AS k, count(*), sum(d) FROM t GROUP BY k ORDER BY k",
        "SELECT sum(a) FROM t WHERE b IS NULL",
    ] {
        let expected = shown(&[served.embedded(sql)]);
        for level in LEVELS {
            here.rows(&format!("SET pushdown = {level}"));
            assert_eq!(here.rows(sql), expected, "{level}: {sql}");
        }
    }
    assert_eq!(served.stat("results_waiting"), 0);
}

#[test]
fn one_sum_takes_few_bytes_and_each_boundary_is_counted() {
    let (_served, here) = filled();
    let explained = |level: &str| {
        here.rows(&format!("SET pushdown = {level}"));
        here.rows("EXPLAIN ANALYZE SELECT sum(x) FROM t").join("\n")
    };
    let column = 50_000 * 8;
    let full = explained("full");
    let (sent, came) = (metric(&full, "bytes_sent"), metric(&full, "bytes_on_wire"));
    assert!(sent + came < 1_000, "{sent} sent, {came} came");
    let touched = metric(&full, "node_bytes_touched");
    assert!((column..2 * column).contains(&touched), "{touched}");
    assert_eq!(metric(&full, "node_bytes_returned"), 8);
    let filter = explained("filter");
    assert!(metric(&filter, "bytes_on_wire") > column, "{filter}");
    let off = explained("off");
    assert!(metric(&off, "bytes_on_wire") > 4 * column, "{off}");
}

#[test]
fn the_report_of_a_query_has_the_bytes_that_other_nodes_touched_for_it() {
    let (_served, here) = filled();
    let report = |sql: &str| wait(async { here.session.execute(sql).await.unwrap().collect().await.unwrap().1 });
    let column = 50_000 * 8;
    let one = report("SELECT sum(x) FROM t");
    assert!((column..2 * column).contains(&one.node_bytes_touched) && one.bytes_touched == 0, "{one:?}");
    let two = report("SELECT sum(x) FROM t UNION ALL SELECT sum(x) + random() FROM t");
    assert!((2 * column..4 * column).contains(&two.node_bytes_touched), "{two:?}");
    assert_eq!(report("SELECT 1").node_bytes_touched, 0);
}

#[test]
fn a_node_that_was_away_is_asked_again() {
    let (served, here) = filled();
    assert_eq!(here.rows("SELECT count(*) FROM t"), ["50000"]);
    here.add("again", &format!("quiver://{}/t", served.address));
    let address = served.address;
    let dir = served.end();
    let error = here.try_rows("SELECT count(*) FROM t").unwrap_err();
    assert!(error.to_string().starts_with(&format!("the node quiver://{address} cannot be asked: ")), "{error}");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    // Only the local engine keeps the definition of the table.
    here.rows("DROP TABLE again");
    let served = Served::at(dir, flight_server::ServerOptions { listen: address, ..options() }, EngineOptions::default(), &[]);
    assert_eq!(here.rows("SELECT count(*) FROM t"), ["50000"]);
    // An expired session is not an error either, because it had no state.
    assert_eq!(served.stat("sessions"), 1);
}

#[test]
fn a_remote_reader_that_leaves_ends_the_statement_of_the_server() {
    let (served, here) = filled();
    wait(async {
        let mut output = here.session.execute("SELECT one.a FROM t AS one JOIN t AS other ON one.a % 10 = other.a % 10").await.unwrap();
        assert!(output.next().await.unwrap().unwrap().num_rows() > 0);
    });
    eventually("no result is read", || served.stat("results_running") == 0);
}

#[test]
fn credentials_for_a_node_can_be_given_with_the_table() {
    let served = Served::with_users(options(), &["ada", "bob"]);
    served.embedded("CREATE TABLE t AS SELECT 7 AS a");
    let location = |user: &str| format!("quiver://{user}{}/main.t", served.address);
    let with = |user: Option<&str>, password: &str| {
        Here::new(Credentials { user: user.map(str::to_string), password: Some(password.to_string()), ..Credentials::default() })
    };
    let here = with(Some("ada"), "secret");
    here.add("t", &location(""));
    assert_eq!(here.rows("SELECT a FROM t"), ["7"]);
    let named = with(None, "secret");
    named.add("t", &location("ada@"));
    assert_eq!(named.rows("SELECT a FROM t"), ["7"]);
    let create = |user: &str| format!("CREATE EXTERNAL TABLE u STORED AS QUIVER LOCATION '{}'", location(user));
    for (here, user, part) in [
        (with(None, "secret"), "", "log in"),
        (with(None, "wrong"), "ada@", "password"),
        (with(None, "secret"), "bob@", "t"),
        (Here::new(Credentials::default()), "ada@", "the password of ada is missing"),
        (with(None, "secret"), "ada:secret@", "a password has no place in it"),
    ] {
        let error = here.try_rows(&create(user)).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains("secret"), "{user}: {error}");
    }
}

#[test]
fn a_node_that_does_not_answer_is_named_once_and_the_hint_is_about_tables() {
    let authority = Authority::new();
    let served = Served::with_users(ServerOptions { tls: authority.tls(), ..options() }, &["ada"]);
    let port = served.address.port();
    let failed = |ca: &Authority, location: &str| {
        let tls = Tls { ca: Some(ca.file("ca.crt", &ca.pem())), identity: None };
        let here = Here::new(Credentials { password: Some("secret".to_string()), tls, ..Credentials::default() });
        let error = here.try_rows(&format!("CREATE EXTERNAL TABLE t STORED AS QUIVER LOCATION '{location}'")).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default().to_string())
    };
    let node = format!("quiver+tls://localhost:{port}");
    for (ca, user, part) in [(&Authority::new(), "ada@", "QUIVER_TLS_CA"), (&authority, "", "QUIVER_USER")] {
        let (message, hint) = failed(ca, &format!("quiver+tls://{user}localhost:{port}/t"));
        assert!(message.starts_with(&format!("the node {node} cannot be asked: ")), "{message}");
        assert_eq!((message.matches("localhost").count(), message.contains("grpc")), (1, false), "{message}");
        assert!(hint.contains(part) && !hint.contains("--"), "{hint}");
    }
}

#[test]
fn a_table_of_many_columns_is_handed_out_as_any_other() {
    let served = Served::new();
    let columns: Vec<String> = (0..300).map(|column| format!("v * {column} AS \"C {column}\"")).collect();
    served.embedded(&format!("CREATE TABLE wide AS SELECT {} FROM generate_series(1, 50) AS s (v)", columns.join(", ")));
    let here = Here::new(Credentials::default());
    here.add("wide", &format!("quiver://{}/wide", served.address));
    let whole = "SELECT * FROM wide ORDER BY \"C 1\" DESC LIMIT 3";
    for level in LEVELS {
        here.rows(&format!("SET pushdown = {level}"));
        assert_eq!(here.rows(whole), shown(&[served.embedded(whole)]), "{level}");
        assert_eq!(here.rows("SELECT sum(\"C 299\") FROM wide WHERE \"C 7\" > 70"), ["364780"], "{level}");
    }
    // Not the rows of a table that was dropped since.
    let error = |sql: &str| here.try_rows(sql).unwrap_err().to_string();
    served.embedded("DROP TABLE wide");
    here.rows("SET pushdown = off");
    assert!(error("SELECT count(\"C 5\") FROM wide").contains("wide"));
}

#[test]
fn one_node_is_one_for_all_its_tables() {
    let nodes = FlightNodes::new(Credentials::default());
    let node = |location: &str| nodes.place(location).unwrap().node;
    assert!(Arc::ptr_eq(&node("quiver://db/a"), &node("quiver://db:31337/s.b")));
    for other in ["quiver+tls://db/a", "quiver://db:7/a", "quiver://elsewhere/a"] {
        assert!(!Arc::ptr_eq(&node("quiver://db/a"), &node(other)), "{other}");
    }
    assert!(matches!(nodes.place("quiver://db").unwrap_err(), NodeError::Location { .. }));
}

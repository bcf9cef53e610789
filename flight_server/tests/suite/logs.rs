//! Log lines identify their statement.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex};

use flight_server::ServerOptions;
use serde_json::Value;

use crate::helpers::{Served, eventually, options};

/// All log lines of the process. A test finds its own by their content.
static LINES: LazyLock<Arc<Mutex<Vec<u8>>>> = LazyLock::new(|| {
    let lines = Arc::<Mutex<Vec<u8>>>::default();
    let written = Arc::clone(&lines);
    let writer = move || Lines(Arc::clone(&written));
    tracing_subscriber::fmt().json().with_env_filter("warn,engine=debug,flight_server=info").with_writer(writer).init();
    lines
});

struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lines_about(text: &str) -> Vec<Value> {
    let lines = String::from_utf8(LINES.lock().unwrap().clone()).unwrap();
    lines.lines().filter(|line| line.contains(text)).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn lines_of_a_statement_are_marked_with_its_number_session_and_user() {
    LazyLock::force(&LINES);
    let served = Served::new();
    assert!(served.try_rows("SELECT no_column_of_this_name_4711").is_err());
    let lines = lines_about("no_column_of_this_name_4711");
    let failed = lines.iter().find(|line| line["fields"]["message"].as_str().is_some_and(|message| message.starts_with("failed:")));
    let failed = failed.unwrap_or_else(|| panic!("{lines:?}"));
    let span = &failed["span"];
    assert_eq!(span["name"], "statement");
    assert!(span["query_id"].is_u64() && span["session_id"].is_u64() && span["user"].is_string(), "{failed}");
}

#[test]
fn an_error_while_a_result_is_read_is_logged() {
    LazyLock::force(&LINES);
    let served = Served::new();
    assert!(served.try_rows("SELECT CAST('x4714' || value AS BIGINT) FROM generate_series(1, 3) AS t (value)").is_err());
    let has_message =
        |line: &Value| line["fields"]["call"] == "DoGet" && line["fields"]["message"].as_str().is_some_and(|text| text.contains("x4714"));
    eventually("the line is there", || lines_about("x4714").iter().any(has_message));
}

#[test]
fn a_slow_statement_is_logged_with_its_report_and_without_passwords() {
    LazyLock::force(&LINES);
    let served = Served::with(ServerOptions { slow_query_ms: Some(0), ..options() });
    served.rows("SELECT 'number 4712' AS password_4712 FROM generate_series(1, 3) AS t (value)");
    eventually("the line is there", || !lines_about("slow statement: SELECT").is_empty());
    let lines = lines_about("password_4712");
    let line = lines.iter().find(|line| line["level"] == "WARN").unwrap_or_else(|| panic!("{lines:?}"));
    let fields = &line["fields"];
    assert_eq!((&fields["rows_returned"], &fields["outcome"]), (&3.into(), &"done".into()), "{line}");
    assert!(fields["query_id"].is_u64() && fields["elapsed_ms"].is_f64(), "{line}");
    let served = Served::with(ServerOptions { slow_query_ms: Some(0), ..options() });
    served.update("CREATE USER ann PASSWORD 'hidden 4713 hidden' ADMIN");
    assert!(!lines_about("CREATE USER ann").is_empty());
    assert!(lines_about("hidden 4713").is_empty());
}

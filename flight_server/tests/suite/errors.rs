//! Errors have a status code and a hint.

use tonic::Code;

use crate::helpers::{Served, code, status};

#[test]
fn an_error_says_what_is_wrong_where_and_what_to_do() {
    let served = Served::new();
    served.update("CREATE TABLE t (amount BIGINT)");
    let status = status(served.try_rows("SELECT amuont FROM t"));
    assert_eq!(status.code(), Code::InvalidArgument);
    for part in ["\"amuont\"", "did you mean \"amount\"", "line 1"] {
        assert!(status.message().contains(part), "{}", status.message());
    }
}

#[test]
fn codes_tell_one_sort_of_error_from_another() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT NOT NULL, CHECK (a < 100))");
    assert_eq!(code(served.try_update("CREATE TABLE t (a BIGINT)")), Code::AlreadyExists);
    assert_eq!(code(served.try_update("INSERT INTO t VALUES (NULL)")), Code::FailedPrecondition);
    assert_eq!(code(served.try_update("INSERT INTO t VALUES (100)")), Code::FailedPrecondition);
    assert_eq!(code(served.try_update("DROP TABLE missing")), Code::InvalidArgument);
    assert_eq!(code(served.try_rows("SELEC 1")), Code::InvalidArgument);
    assert_eq!(code(served.try_rows("SELECT * FROM t FOR VERSION AS OF 99999")), Code::NotFound);
}

#[test]
fn an_error_in_the_middle_of_a_result_reaches_the_client() {
    let served = Served::new();
    let sql = "SELECT 10 / (100000 - value) FROM generate_series(1, 100000) AS t (value)";
    assert_eq!(code(served.try_rows(sql)), Code::InvalidArgument);
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn a_long_message_is_cut_and_still_arrives() {
    let served = Served::new();
    let status = status(served.try_rows(&format!("SELECT {} FROM t", "ü".repeat(100_000))));
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().chars().count() < 2_100, "{}", status.message().len());
}

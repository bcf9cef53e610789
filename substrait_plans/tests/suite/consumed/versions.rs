//! Versions of Substrait, and how older and newer plans name extensions.

use prost::Message;
use substrait_plans::proto::{Plan, Version};
use substrait_plans::{Limits, NEWEST_MINOR, PlanError, decode, encode, encode_with_uris};

use super::support::Db;
use super::written::*;

const T: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10)";

fn of_version(major_number: u32, minor_number: u32) -> Plan {
    let version = Some(Version { major_number, minor_number, producer: "someone\n".into(), ..Version::default() });
    Plan { version, ..plan(&[], read_t(), &["a", "b"]) }
}

#[test]
fn a_version_that_is_newer_is_refused_and_both_are_named() {
    let db = Db::with(T);
    for (major, minor) in [(0, 0), (0, 20), (0, 85), (0, NEWEST_MINOR)] {
        assert!(db.plan(&of_version(major, minor)).is_ok(), "{major}.{minor}");
    }
    for (major, minor) in [(0, NEWEST_MINOR + 1), (1, 0)] {
        let error = db.error(&of_version(major, minor));
        assert!(matches!(error, PlanError::NewerVersion { .. }), "{error}");
        let expected = format!("the plan is of Substrait {major}.{minor}.0 by someone, and versions up to 0.{NEWEST_MINOR} are read");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn a_newer_version_with_a_field_that_is_not_known_is_refused() {
    let db = Db::with(T);
    // Field 99 of a plan, a number.
    let with_more = |minor| [encode(&of_version(0, minor)), vec![0x98, 0x06, 0x01]].concat();
    assert!(db.bytes(&with_more(85)).is_ok());
    assert!(matches!(db.bytes(&with_more(NEWEST_MINOR)), Err(PlanError::NewerVersion { .. })));
}

#[test]
fn a_plan_without_a_version_is_an_old_one() {
    let db = Db::with(T);
    assert!(db.plan(&Plan { version: None, ..of_version(0, 1) }).is_ok());
}

/// The form of ibis and DuckDB.
#[test]
fn uris_of_older_plans_are_read_and_written() {
    let condition = call(0, vec![field(0), field(1)]);
    let plan = plan_of(&["theirs:i64"], "extension:io.substrait:functions_comparison", filter(read_t(), condition), &["a", "b"]);
    let both = encode_with_uris(&plan);
    assert_eq!(decode(&both, &Limits::default()).unwrap(), plan);
    let uri = "https://github.com/substrait-io/substrait/blob/main/extensions/functions_comparison.yaml";
    assert!(both.windows(uri.len()).any(|window| window == uri.as_bytes()));
    // The plan after a program that knows only URIs has passed it on.
    let older = OlderPlan::decode(both.as_slice()).unwrap();
    let older = [older.encode_to_vec(), Plan { extension_urns: Vec::new(), extensions: Vec::new(), ..plan }.encode_to_vec()].concat();
    let sentence = Db::with(T).bytes(&older).unwrap_err().to_string();
    assert!(sentence.contains(&format!("the function \"theirs:i64\" (anchor 0, of {uri})")), "{sentence}");
}

#[derive(Clone, PartialEq, Message)]
struct OlderPlan {
    #[prost(message, repeated, tag = "1")]
    uris: Vec<OlderUri>,
    #[prost(message, repeated, tag = "2")]
    extensions: Vec<OlderDeclaration>,
}

#[derive(Clone, PartialEq, Message)]
struct OlderUri {
    #[prost(uint32, tag = "1")]
    anchor: u32,
    #[prost(string, tag = "2")]
    uri: String,
}

#[derive(Clone, PartialEq, Message)]
struct OlderDeclaration {
    #[prost(message, optional, tag = "3")]
    function: Option<OlderFunction>,
}

#[derive(Clone, PartialEq, Message)]
struct OlderFunction {
    #[prost(uint32, tag = "1")]
    uri_reference: u32,
    #[prost(uint32, tag = "2")]
    anchor: u32,
    #[prost(string, tag = "3")]
    name: String,
}

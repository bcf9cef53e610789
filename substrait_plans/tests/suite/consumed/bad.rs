//! Malicious plans: too large, too deep, too wide. Each yields an error message, and uses little memory.

use std::time::{Duration, Instant};

use engine::ErrorKind;
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::{Expression, ProjectRel, Rel};
use substrait_plans::{Limits, PlanError, decode, encode};

use super::support::Db;
use super::written::*;

const T: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10)";

#[test]
fn a_plan_of_100_megabytes_is_refused_before_it_is_read() {
    let started = Instant::now();
    let error = decode(&vec![0x0a; 100 << 20], &Limits::default()).unwrap_err();
    assert!(matches!(error, PlanError::TooLarge { size_bytes: 104_857_600, .. }));
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(started.elapsed() < Duration::from_secs(5));
}

/// Each takes two bytes; decoded they would take 4 GB.
#[test]
fn millions_of_empty_messages_are_refused_before_they_are_made() {
    let measures = [0x22, 0].repeat(4 << 20);
    // relations[0].root.input.aggregate
    let bytes = [4, 1, 2, 3].iter().fold(measures, |inner, field| {
        let mut outer = vec![field << 3 | 2];
        let mut length = inner.len();
        while length >= 0x80 {
            outer.push(length as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.extend(inner);
        outer
    });
    assert!(matches!(decode(&bytes, &Limits::default()), Err(PlanError::TooMany { what: "fields", .. })));
}

#[test]
fn a_plan_that_is_nested_too_deep_is_refused() {
    let db = Db::with(T);
    let deep = |levels| plan(&["not"], filter(read_t(), nested(levels)), &["a", "b"]);
    let refused = db.bytes(&encode(&deep(40)));
    assert!(matches!(refused, Err(PlanError::TooDeep { .. })), "{refused:?}");
    let rels = (0..60).fold(read_t(), |input, _| filter(input, call(0, vec![])));
    assert!(matches!(db.bytes(&encode(&plan(&["and"], rels, &["a", "b"]))), Err(PlanError::TooDeep { .. })));
    assert!(db.plan(&deep(25)).is_ok());
}

fn nested(levels: usize) -> Expression {
    (0..levels).fold(call(0, vec![cast(number(1), bool_type())]), |inner, _| call(0, vec![inner]))
}

fn bool_type() -> substrait_plans::proto::Type {
    let kind = substrait_plans::proto::r#type::Kind::Bool(Default::default());
    substrait_plans::proto::Type { kind: Some(kind) }
}

/// Each projection repeats the columns below it.
#[test]
fn a_plan_that_grows_wider_with_each_relation_is_refused() {
    let db = Db::with(T);
    let wider = |input: Rel, from: i32, to: i32| -> Rel {
        let columns: Vec<i32> = (0..to).map(|column| column % from).collect();
        rel(RelType::Project(Box::new(ProjectRel { common: emit(&columns), input: boxed(input), ..ProjectRel::default() })))
    };
    let one = wider(read_t(), 2, 20_000);
    assert!(matches!(db.error(&plan(&[], one, &[])), PlanError::TooMany { what: "columns in one relation", .. }));
    let wide = wider(read_t(), 2, 9_000);
    let many = (0..15).fold(wide, |input, _| filter(input, call(0, vec![])));
    assert!(matches!(db.error(&plan(&["and"], many, &[])), PlanError::TooMany { what: "columns in all relations together", .. }));
}

#[test]
fn what_is_out_of_range_is_a_sentence_and_not_a_panic() {
    let db = Db::with(T);
    for index in [2, 7, i32::MAX, -1, i32::MIN] {
        let reference = plan(&["equal"], filter(read_t(), call(0, vec![field(index), number(1)])), &["a", "b"]);
        let place = "relations[0].root.input.filter.condition.scalar_function.arguments[0]";
        assert_eq!(db.sentence(&reference), format!("a reference to field {index}, where there are 2, at {place}"));
        let emitted =
            rel(RelType::Project(Box::new(ProjectRel { common: emit(&[index]), input: boxed(read_t()), ..ProjectRel::default() })));
        let sentence = db.sentence(&plan(&[], emitted, &["a"]));
        assert_eq!(sentence, format!("an emit of field {index}, where there are 2, at relations[0].root.input"));
    }
}

#[test]
fn bytes_that_are_no_plan_are_refused() {
    let db = Db::with(T);
    let whole = encode(&plan(&["equal"], filter(read_t(), call(0, vec![field(0), number(1)])), &["a", "b"]));
    for end in 0..whole.len() {
        // If only the version and the extensions are cut off, it is still a plan.
        if let Err(error) = db.bytes(&whole[..end]) {
            assert!(!matches!(error, PlanError::Panicked { .. }), "{error}");
        }
    }
    assert!(matches!(db.bytes(b"SELECT 1"), Err(PlanError::Malformed { .. } | PlanError::Missing { .. })));
}

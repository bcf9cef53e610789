//! Aggregations and set operations.

use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::set_rel::SetOp;
use substrait_plans::proto::{AggregateFunction, AggregateRel, AggregationPhase, Plan, Rel};

use super::support::Db;
use super::written::*;

const T: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10), (1, 20), (2, 10), (2, NULL)";

fn over(of: AggregateRel) -> Rel {
    rel(RelType::Aggregate(Box::new(of)))
}

#[test]
fn rows_of_several_grouping_sets_say_which_set_they_are_of() {
    let db = Db::with(T);
    let keys = vec![field(0), field(1)];
    let of = |sets: &[&[u32]]| {
        plan(&["count:"], over(aggregate(read_t(), keys.clone(), sets, vec![measure(0, vec![])])), &["a", "b", "n", "set"])
    };
    let rows = db.sorted(&of(&[&[0], &[1], &[]]));
    assert_eq!(rows, ["1|NULL|2|0", "2|NULL|2|0", "NULL|10|2|1", "NULL|20|1|1", "NULL|NULL|1|1", "NULL|NULL|4|2"]);
    // The same set occurs twice.
    let twice = db.sorted(&of(&[&[], &[0, 1], &[]]));
    assert_eq!(twice.iter().filter(|row| row.ends_with("|4|0")).count(), 1);
    assert_eq!(twice.iter().filter(|row| row.ends_with("|4|2")).count(), 1);
}

#[test]
fn groups_come_in_the_order_in_which_they_are_declared() {
    let db = Db::with(T);
    let keys = vec![field(1), field(0)];
    let grouped = aggregate(read_t(), keys, &[&[1, 0]], vec![measure(0, vec![])]);
    assert_eq!(db.sorted(&plan(&["count:"], over(grouped), &["b", "a", "n"])), ["10|1|1", "10|2|1", "20|1|1", "NULL|2|1"]);
    let out_of_range = aggregate(read_t(), vec![field(0)], &[&[0, 3]], vec![]);
    let sentence = db.sentence(&plan(&[], over(out_of_range), &["a"]));
    assert_eq!(sentence, "a reference to grouping expression 3, where there are 1, at relations[0].root.input");
}

#[test]
fn the_same_group_and_the_same_measure_twice_are_two_columns() {
    let db = Db::with(T);
    let keys = vec![field(0), field(0)];
    let grouped = aggregate(read_t(), keys, &[&[0, 1]], vec![measure(0, vec![field(1)]), measure(0, vec![field(1)])]);
    assert_eq!(db.sorted(&plan(&["sum:i64"], over(grouped), &["a", "b", "c", "d"])), ["1|1|30|30", "2|2|10|10"]);
}

#[test]
fn only_whole_aggregations_are_done() {
    let db = Db::with(T);
    let of = |phase: AggregationPhase| -> Plan {
        let mut sum = measure(0, vec![field(1)]);
        sum.phase = phase as i32;
        plan(&["sum:i64"], over(aggregate(read_t(), vec![], &[], vec![sum])), &["s"])
    };
    assert_eq!(db.sorted(&of(AggregationPhase::InitialToResult)), ["40"]);
    let sentence = db.sentence(&of(AggregationPhase::InitialToIntermediate));
    assert!(sentence.contains("a part of an aggregation (AGGREGATION_PHASE_INITIAL_TO_INTERMEDIATE)"), "{sentence}");
}

#[test]
fn a_sum_of_nothing_is_null_or_zero_as_the_function_says() {
    let db = Db::with("CREATE TABLE t (a BIGINT, b BIGINT)");
    let sums = aggregate(read_t(), vec![], &[], vec![measure(0, vec![field(0)]), measure(1, vec![field(0)])]);
    assert_eq!(db.sorted(&plan(&["sum:i64", "sum0:i64"], over(sums), &["s", "z"])), ["NULL|0"]);
}

#[test]
fn distinct_and_filters_of_measures_count() {
    let db = Db::with(T);
    let mut distinct = measure(0, vec![field(1)]);
    distinct.invocation = 2;
    let mut of = aggregate(read_t(), vec![], &[], vec![distinct, measure(0, vec![field(1)])]);
    of.measures[1].filter = Some(call(1, vec![field(0), number(2)]));
    assert_eq!(db.sorted(&plan(&["count:any", "equal"], over(of), &["d", "f"])), ["2|1"]);
}

#[test]
fn deviations_are_of_a_sample_or_of_a_population() {
    let db = Db::with("CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (2, 0), (4, 0)");
    let mut population = measure(0, vec![field(0)]);
    population.options =
        vec![substrait_plans::proto::FunctionOption { name: "distribution".into(), preference: vec!["POPULATION".into()] }];
    let mut older = measure(0, vec![]);
    older.arguments = vec![enumeration("POPULATION"), argument(field(0))];
    let of = aggregate(read_t(), vec![], &[], vec![measure(0, vec![field(0)]), population, older]);
    assert_eq!(db.sorted(&plan(&["variance:fp64"], over(of), &["s", "p", "o"])), ["2.0|1.0|1.0"]);
}

#[test]
fn copies_of_rows_are_counted_where_a_set_operation_says_all() {
    let rows = |rows: &str| format!("INSERT INTO {rows}");
    let script = [
        "CREATE TABLE p (a BIGINT, b BIGINT)",
        "CREATE TABLE q (a BIGINT, b BIGINT)",
        "CREATE TABLE r (a BIGINT, b BIGINT)",
        &rows("p VALUES (1, 0), (2, 0), (2, 0), (3, 0), (3, 0), (3, 0), (3, 0), (NULL, 0), (NULL, 0)"),
        &rows("q VALUES (1, 0), (2, 0), (3, 0), (3, 0), (5, 0), (NULL, 0)"),
        &rows("r VALUES (2, 0), (3, 0), (3, 0), (6, 0)"),
    ]
    .join("; ");
    let db = Db::with(&script);
    let of = |op| {
        let rows = db.sorted(&plan(&[], set(op, ["p", "q", "r"].map(read_table).to_vec()), &["a", "b"]));
        rows.iter().map(|row| row.split_once('|').unwrap().0.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of(SetOp::MinusPrimaryAll), "NULL");
    assert_eq!(of(SetOp::MinusPrimary), "");
    assert_eq!(of(SetOp::IntersectionPrimary), "1 2 3 NULL");
    assert_eq!(of(SetOp::IntersectionMultiset), "2 3");
    assert_eq!(of(SetOp::IntersectionMultisetAll), "2 3 3");
    assert_eq!(of(SetOp::UnionDistinct), "1 2 3 5 6 NULL");
    assert_eq!(of(SetOp::UnionAll).split(' ').count(), 19);
}

#[test]
fn a_union_may_have_many_inputs() {
    let db = Db::with("CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 2)");
    let inputs = (0..300).map(|_| read_t()).collect();
    assert_eq!(db.sorted(&plan(&[], set(SetOp::UnionAll, inputs), &["a", "b"])).len(), 300);
}

/// As floats they would be rounded to even numbers.
#[test]
fn the_average_of_large_whole_numbers_keeps_their_digits_and_is_cut_at_the_point() {
    let average = || {
        let measure = AggregateFunction { output_type: Some(i64_type()), ..measure(0, vec![field(0)]) };
        plan(&["avg:i64"], over(aggregate(read_t(), vec![], &[], vec![measure])), &["m"])
    };
    let of = |values: &str| Db::with(&format!("CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES {values}")).sorted(&average());
    assert_eq!(of("(9007199254740993, 0), (9007199254740993, 0)"), ["9007199254740993"]);
    assert_eq!(of("(9223372036854775807, 0), (9223372036854775807, 0)"), ["9223372036854775807"]);
    assert_eq!(of("(-1, 0), (-2, 0)"), ["-1"]);
    assert_eq!(of("(NULL, 0)"), ["NULL"]);
}

//! Joins and subqueries.

use substrait_plans::proto::expression::field_reference::{OuterReference, RootType};
use substrait_plans::proto::expression::subquery::{InPredicate, Scalar, SetComparison, SetPredicate, SubqueryType};
use substrait_plans::proto::expression::{RexType, Subquery};
use substrait_plans::proto::join_rel::JoinType;
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::{Expression, JoinRel, Rel};

use super::support::Db;
use super::written::*;

const SCRIPT: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10), (2, 20), (NULL, 30);
    CREATE TABLE u (a BIGINT, b BIGINT); INSERT INTO u VALUES (1, 11), (1, 12), (NULL, 31), (4, 41)";

fn over(of: JoinRel) -> Rel {
    rel(RelType::Join(Box::new(of)))
}

fn subquery(of: SubqueryType) -> Expression {
    expression(RexType::Subquery(Box::new(Subquery { subquery_type: Some(of) })))
}

fn outer(field: i32) -> Expression {
    reference(field, RootType::OuterReference(OuterReference { steps_out: 1 }))
}

#[test]
fn joins_keep_the_sides_that_their_type_says() {
    let db = Db::with(SCRIPT);
    let equal = || call(0, vec![field(0), field(2)]);
    let of = |of, names: &[&str]| db.sorted(&plan(&["equal"], over(join(read_t(), read_table("u"), of, equal())), names));
    let all = ["a", "b", "c", "d"];
    assert_eq!(of(JoinType::Inner, &all), ["1|10|1|11", "1|10|1|12"]);
    assert_eq!(of(JoinType::Left, &all), ["1|10|1|11", "1|10|1|12", "2|20|NULL|NULL", "NULL|30|NULL|NULL"]);
    assert_eq!(of(JoinType::Right, &all).len(), 4);
    assert_eq!(of(JoinType::Outer, &all).len(), 6);
    assert_eq!(of(JoinType::LeftSemi, &["a", "b"]), ["1|10"]);
    assert_eq!(of(JoinType::LeftAnti, &["a", "b"]), ["2|20", "NULL|30"]);
    assert_eq!(of(JoinType::RightSemi, &["a", "b"]), ["1|11", "1|12"]);
    assert_eq!(of(JoinType::RightAnti, &["a", "b"]), ["4|41", "NULL|31"]);
}

#[test]
fn a_join_may_take_null_for_the_same_as_null_and_have_other_conditions() {
    let db = Db::with(SCRIPT);
    let same = || call(0, vec![field(2), field(0)]);
    let names = ["a", "b", "c", "d"];
    let functions = ["is_not_distinct_from", "and", "gt", "equal"];
    let of = |condition| db.sorted(&plan(&functions, over(join(read_t(), read_table("u"), JoinType::Inner, condition)), &names));
    assert_eq!(of(same()), ["1|10|1|11", "1|10|1|12", "NULL|30|NULL|31"]);
    assert_eq!(of(call(1, vec![same(), call(2, vec![field(3), number(11)])])), ["1|10|1|12", "NULL|30|NULL|31"]);
    let equal = call(3, vec![field(0), field(2)]);
    assert_eq!(of(call(1, vec![same(), equal])), ["1|10|1|11", "1|10|1|12"]);
}

#[test]
fn a_filter_after_a_join_sees_the_rows_that_the_join_gives() {
    let db = Db::with(SCRIPT);
    let mut joined = join(read_t(), read_table("u"), JoinType::Left, call(0, vec![field(0), field(2)]));
    joined.post_join_filter = Some(Box::new(call(1, vec![field(2)])));
    assert_eq!(db.sorted(&plan(&["equal", "is_null"], over(joined), &["a", "b", "c", "d"])), ["2|20|NULL|NULL", "NULL|30|NULL|NULL"]);
    let mut semi = join(read_t(), read_table("u"), JoinType::LeftSemi, call(0, vec![field(0), field(2)]));
    semi.post_join_filter = Some(Box::new(call(1, vec![field(2)])));
    let sentence = db.sentence(&plan(&["equal", "is_null"], over(semi), &["a", "b"]));
    assert!(sentence.contains("a reference to field 2, where there are 2"), "{sentence}");
}

#[test]
fn joins_of_which_the_standard_and_datafusion_mean_different_things_are_refused() {
    let db = Db::with(SCRIPT);
    for of in [JoinType::LeftMark, JoinType::RightMark, JoinType::LeftSingle, JoinType::RightSingle] {
        let joined = join(read_t(), read_table("u"), of, call(0, vec![field(0), field(2)]));
        let sentence = db.sentence(&plan(&["equal"], over(joined), &["a", "b", "c"]));
        assert!(sentence.contains(of.as_str_name()), "{sentence}");
    }
    let mut mark =
        plan(&["equal"], over(join(read_t(), read_table("u"), JoinType::LeftMark, call(0, vec![field(0), field(2)]))), &["a", "b", "m"]);
    mark.version.as_mut().unwrap().producer = substrait_plans::PRODUCER.into();
    assert_eq!(db.sorted(&mark), ["1|10|true", "2|20|false", "NULL|30|false"]);
}

#[test]
fn subqueries_see_the_columns_around_them() {
    let db = Db::with(SCRIPT);
    let of = |condition| db.sorted(&plan(&["equal", "not", "max:i64"], filter(read_t(), condition), &["a", "b"]));
    let correlated = || filter(read_table("u"), call(0, vec![field(0), outer(0)]));
    let exists = || subquery(SubqueryType::SetPredicate(Box::new(SetPredicate { predicate_op: 1, tuples: boxed(correlated()) })));
    assert_eq!(of(exists()), ["1|10"]);
    assert_eq!(of(call(1, vec![exists()])), ["2|20", "NULL|30"]);
    let most = aggregate(project(correlated(), 2, vec![field(0)]), vec![], &[], vec![measure(2, vec![field(0)])]);
    let scalar = subquery(SubqueryType::Scalar(Box::new(Scalar { input: boxed(rel(RelType::Aggregate(Box::new(most)))) })));
    assert_eq!(of(call(0, vec![scalar, field(0)])), ["1|10"]);
}

#[test]
fn in_and_not_in_of_a_subquery_have_the_values_of_sql() {
    let db = Db::with(SCRIPT);
    let of = |table: &str, is_not: bool| {
        let haystack = boxed(project(read_table(table), 2, vec![field(0)]));
        let within = subquery(SubqueryType::InPredicate(Box::new(InPredicate { needles: vec![field(0)], haystack })));
        let condition = if is_not { call(0, vec![within]) } else { within };
        db.sorted(&plan(&["not"], filter(read_t(), condition), &["a", "b"]))
    };
    assert_eq!(of("u", false), ["1|10"]);
    // One of the values is NULL.
    assert!(of("u", true).is_empty());
}

#[test]
fn any_and_all_compare_with_every_row() {
    let db = Db::with(SCRIPT);
    let of = |reduction_op, comparison_op| {
        let right = boxed(project(filter(read_table("u"), call(0, vec![field(0)])), 2, vec![field(1)]));
        let left = Some(Box::new(field(1)));
        let comparison = SetComparison { reduction_op, comparison_op, left, right };
        let compared = subquery(SubqueryType::SetComparison(Box::new(comparison)));
        db.sorted(&plan(&["is_not_null"], filter(read_t(), compared), &["a", "b"]))
    };
    // u.b is 11, 12 and 41; t.b is 10, 20 and 30.
    assert_eq!(of(1, 4), ["2|20", "NULL|30"]);
    assert_eq!(of(2, 3), ["1|10"]);
    assert_eq!(of(1, 1), Vec::<String>::new());
    assert_eq!(of(2, 2).len(), 3);
}

#[test]
fn a_subquery_that_is_compared_has_one_column_and_a_reference_out_of_it_a_query_around() {
    let db = Db::with(SCRIPT);
    let wide = subquery(SubqueryType::Scalar(Box::new(Scalar { input: boxed(read_table("u")) })));
    let sentence = db.sentence(&plan(&["equal"], filter(read_t(), call(0, vec![field(0), wide])), &["a", "b"]));
    assert!(
        sentence.starts_with("a subquery of 2 columns, where it is compared as one, at relations[0].root.input.filter.condition"),
        "{sentence}"
    );
    let lost = db.sentence(&plan(&["equal"], filter(read_t(), call(0, vec![field(0), outer(0)])), &["a", "b"]));
    assert!(lost.contains("a reference 1 queries out, where there are 0"), "{lost}");
}

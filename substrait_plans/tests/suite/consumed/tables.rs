//! Finding tables and columns by name.

use engine::ErrorKind;
use substrait_plans::PlanError;
use substrait_plans::proto::expression::MaskExpression;
use substrait_plans::proto::expression::mask_expression::{StructItem, StructSelect};
use substrait_plans::proto::rel::RelType;

use super::support::Db;
use super::written::*;

const T: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10), (2, 20), (3, NULL)";

#[test]
fn names_are_found_in_letters_of_any_case() {
    let db = Db::with(T);
    let upper = read(&["MAIN", "T"], &[("B", i64_type()), ("A", i64_type())]);
    let rows = db.plan(&plan(&[], rel(RelType::Read(Box::new(upper))), &["X", "Y"])).unwrap();
    assert_eq!(rows.names, "X|Y");
    assert_eq!(rows.rows, ["10|1", "20|2", "NULL|3"]);
}

#[test]
fn a_name_that_may_be_two_tables_or_columns_is_refused() {
    let db = Db::with("CREATE TABLE \"Ab\" (\"x\" BIGINT, \"X\" BIGINT); CREATE TABLE \"aB\" (a BIGINT)");
    let tables = db.error(&plan(&[], rel(RelType::Read(Box::new(read(&["AB"], &[("a", i64_type())])))), &["a"]));
    assert!(tables.to_string().contains("may be any of main.Ab, main.aB") || tables.to_string().contains("may be any of main.aB, main.Ab"));
    let own = read(&["Ab"], &[("X", i64_type()), ("x", i64_type())]);
    assert!(db.plan(&plan(&[], rel(RelType::Read(Box::new(own))), &["p", "q"])).is_ok());
}

#[test]
fn a_table_may_have_more_columns_than_the_plan_knows() {
    let db = Db::with("CREATE TABLE t (z VARCHAR, b BIGINT, a BIGINT); INSERT INTO t VALUES ('no', 2, 1)");
    assert_eq!(db.sorted(&plan(&[], read_t(), &["a", "b"])), ["1|2"]);
    let none = read(&["t"], &[]);
    let counted = aggregate(rel(RelType::Read(Box::new(none))), vec![], &[], vec![measure(0, vec![])]);
    assert_eq!(db.sorted(&plan(&["count:"], rel(RelType::Aggregate(Box::new(counted))), &["n"])), ["1"]);
}

#[test]
fn a_plan_for_another_table_of_that_name_is_refused() {
    let db = Db::with("CREATE TABLE t (a BIGINT, c VARCHAR)");
    let error = db.error(&plan(&[], read_t(), &["a", "b"]));
    assert!(matches!(error, PlanError::Schema { .. }), "{error}");
    let other = read(&["t"], &[("a", i64_type()), ("c", i64_type())]);
    let sentence = db.sentence(&plan(&[], rel(RelType::Read(Box::new(other))), &["a", "c"]));
    assert!(sentence.contains("its column \"c\" is of type"), "{sentence}");
    let narrower = read(&["t"], &[("a", i32_type())]);
    assert!(matches!(db.error(&plan(&[], rel(RelType::Read(Box::new(narrower))), &["a"])), PlanError::Schema { .. }));
}

#[test]
fn a_table_that_is_not_there_is_named_with_its_place() {
    let db = Db::with(T);
    let error = db.error(&plan(&[], filter(read_table("nothing"), call(0, vec![])), &["a", "b"]));
    assert!(matches!(error, PlanError::UnknownFunction { .. }), "functions are looked at before tables: {error}");
    let error = db.error(&plan(&["and:bool"], filter(read_table("nothing"), call(0, vec![])), &["a", "b"]));
    assert_eq!(error.kind(), ErrorKind::Invalid, "as in SQL");
    assert_eq!(error.to_string(), "there is no table \"nothing\" for a read in relations[0].root.input.filter.input");
}

#[test]
fn a_narrower_number_in_the_table_is_widened() {
    let db = Db::with("CREATE TABLE t (a INTEGER, b SMALLINT); INSERT INTO t VALUES (1, 2)");
    assert_eq!(db.sorted(&plan(&["add"], project(read_t(), 2, vec![call(0, vec![field(0), field(1)])]), &["s"])), ["3"]);
}

/// The producer may have left out operations that matter only for NULL.
#[test]
fn a_column_that_the_plan_takes_for_not_null_may_not_hold_one() {
    let db = Db::with(T);
    let of = |name: &str| read(&["t"], &[(name, required_i64())]);
    assert_eq!(db.sorted(&plan(&[], rel(RelType::Read(Box::new(of("a")))), &["a"])), ["1", "2", "3"]);
    let sentence = db.sentence(&plan(&[], rel(RelType::Read(Box::new(of("b")))), &["b"]));
    assert!(sentence.contains("the column \"b\" has NULLs"), "{sentence}");
}

#[test]
fn a_filter_of_a_read_sees_the_columns_that_its_projection_drops() {
    let db = Db::with(T);
    let mut read = read(&["t"], &[("a", i64_type()), ("b", i64_type())]);
    read.filter = Some(Box::new(call(0, vec![field(1), number(10)])));
    let item = |field| StructItem { field, child: None };
    let select = |items| Some(MaskExpression { select: Some(StructSelect { struct_items: items }), maintain_singular_struct: true });
    read.projection = select(vec![item(0)]);
    assert_eq!(db.sorted(&plan(&["gt"], rel(RelType::Read(Box::new(read.clone()))), &["a"])), ["2"]);
    read.projection = select(vec![item(1), item(0)]);
    assert_eq!(db.sorted(&plan(&["gt"], rel(RelType::Read(Box::new(read.clone()))), &["b", "a"])), ["20|2"]);
    read.projection = select(vec![item(2)]);
    let sentence = db.sentence(&plan(&["gt"], rel(RelType::Read(Box::new(read))), &["a"]));
    assert_eq!(sentence, "a projection of field 2, where there are 2, at relations[0].root.input");
}

#[test]
fn the_same_table_may_be_read_many_times() {
    let db = Db::with(T);
    let twice = join(read_t(), read_t(), substrait_plans::proto::join_rel::JoinType::Inner, call(0, vec![field(0), field(2)]));
    let thrice = join(
        rel(RelType::Join(Box::new(twice))),
        read_t(),
        substrait_plans::proto::join_rel::JoinType::Inner,
        call(0, vec![field(2), field(4)]),
    );
    let rows = db.sorted(&plan(&["equal"], rel(RelType::Join(Box::new(thrice))), &["a", "b", "c", "d", "e", "f"]));
    assert_eq!(rows, ["1|10|1|10|1|10", "2|20|2|20|2|20", "3|NULL|3|NULL|3|NULL"]);
}

#[test]
fn a_name_may_be_there_twice_in_a_result() {
    let db = Db::with(T);
    let rows = db.plan(&plan(&[], read_t(), &["x", "x"])).unwrap();
    assert_eq!(rows.names, "x|x");
}

#[test]
fn fields_of_a_struct_get_the_names_of_the_plan_and_keep_their_values() {
    let db = Db::with("CREATE TABLE t AS SELECT named_struct('x', 1, 'y', 'one') AS p");
    let point = substrait_plans::proto::r#type::Struct {
        types: vec![i64_type(), text_type()],
        nullability: 1,
        ..substrait_plans::proto::r#type::Struct::default()
    };
    let kind = substrait_plans::proto::r#type::Kind::Struct(point);
    let mut read = read(&["t"], &[("p", substrait_plans::proto::Type { kind: Some(kind) })]);
    if let Some(schema) = &mut read.base_schema {
        schema.names = ["p", "x", "y"].map(str::to_string).to_vec();
    }
    let rows = db.plan(&plan(&[], rel(RelType::Read(Box::new(read))), &["q", "one", "two"])).unwrap();
    assert_eq!((rows.names.as_str(), rows.rows.as_slice()), ("q", &["{one: 1, two: one}".to_string()][..]));
}

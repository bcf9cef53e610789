//! Things that DataFusion confuses because they have the same name.

use substrait_plans::proto::consistent_partition_window_rel::WindowRelFunction;
use substrait_plans::proto::expression::field_reference::{ReferenceType, RootReference, RootType};
use substrait_plans::proto::expression::literal::{self, LiteralType};
use substrait_plans::proto::expression::nested;
use substrait_plans::proto::expression::reference_segment::{ReferenceType as Segment, StructField};
use substrait_plans::proto::expression::{FieldReference, Literal, ReferenceSegment, RexType, WindowFunction};
use substrait_plans::proto::read_rel::{ReadType, VirtualTable};
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::r#type::{self as types, Kind};
use substrait_plans::proto::{AggregateRel, ConsistentPartitionWindowRel, Expression, Plan, ProjectRel, Rel, Type};

use super::support::Db;
use super::written::*;

const T: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10), (2, NULL)";

fn fp64_type() -> Type {
    Type { kind: Some(Kind::Fp64(types::Fp64 { nullability: 1, ..types::Fp64::default() })) }
}

/// One row with a struct whose fields are both named `a`.
fn struct_with_one_name_twice(of_field: &Type, values: [LiteralType; 2]) -> Rel {
    let kind = types::Struct { types: vec![of_field.clone(), of_field.clone()], nullability: 1, ..types::Struct::default() };
    let mut read = read(&[], &[("s", Type { kind: Some(Kind::Struct(kind)) })]);
    if let Some(schema) = &mut read.base_schema {
        schema.names = ["s", "a", "a"].map(str::to_string).to_vec();
    }
    let fields = values.map(|value| Literal { literal_type: Some(value), ..Literal::default() }).to_vec();
    let row = nested::Struct { fields: vec![literal(LiteralType::Struct(literal::Struct { fields }))] };
    read.read_type = Some(ReadType::VirtualTable(VirtualTable { expressions: vec![row], ..VirtualTable::default() }));
    rel(RelType::Read(Box::new(read)))
}

/// A field of the struct in the first column.
fn field_within(index: i32) -> Expression {
    let into = StructField { field: 0, child: Some(Box::new(segment(index))) };
    let direct = ReferenceSegment { reference_type: Some(Segment::StructField(Box::new(into))) };
    expression(RexType::Selection(Box::new(FieldReference {
        reference_type: Some(ReferenceType::DirectReference(direct)),
        root_type: Some(RootType::RootReference(RootReference {})),
    })))
}

#[test]
fn fields_of_a_struct_are_counted_even_where_two_have_the_same_name() {
    let db = Db::with("");
    let of = |rows: Rel| plan(&[], project(rows, 1, vec![field_within(0), field_within(1)]), &["x", "y"]);
    let numbers = || [LiteralType::I64(1), LiteralType::I64(2)];
    assert_eq!(db.sorted(&of(struct_with_one_name_twice(&i64_type(), numbers()))), ["1|2"]);
    assert_eq!(db.sorted(&of(struct_with_one_name_twice(&required_i64(), numbers()))), ["1|2"]);
    let narrower = struct_with_one_name_twice(&i64_type(), [LiteralType::I32(1), LiteralType::I32(2)]);
    assert!(db.sentence(&of(narrower)).contains("which has a name twice, is not supported"));
}

#[test]
fn measures_that_differ_only_in_a_cast_are_two() {
    let db = Db::with(T);
    let sums = || vec![measure(0, vec![field(0)]), measure(0, vec![cast(field(0), fp64_type())])];
    let of = |rel_of: AggregateRel, names: &[&str]| plan(&["sum"], rel(RelType::Aggregate(Box::new(rel_of))), names);
    assert_eq!(db.sorted(&of(aggregate(read_t(), vec![], &[], sums()), &["s", "f"])), ["3|3.0"]);
    let grouped = aggregate(read_t(), vec![field(0)], &[&[0]], sums());
    assert_eq!(db.sorted(&of(grouped, &["a", "s", "f"])), ["1|1|1.0", "2|2|2.0"]);
    let in_sets = aggregate(read_t(), vec![field(0)], &[&[0], &[]], sums());
    assert_eq!(db.sorted(&of(in_sets, &["a", "s", "f", "set"])), ["1|1|1.0|0", "2|2|2.0|0", "NULL|3|3.0|1"]);
}

fn sum_over_all(of: Expression) -> Expression {
    expression(RexType::WindowFunction(WindowFunction { arguments: vec![argument(of)], phase: 3, ..WindowFunction::default() }))
}

#[test]
fn windows_that_differ_only_in_a_cast_are_two() {
    let db = Db::with(T);
    let as_float = || cast(field(0), fp64_type());
    let both = vec![sum_over_all(field(0)), sum_over_all(as_float())];
    assert_eq!(db.sorted(&plan(&["sum"], project(read_t(), 2, both), &["s", "f"])), ["3|3.0", "3|3.0"]);
    // Each is nested in another call, and one of them occurs twice.
    let negated = |of: Expression| call(1, vec![sum_over_all(of)]);
    let within = vec![negated(as_float()), negated(field(0)), negated(as_float())];
    assert_eq!(db.sorted(&plan(&["sum", "negate"], project(read_t(), 2, within), &["f", "s", "g"])), ["-3.0|-3|-3.0", "-3.0|-3|-3.0"]);
    let function = |of| WindowRelFunction { arguments: vec![argument(of)], phase: 3, ..WindowRelFunction::default() };
    let window = ConsistentPartitionWindowRel {
        input: boxed(read_t()),
        window_functions: vec![function(field(0)), function(as_float())],
        ..ConsistentPartitionWindowRel::default()
    };
    let rows = db.sorted(&plan(&["sum"], rel(RelType::Window(Box::new(window))), &["a", "b", "s", "f"]));
    assert_eq!(rows, ["1|10|3|3.0", "2|NULL|3|3.0"]);
}

#[test]
fn a_function_over_a_window_is_refused_with_its_place_where_it_has_no_window() {
    let db = Db::with(T);
    let refused = |plan: &Plan, place: &str| {
        let sentence = db.sentence(plan);
        assert!(sentence.starts_with("a function over a window that is not in the expressions of a project"), "{sentence}");
        assert!(sentence.ends_with(&format!("is not supported, at {place}")), "{sentence}");
    };
    let is_three = call(1, vec![sum_over_all(field(0)), number(3)]);
    let filtered = plan(&["sum", "equal"], filter(read_t(), is_three), &["a", "b"]);
    refused(&filtered, "relations[0].root.input.filter.condition.scalar_function.arguments[0]");
    let twice = plan(&["sum"], project(read_t(), 2, vec![sum_over_all(sum_over_all(field(0)))]), &["s"]);
    refused(&twice, "relations[0].root.input.project.expressions[0].window_function.arguments[0]");
}

#[test]
fn a_column_of_a_table_may_be_called_as_those_that_are_made() {
    let db = Db::with("CREATE TABLE t (\"__quiver_c0\" BIGINT, b BIGINT); INSERT INTO t VALUES (1, 2)");
    for name in ["__quiver_c0", "__QUIVER_C0"] {
        let table = rel(RelType::Read(Box::new(read(&["t"], &[(name, i64_type()), ("b", i64_type())]))));
        let sum = ProjectRel { input: boxed(table), expressions: vec![call(0, vec![field(0), field(1)])], ..ProjectRel::default() };
        assert_eq!(db.sorted(&plan(&["add"], rel(RelType::Project(Box::new(sum))), &["a", "b", "s"])), ["1|2|3"]);
    }
}

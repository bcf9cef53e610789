//! Small plans with large effects: their expansion is bounded, and takes time in proportion to the plan.

use std::time::{Duration, Instant};

use substrait_plans::PlanError;
use substrait_plans::proto::expression::literal::{LiteralType, Struct as StructValue};
use substrait_plans::proto::expression::{Literal, RexType, SingularOrList, nested};
use substrait_plans::proto::read_rel::{ReadType, VirtualTable};
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::sort_field::SortKind;
use substrait_plans::proto::r#type::{Kind, Struct as StructType};
use substrait_plans::proto::{
    AggregateRel, DynamicParameter, DynamicParameterBinding, Expression, Plan, ProjectRel, ReadRel, Rel, SortField, SortRel, Type,
};

use super::support::Db;
use super::written::*;

const T: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10)";
/// Far more than the tests take in an unoptimized build, and far less than they took before the limits.
const LONG: Duration = Duration::from_secs(30);

fn one_of(value: Expression, options: Vec<Expression>) -> Expression {
    expression(RexType::SingularOrList(Box::new(SingularOrList { value: Some(Box::new(value)), options })))
}

fn wide(functions: &[&str], input: Rel, width: usize) -> Plan {
    let names: Vec<String> = (0..width).map(|column| format!("c{column}")).collect();
    plan(functions, input, &names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_long_expression_that_is_emitted_often_is_made_once() {
    let db = Db::with(T);
    let started = Instant::now();
    let project = ProjectRel {
        common: emit(&[2; 1_000]),
        input: boxed(read_t()),
        expressions: vec![one_of(field(0), vec![field(1); 5_000])],
        ..ProjectRel::default()
    };
    let rows = db.plan(&wide(&[], rel(RelType::Project(Box::new(project))), 1_000)).unwrap().rows;
    assert_eq!(rows, [["false"; 1_000].join("|")]);
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}

/// `x + x`, where each x is again such a sum.
fn doubled(times: usize) -> Rel {
    (0..times).fold(project(read_t(), 2, vec![field(0)]), |input, _| project(input, 1, vec![call(0, vec![field(0), field(0)])]))
}

#[test]
fn a_filter_on_sums_of_sums_is_refused_before_it_is_planned() {
    let db = Db::with(T);
    let filtered = |times| plan(&["add", "equal"], filter(doubled(times), call(1, vec![field(0), number(1 << times)])), &["x"]);
    assert_eq!(db.sorted(&filtered(8)), ["256"]);
    let started = Instant::now();
    let error = db.error(&filtered(30));
    let PlanError::TooIntricate { place, .. } = &error else { panic!("{error}") };
    assert_eq!(place, "relations[0].root.input.filter.condition");
    // A sort with a limit on such a column creates a filter, too.
    let by = SortField { expr: Some(field(0)), sort_kind: Some(SortKind::Direction(1)) };
    let sorted = rel(RelType::Sort(Box::new(SortRel { input: boxed(doubled(30)), sorts: vec![by], ..SortRel::default() })));
    assert!(matches!(db.error(&plan(&["add"], sorted, &["x"])), PlanError::TooIntricate { .. }));
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}

#[test]
fn sums_of_sums_without_a_filter_are_added_one_after_the_other() {
    let db = Db::with(T);
    assert_eq!(db.sorted(&plan(&["add"], doubled(25), &["x"])), [(1_i64 << 25).to_string()]);
    // A measure is a separate column: expressions above it do not expand it.
    let measured = aggregate(doubled(9), vec![], &[], vec![measure(1, vec![field(0)])]);
    let again =
        (0..9).fold(rel(RelType::Aggregate(Box::new(measured))), |input, _| project(input, 1, vec![call(0, vec![field(0), field(0)])]));
    let filtered = filter(again, call(2, vec![field(0), number(1 << 18)]));
    assert_eq!(db.sorted(&plan(&["add", "sum:i64", "equal"], filtered, &["x"])), ["262144"]);
}

/// A list of constants does not grow beyond the plan.
#[test]
fn a_filter_of_many_constants_is_no_intricate_one() {
    let db = Db::with(T);
    let listed = one_of(field(0), (0..110_000).map(number).collect());
    assert_eq!(db.sorted(&plan(&[], filter(read_t(), listed), &["a", "b"])), ["1|10"]);
}

fn grouped(of: AggregateRel) -> Rel {
    rel(RelType::Aggregate(Box::new(of)))
}

#[test]
fn grouping_sets_are_at_most_1000_of_at_most_32_expressions() {
    let db = Db::with(T);
    let started = Instant::now();
    let same = |sets: usize| plan(&[], grouped(aggregate(read_t(), vec![field(0)], &vec![&[0_u32][..]; sets], vec![])), &["a", "set"]);
    let mut rows = db.sorted(&same(100));
    rows.dedup();
    assert_eq!(rows.len(), 100);
    assert!(matches!(db.error(&same(1_001)), PlanError::TooMany { what: "grouping sets", limit: 1_000 }));
    let keys: Vec<Expression> = (0..1_000).map(|other| call(0, vec![field(0), number(other)])).collect();
    let all: Vec<u32> = (0..1_000).collect();
    let many = wide(&["add"], grouped(aggregate(read_t(), keys, &[&all[..]; 90], vec![])), 1_001);
    assert!(matches!(db.error(&many), PlanError::TooMany { what: "expressions in grouping sets", limit: 32 }));
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}

/// Numbers are packed: decoding counts any number of them as one field.
#[test]
fn repeated_references_count_one_by_one() {
    let db = Db::with(T);
    let references = vec![0_u32; 100_001];
    let again = plan(&[], grouped(aggregate(read_t(), vec![field(0)], &[&references[..]], vec![])), &["a"]);
    assert!(matches!(db.error(&again), PlanError::TooMany { what: "references to grouping expressions", .. }));
    // The limit is reported before the first index that is out of range.
    let emitted = ProjectRel { common: emit(&vec![7; 1_000_000]), input: boxed(read_t()), ..ProjectRel::default() };
    let emitted = plan(&[], rel(RelType::Project(Box::new(emitted))), &[]);
    assert!(matches!(db.error(&emitted), PlanError::TooMany { what: "columns in one relation", .. }));
}

fn rows_of(mut of: ReadRel, rows: Vec<Vec<Expression>>) -> Rel {
    let row = |fields| nested::Struct { fields };
    let table = VirtualTable { expressions: rows.into_iter().map(row).collect(), ..VirtualTable::default() };
    of.read_type = Some(ReadType::VirtualTable(table));
    rel(RelType::Read(Box::new(of)))
}

#[test]
fn a_constant_after_a_call_in_a_row_has_the_names_that_are_its_own() {
    let db = Db::with(T);
    let point = |types: Vec<Type>| Type { kind: Some(Kind::Struct(StructType { types, nullability: 1, ..StructType::default() })) };
    let mut of = read(&[], &[("p", point(vec![i64_type()])), ("n", i64_type()), ("q", point(vec![i64_type()]))]);
    let names = ["p", "x", "n", "q", "y"].iter().map(|name| name.to_string()).collect();
    of.base_schema.as_mut().unwrap().names = names;
    let value = |value| {
        let fields = vec![Literal { literal_type: Some(LiteralType::I64(value)), ..Literal::default() }];
        literal(LiteralType::Struct(StructValue { fields }))
    };
    let row = |first: i64| vec![value(first), call(0, vec![number(first), number(1)]), value(first + 2)];
    let rows = db.sorted(&plan(&["add"], rows_of(of, vec![row(1), row(4)]), &["p", "x", "n", "q", "y"]));
    assert_eq!(rows, ["{x: 1}|2|{y: 3}", "{x: 4}|5|{y: 6}"]);
}

#[test]
fn rows_of_many_calls_take_time_in_proportion_to_their_number() {
    let db = Db::with(T);
    let names: Vec<String> = (0..1_000).map(|column| format!("c{column}")).collect();
    let columns: Vec<(&str, Type)> = names.iter().map(|name| (name.as_str(), i64_type())).collect();
    let row = vec![call(0, vec![number(1), number(2)]); 1_000];
    let started = Instant::now();
    let rows = db.plan(&wide(&["add"], rows_of(read(&[], &columns), vec![row; 10]), 1_000)).unwrap().rows;
    assert_eq!((rows.len(), rows[0].len()), (10, 1_999));
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}

#[test]
fn many_parameters_are_bound_in_one_pass() {
    let db = Db::with(T);
    let anchors = 1..=20_000_u32;
    let parameter =
        |anchor| expression(RexType::DynamicParameter(DynamicParameter { r#type: Some(i64_type()), parameter_reference: anchor }));
    let listed = one_of(field(0), anchors.clone().map(parameter).collect());
    let mut plan = plan(&[], filter(read_t(), listed), &["a", "b"]);
    let bound = |parameter_anchor| {
        let value = Literal { literal_type: Some(LiteralType::I64(i64::from(parameter_anchor))), ..Literal::default() };
        DynamicParameterBinding { parameter_anchor, value: Some(value) }
    };
    plan.parameter_bindings = anchors.map(bound).collect();
    let started = Instant::now();
    assert_eq!(db.sorted(&plan), ["1|10"]);
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}

//! Functions, constants and casts, where the library drops or confuses something.

use substrait_plans::proto::expression::literal::interval_day_to_second::PrecisionMode;
use substrait_plans::proto::expression::literal::{self, IntervalDayToSecond, LiteralType, PrecisionTimestamp};
use substrait_plans::proto::expression::{Literal, MultiOrList, RexType, SwitchExpression, multi_or_list, switch_expression};
use substrait_plans::proto::r#type::{self as types, Kind};
use substrait_plans::proto::{DynamicParameter, DynamicParameterBinding, Expression, Rel, Type};

use super::support::Db;
use super::written::*;

const T: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10), (2, NULL)";

/// Evaluates expressions over `t`.
fn values(functions: &[&str], urn: &str, expressions: Vec<Expression>) -> Vec<String> {
    Db::with(T).sorted(&of_t(functions, urn, expressions))
}

fn of_t(functions: &[&str], urn: &str, expressions: Vec<Expression>) -> substrait_plans::proto::Plan {
    let names: Vec<String> = (0..expressions.len()).map(|index| format!("c{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    plan_of(functions, urn, project(read_t(), 2, expressions), &names)
}

#[test]
fn least_is_null_if_a_value_is_unless_the_function_says_otherwise() {
    let both = vec![field(0), field(1)];
    let calls = || vec![call(0, both.clone()), call(1, both.clone())];
    assert_eq!(values(&["least", "least_skip_null"], STANDARD, calls()), ["1|1", "NULL|2"]);
    // DataFusion's own functions.
    assert_eq!(values(&["least", "greatest"], substrait_plans::OUR_FUNCTIONS, calls()), ["1|10", "2|2"]);
}

#[test]
fn concat_is_null_if_a_value_is_unless_nulls_are_to_be_ignored() {
    let texts = || vec![text("x"), cast(field(1), text_type())];
    let ignoring = call_with(0, texts().into_iter().map(argument).collect(), &[("null_handling", &["IGNORE_NULLS"])]);
    assert_eq!(values(&["concat:str"], STANDARD, vec![call(0, texts()), ignoring]), ["NULL|x", "x10|x10"]);
}

#[test]
fn the_first_preference_that_is_done_counts_and_none_is_refused() {
    let sum = |preference: &[&str]| call_with(0, vec![argument(field(0)), argument(field(1))], &[("overflow", preference)]);
    assert_eq!(values(&["add"], STANDARD, vec![sum(&["SATURATE", "error"])]), ["11", "NULL"]);
    let db = Db::with(T);
    let sentence = db.sentence(&of_t(&["add:i64_i64"], STANDARD, vec![sum(&["SATURATE"])]));
    assert_eq!(
        sentence,
        "any other overflow than ERROR or SILENT is not supported, at a call of \"add:i64_i64\" in relations[0].root.input"
    );
    let unknown = call_with(0, vec![argument(field(0)), argument(field(1))], &[("mood", &["GOOD"])]);
    assert!(db.sentence(&of_t(&["add"], STANDARD, vec![unknown])).contains("the option \"mood\""));
}

#[test]
fn what_does_not_fit_its_number_is_an_error_as_the_plan_says() {
    let db = Db::with(T);
    let sum = call_with(0, vec![argument(field(0)), argument(number(i64::MAX))], &[("overflow", &["ERROR"])]);
    assert!(db.sentence(&of_t(&["add:i64_i64"], STANDARD, vec![sum])).contains("out of range"));
}

#[test]
fn like_looks_at_the_letters_case_as_the_plan_says() {
    let matched = |options: &[(&str, &[&str])]| call_with(0, vec![argument(text("ABC")), argument(text("a%"))], options);
    let calls = vec![matched(&[]), matched(&[("case_sensitivity", &["CASE_INSENSITIVE"])])];
    assert_eq!(values(&["like:str_str"], STANDARD, calls), ["false|true", "false|true"]);
}

#[test]
fn parts_of_a_time_are_those_of_the_standard() {
    // 2024-12-29 23:59:58.123456, a Sunday.
    let at = || literal(LiteralType::PrecisionTimestamp(PrecisionTimestamp { precision: 6, value: 1_735_516_798_123_456 }));
    let part = |names: &[&str]| call_with(0, names.iter().map(|name| enumeration(name)).chain([argument(at())]).collect(), &[]);
    let calls = vec![
        part(&["year"]),
        part(&["MONTH", "ONE"]),
        part(&["MONTH", "ZERO"]),
        part(&["SUNDAY_DAY_OF_WEEK", "ONE"]),
        part(&["MONDAY_DAY_OF_WEEK", "ONE"]),
        part(&["MILLISECOND"]),
        part(&["MICROSECOND"]),
        part(&["SUBSECOND"]),
        part(&["UNIX_TIME"]),
    ];
    let expected = "2024|12|11|1|7|123|456|123456|1735516798";
    assert_eq!(values(&["extract:req_pts"], STANDARD, calls), [expected, expected]);
}

#[test]
fn a_timestamp_of_an_older_plan_is_in_microseconds() {
    #[expect(deprecated, reason = "that is what it is about")]
    let old = literal(LiteralType::Timestamp(1_000_000));
    assert_eq!(values(&[], "", vec![old]), ["1970-01-01T00:00:01", "1970-01-01T00:00:01"]);
}

#[test]
fn an_interval_keeps_what_is_less_than_a_millisecond() {
    let at = literal(LiteralType::PrecisionTimestamp(PrecisionTimestamp { precision: 6, value: 0 }));
    let interval = literal(LiteralType::IntervalDayToSecond(IntervalDayToSecond {
        days: 0,
        seconds: 1,
        subseconds: 5,
        precision_mode: Some(PrecisionMode::Precision(6)),
    }));
    assert_eq!(values(&["add:pts_iday"], STANDARD, vec![call(0, vec![at, interval])])[0], "1970-01-01T00:00:01.000005");
}

#[test]
fn a_constant_that_does_not_fit_its_type_is_refused() {
    let db = Db::with(T);
    let decimal = |bytes: usize, precision| literal::Decimal { value: vec![0xff; bytes], precision, scale: 0 };
    for value in [
        LiteralType::I8(300),
        LiteralType::Decimal(decimal(15, 5)),
        LiteralType::Decimal(decimal(16, 200)),
        LiteralType::PrecisionTime(literal::PrecisionTime { precision: 3, value: 90_000_000 }),
        LiteralType::List(literal::List {
            values: [LiteralType::I64(1), LiteralType::String("x".into())]
                .map(|value| Literal { literal_type: Some(value), ..Literal::default() })
                .to_vec(),
        }),
    ] {
        let sentence = db.sentence(&of_t(&[], "", vec![literal(value)]));
        assert!(sentence.ends_with("relations[0].root.input.project.expressions[0]"), "{sentence}");
    }
}

#[test]
fn varchar_constants_are_texts_and_casts_to_varchar_cut() {
    let constant = literal(LiteralType::VarChar(literal::VarChar { value: "abc".into(), length: 3 }));
    let to = |length| Type { kind: Some(Kind::Varchar(types::VarChar { length, nullability: 1, ..types::VarChar::default() })) };
    let calls = vec![constant.clone(), cast(constant.clone(), to(2)), cast(constant, to(10)), cast(number(12_345), to(3))];
    assert_eq!(values(&[], "", calls)[0], "abc|ab|abc|123");
}

#[test]
fn switches_and_lists_of_records_choose_as_they_say() {
    let of = |value: i64, then: &str| switch_expression::IfValue {
        r#if: Some(Literal { literal_type: Some(LiteralType::I64(value)), ..Literal::default() }),
        then: Some(text(then)),
    };
    let switch = expression(RexType::SwitchExpression(Box::new(SwitchExpression {
        r#match: Some(Box::new(field(0))),
        ifs: vec![of(1, "one"), of(7, "seven")],
        r#else: Some(Box::new(text("other"))),
    })));
    let record = |a, b| multi_or_list::Record { fields: vec![number(a), number(b)] };
    let list =
        expression(RexType::MultiOrList(MultiOrList { value: vec![field(0), field(1)], options: vec![record(1, 10), record(5, 5)] }));
    assert_eq!(values(&[], "", vec![switch, list]), ["one|true", "other|false"]);
}

#[test]
fn and_and_or_take_any_number_of_terms() {
    let many = |anchor| call(anchor, (0..3_000).map(|term| call(2, vec![field(0), number(term)])).collect());
    let calls = vec![many(0), many(1), call(0, vec![]), call(1, vec![])];
    assert_eq!(values(&["and", "or", "equal"], STANDARD, calls), ["false|true|true|false", "false|true|true|false"]);
}

#[test]
fn a_nested_xor_does_not_grow_with_each_level() {
    let is_one = || call(1, vec![field(0), number(1)]);
    let nested = (0..25).fold(is_one(), |inner, _| call(0, vec![inner, is_one()]));
    assert_eq!(values(&["xor", "equal"], STANDARD, vec![nested]), ["false", "false"]);
}

#[test]
fn a_function_of_somebody_else_is_not_taken_for_ours_of_the_same_name() {
    let db = Db::with(T);
    let sentence = db.sentence(&of_t(&["upper:str"], "extension:com.example:theirs", vec![call(0, vec![text("x")])]));
    let expected = "the function \"upper:str\" (anchor 0, of extension:com.example:theirs) \
                    at relations[0].root.input.project.expressions[0] is not known here";
    assert_eq!(sentence, expected);
    assert_eq!(values(&["upper"], "", vec![call(0, vec![text("x")])]), ["X", "X"]);
}

#[test]
fn a_parameter_with_a_value_in_the_plan_is_that_value() {
    let parameter =
        |anchor| expression(RexType::DynamicParameter(DynamicParameter { r#type: Some(i64_type()), parameter_reference: anchor }));
    let mut plan = of_t(&[], "", vec![parameter(7)]);
    let value = Literal { literal_type: Some(LiteralType::I64(42)), ..Literal::default() };
    plan.parameter_bindings = vec![DynamicParameterBinding { parameter_anchor: 7, value: Some(value) }];
    assert_eq!(Db::with(T).sorted(&plan), ["42", "42"]);
    let open = substrait_plans::parameters(&of_t(&[], "", vec![parameter(9), parameter(4)])).unwrap();
    let open: Vec<_> = open.iter().map(|parameter| (parameter.anchor, parameter.id.as_str())).collect();
    assert_eq!(open, [(4, "$1"), (9, "$2")]);
}

#[test]
fn a_parameter_that_only_a_best_effort_filter_has_is_not_asked_for() {
    use substrait_plans::proto::rel::RelType;
    let parameter =
        |parameter_reference| expression(RexType::DynamicParameter(DynamicParameter { r#type: Some(i64_type()), parameter_reference }));
    let mut read = read(&["t"], &[("a", i64_type()), ("b", i64_type())]);
    read.best_effort_filter = Some(Box::new(call(0, vec![field(0), parameter(3)])));
    let plan = plan(&["equal"], project(rel(RelType::Read(Box::new(read))), 2, vec![parameter(5)]), &["p"]);
    let open = substrait_plans::parameters(&plan).unwrap();
    assert_eq!(open.iter().map(|parameter| (parameter.anchor, parameter.id.as_str())).collect::<Vec<_>>(), [(5, "$1")]);
}

#[test]
fn windows_that_do_not_say_of_what_their_bounds_are_are_refused_where_it_matters() {
    use substrait_plans::proto::expression::WindowFunction;
    use substrait_plans::proto::expression::window_function::{Bound, bound};
    let current = Some(Bound { kind: Some(bound::Kind::CurrentRow(bound::CurrentRow {})) });
    let sum = |upper_bound: Option<Bound>, bounds_type| {
        expression(RexType::WindowFunction(WindowFunction {
            arguments: vec![argument(field(0))],
            sorts: vec![substrait_plans::proto::SortField {
                expr: Some(field(0)),
                sort_kind: Some(substrait_plans::proto::sort_field::SortKind::Direction(2)),
            }],
            phase: 3,
            upper_bound,
            bounds_type,
            ..WindowFunction::default()
        }))
    };
    assert_eq!(values(&["sum"], STANDARD, vec![sum(None, 0), sum(current, 1)]), ["3|1", "3|3"]);
    let sentence = Db::with(T).sentence(&of_t(&["sum"], STANDARD, vec![sum(current, 0)]));
    assert!(sentence.contains("whether the bounds of a window are of ROWS or of a RANGE"), "{sentence}");
}

/// Rows that are in the plan.
#[test]
fn rows_of_a_plan_have_the_types_that_the_plan_says() {
    use substrait_plans::proto::expression::nested;
    use substrait_plans::proto::read_rel::{ReadType, VirtualTable};
    use substrait_plans::proto::rel::RelType;
    let row = |fields| nested::Struct { fields };
    let rows = |rows: Vec<Vec<Expression>>| -> Rel {
        let mut read = read(&[], &[("x", i64_type()), ("y", text_type())]);
        let table = VirtualTable { expressions: rows.into_iter().map(row).collect(), ..VirtualTable::default() };
        read.read_type = Some(ReadType::VirtualTable(table));
        rel(RelType::Read(Box::new(read)))
    };
    let db = Db::with("");
    let mixed = rows(vec![vec![literal(LiteralType::I32(1)), text("a")], vec![number(2), text("b")]]);
    assert_eq!(db.sorted(&plan(&[], mixed, &["x", "y"])), ["1|a", "2|b"]);
    assert!(db.plan(&plan(&[], rows(vec![]), &["x", "y"])).unwrap().rows.is_empty());
    let short = db.sentence(&plan(&[], rows(vec![vec![number(1)]]), &["x", "y"]));
    assert!(short.contains("a row of 1 values where the schema has 2 columns"), "{short}");
}

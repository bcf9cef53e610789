//! Unsupported features are refused with their position.

use engine::ErrorKind;
use substrait_plans::proto::extensions::AdvancedExtension;
use substrait_plans::proto::fetch_rel::CountMode;
use substrait_plans::proto::read_rel::{LocalFiles, ReadType};
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::sort_field::SortKind;
use substrait_plans::proto::r#type::{Kind, UserDefined};
use substrait_plans::proto::{FetchRel, Plan, ReferenceRel, Rel, SortField, SortRel, Type};
use substrait_plans::{PlanError, encode};

use super::support::Db;
use super::written::*;

const T: &str = "CREATE TABLE t (a BIGINT, b BIGINT); INSERT INTO t VALUES (1, 10)";

fn of(input: Rel) -> Plan {
    plan(&[], input, &["a", "b"])
}

#[test]
fn relations_that_write_refer_or_read_files_are_refused() {
    let db = Db::with(T);
    let mut files = read(&["t"], &[("a", i64_type())]);
    files.read_type = Some(ReadType::LocalFiles(LocalFiles::default()));
    let refused = [
        (RelType::Write(Box::default()), "a plan that changes tables, which only SQL does,"),
        (RelType::Reference(ReferenceRel::default()), "a reference to another part of the plan"),
        (RelType::Read(Box::new(files)), "reading anything but named tables and rows in the plan"),
    ];
    for (kind, what) in refused {
        let error = db.error(&of(rel(kind)));
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.to_string(), format!("{what} is not supported, at relations[0].root.input"));
    }
}

#[test]
fn a_type_that_is_not_known_is_named_with_its_anchor() {
    let db = Db::with(T);
    let strange = Type { kind: Some(Kind::UserDefined(UserDefined { type_reference: 5, ..UserDefined::default() })) };
    let error = db.error(&of(rel(RelType::Read(Box::new(read(&["t"], &[("a", strange)]))))));
    assert!(matches!(&error, PlanError::UnknownType { anchor: 5, .. }), "{error}");
}

#[test]
fn an_enhancement_is_not_overlooked() {
    let db = Db::with(T);
    let enhancement = Some(AdvancedExtension { enhancement: Some(Default::default()), ..AdvancedExtension::default() });
    let mut whole = of(read_t());
    whole.advanced_extensions.clone_from(&enhancement);
    assert!(matches!(db.error(&whole), PlanError::Unsupported { .. }));
    let mut read = read(&["t"], &[("a", i64_type()), ("b", i64_type())]);
    read.advanced_extension = enhancement;
    let sentence = db.sentence(&of(rel(RelType::Read(Box::new(read)))));
    assert!(sentence.contains("the enhancement"), "{sentence}");
}

#[test]
fn a_sort_says_its_direction() {
    let db = Db::with(T);
    let sorted = |sort_kind| {
        let sorts = vec![SortField { expr: Some(field(0)), sort_kind }];
        of(rel(RelType::Sort(Box::new(SortRel { input: boxed(read_t()), sorts, ..SortRel::default() }))))
    };
    for direction in 1..=5 {
        assert_eq!(db.sorted(&sorted(Some(SortKind::Direction(direction)))), ["1|10"]);
    }
    for kind in [None, Some(SortKind::Direction(0)), Some(SortKind::Direction(77)), Some(SortKind::ComparisonFunctionReference(0))] {
        assert!(db.sentence(&sorted(kind)).contains("sort"));
    }
}

#[test]
fn a_number_of_rows_is_none_below_zero() {
    let db = Db::with(T);
    let fetched = |count| {
        let count_mode = Some(CountMode::CountExpr(Box::new(number(count))));
        of(rel(RelType::Fetch(Box::new(FetchRel { input: boxed(read_t()), count_mode, ..FetchRel::default() }))))
    };
    assert_eq!(db.sorted(&fetched(1)), ["1|10"]);
    assert!(db.sorted(&fetched(0)).is_empty());
    assert_eq!(db.sentence(&fetched(-3)), "-3 as a number of rows, at a fetch in relations[0].root.input");
}

#[test]
fn parts_that_are_missing_are_named() {
    let db = Db::with(T);
    let mut no_condition = filter(read_t(), number(1));
    if let Some(RelType::Filter(filter)) = &mut no_condition.rel_type {
        filter.condition = None;
    }
    assert_eq!(db.sentence(&of(no_condition)), "\"condition\" is missing at relations[0].root.input.filter");
    assert_eq!(db.sentence(&of(Rel::default())), "the kind of the relation is missing at relations[0].root.input");
    let no_root = Plan { relations: Vec::new(), ..of(read_t()) };
    assert_eq!(db.sentence(&no_root), "a root is missing at relations");
    let twice = Plan { relations: vec![of(read_t()).relations[0].clone(), of(read_t()).relations[0].clone()], ..of(read_t()) };
    assert!(matches!(db.bytes(&encode(&twice)), Err(PlanError::Unsupported { .. })));
}

#[test]
fn names_of_the_result_are_as_many_as_its_columns() {
    let db = Db::with(T);
    assert!(db.sentence(&plan(&[], read_t(), &["a"])).starts_with("there are fewer names than columns and fields"));
    assert!(db.sentence(&plan(&[], read_t(), &["a", "b", "c"])).starts_with("there are 1 names more than columns and fields"));
}

#[test]
fn a_wrong_number_of_arguments_is_said() {
    let db = Db::with(T);
    let sentence = db.sentence(&plan(&["equal:any_any"], filter(read_t(), call(0, vec![field(0)])), &["a", "b"]));
    let expected = "the function \"equal:any_any\" with 1 arguments, where it takes 2, at relations[0].root.input.filter.condition";
    assert_eq!(sentence, expected);
    let own = plan_of(&["upper"], substrait_plans::OUR_FUNCTIONS, project(read_t(), 2, vec![call(0, vec![])]), &["u"]);
    assert_eq!(db.error(&own).kind(), ErrorKind::Invalid);
}

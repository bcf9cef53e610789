//! The form of our plans: names, types and forms that other engines can read.

use substrait_plans::proto::expression::RexType;
use substrait_plans::proto::extensions::simple_extension_declaration::MappingType;
use substrait_plans::proto::plan_rel::RelType as Root;
use substrait_plans::proto::read_rel::ReadType;
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::{Plan, Rel};
use substrait_plans::{Limits, PlanFormat, decode, encode, encode_with_uris, parse, render};

use super::support::Db;

const TABLES: &str = "
    CREATE TABLE t (k BIGINT NOT NULL, g VARCHAR, i INT, d DECIMAL(15,2), day DATE, at TIMESTAMP(6));
    CREATE TABLE u (k BIGINT NOT NULL, i INT);
";

fn declared(plan: &Plan) -> Vec<String> {
    let urn = |anchor: u32| plan.extension_urns.iter().find(|urn| urn.extension_urn_anchor == anchor).unwrap().urn.clone();
    let names = plan.extensions.iter().filter_map(|declaration| match &declaration.mapping_type {
        Some(MappingType::ExtensionFunction(function)) => {
            let urn = urn(function.extension_urn_reference);
            Some(format!("{} {}", urn.rsplit(':').next().unwrap(), function.name))
        }
        _ => None,
    });
    names.collect()
}

fn root(plan: &Plan) -> (&Rel, &[String]) {
    let Some(Root::Root(root)) = &plan.relations[0].rel_type else { panic!("no root") };
    (root.input.as_ref().unwrap(), &root.names)
}

/// The relation followed by the first inputs below it.
fn spine(mut rel: &Rel) -> Vec<&Rel> {
    let mut spine = vec![rel];
    loop {
        let input = match rel.rel_type.as_ref().unwrap() {
            RelType::Project(of) => of.input.as_deref(),
            RelType::Filter(of) => of.input.as_deref(),
            RelType::Fetch(of) => of.input.as_deref(),
            RelType::Sort(of) => of.input.as_deref(),
            RelType::Aggregate(of) => of.input.as_deref(),
            RelType::Join(of) => of.left.as_deref(),
            _ => None,
        };
        match input {
            Some(input) => rel = input,
            None => return spine,
        }
        spine.push(rel);
    }
}

#[test]
fn functions_are_declared_once_under_the_standards_urns_with_their_signatures() {
    let sql = "SELECT g, sum(d * (1 - d)) AS s, avg(d), count(*), max(day) FROM t WHERE k + 1 > 5 AND k + 1 < 9 GROUP BY g";
    let plan = Db::with(TABLES).plan(sql).unwrap();
    let names = declared(&plan);
    for name in [
        "functions_arithmetic_decimal multiply:dec_dec",
        "functions_arithmetic_decimal subtract:dec_dec",
        "functions_arithmetic_decimal sum:dec",
        "functions_arithmetic_decimal avg:dec",
        "functions_aggregate_generic count:",
        "functions_datetime max:date",
        "functions_arithmetic add:i64_i64",
        "functions_boolean and:bool",
        "functions_comparison gt:any_any",
        "functions_comparison lt:any_any",
    ] {
        assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name} in {names:?}");
    }
    assert_eq!(plan.version.as_ref().unwrap().producer, "quiver");
    assert_eq!(root(&plan).1[..2], ["g", "s"]);
}

#[test]
fn a_table_is_named_by_schema_and_table_with_all_of_its_columns_and_those_that_are_read() {
    let plan = Db::with(TABLES).plan("SELECT d FROM t WHERE i > 3 ORDER BY day LIMIT 2").unwrap();
    let spine = spine(root(&plan).0);
    let Some(RelType::Read(read)) = &spine.last().unwrap().rel_type else { panic!("no read") };
    let Some(ReadType::NamedTable(table)) = &read.read_type else { panic!("no table") };
    assert_eq!(table.names, ["main", "t"]);
    assert_eq!(read.base_schema.as_ref().unwrap().names, ["k", "g", "i", "d", "day", "at"]);
    let chosen: Vec<i32> = read.projection.as_ref().unwrap().select.as_ref().unwrap().struct_items.iter().map(|item| item.field).collect();
    assert_eq!(chosen, [2, 3, 4]);
    assert!(spine.iter().any(|rel| matches!(rel.rel_type, Some(RelType::Filter(_)))));
    assert!(spine.iter().any(|rel| matches!(rel.rel_type, Some(RelType::Fetch(_)))));
}

#[test]
fn a_chain_of_or_is_one_function() {
    let terms: Vec<String> = (0..100).map(|n| format!("{} = {n}", if n % 2 == 0 { "k" } else { "i" })).collect();
    let plan = Db::with(TABLES).plan(&format!("SELECT k FROM t WHERE {}", terms.join(" OR "))).unwrap();
    let spine = spine(root(&plan).0);
    let condition = spine.iter().find_map(|rel| match &rel.rel_type {
        Some(RelType::Filter(filter)) => filter.condition.as_deref(),
        _ => None,
    });
    let Some(RexType::ScalarFunction(or)) = &condition.unwrap().rex_type else { panic!("no function") };
    // The optimizer may have combined some into lists.
    assert!(or.arguments.len() == 100 || or.arguments.len() == 2, "{}", or.arguments.len());
}

#[test]
fn a_plan_is_the_same_bytes_every_time() {
    let db = Db::with(TABLES);
    let sql = "SELECT g, count(DISTINCT k), sum(i) FILTER (WHERE k > 1) FROM t JOIN u USING (k, i) GROUP BY g ORDER BY g";
    assert_eq!(encode(&db.plan(sql).unwrap()), encode(&db.plan(sql).unwrap()));
}

#[test]
fn a_plan_is_read_back_from_json_and_from_bytes_as_it_was() {
    let db = Db::with(TABLES);
    let grouped = "SELECT g, sum(d), count(*) FROM t WHERE day > DATE '2024-01-01' AND i IN (1, 2) GROUP BY g ORDER BY 2 LIMIT 3";
    for sql in ["SELECT k FROM t", grouped] {
        let plan = db.plan(sql).unwrap();
        for format in [PlanFormat::Json, PlanFormat::Binary] {
            let written = render(&plan, format).unwrap();
            assert_eq!(parse(&written, &Limits::default()).unwrap(), plan, "{sql} as {format}");
        }
        assert_eq!(decode(&encode_with_uris(&plan), &Limits::default()).unwrap(), plan);
    }
}

#[test]
fn text_is_read_back_as_it_was_or_says_that_it_cannot_be() {
    let db = Db::with(TABLES);
    let queries = [
        "SELECT k FROM t",
        "SELECT k, i FROM t WHERE i = 7 ORDER BY k",
        "SELECT g, count(DISTINCT i) FROM t GROUP BY g",
        "SELECT k FROM t WHERE d > 1.5",
    ];
    for sql in queries {
        let plan = db.plan(sql).unwrap();
        let text = render(&plan, PlanFormat::Text).unwrap();
        match parse(&text, &Limits::default()) {
            Ok(read) => assert_eq!(read, plan, "{sql}"),
            Err(error) => assert!(error.to_string().contains("outline"), "{sql}: {error}"),
        }
    }
    let sql = "SELECT g, count(DISTINCT i) AS n, sum(d) FILTER (WHERE k > 1) FROM t WHERE d > 1.50 AND i IN (1, 2)
        GROUP BY g HAVING max(i) > (SELECT min(i) FROM u)";
    let plan = db.plan(sql).unwrap();
    let text = String::from_utf8(render(&plan, PlanFormat::Text).unwrap()).unwrap();
    for words in ["Read main.t", "distinct", "where gt(", "1.50", "subquery 1", "Read main.u", "Root [g, n, "] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

#[test]
fn older_plans_in_json_keep_their_extensions() {
    let plan = Db::with(TABLES).plan("SELECT count(*) FROM t").unwrap();
    let json = String::from_utf8(render(&plan, PlanFormat::Json).unwrap()).unwrap();
    let older = json.replace("extensionUrn", "extensionUri").replace("\"urn\"", "\"uri\"");
    assert!(older.contains("extensionUris") && older.contains("extensionUriAnchor") && older.contains("extensionUriReference"));
    assert_eq!(parse(older.as_bytes(), &Limits::default()).unwrap(), plan);
}

#[test]
fn what_is_no_plan_is_told_apart_from_one() {
    let cases =
        [(&b"{\"a\": "[..], "JSON"), (b"=== Plan\nnonsense", "text"), (b"SELECT 1", "plan"), (b"# An outline of a plan", "outline")];
    for (bytes, words) in cases {
        let error = parse(bytes, &Limits::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

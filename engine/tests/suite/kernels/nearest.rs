//! `ORDER BY l2_distance(v, …) LIMIT k`: the same rows with `quiver.nearest_rows` on and off, on data that is hard on it.

use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, ListArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Float64Type};

use crate::cancel::{filled, stops};
use crate::helpers::{Db, Random, nullable, small_memory, wait};

const WIDTH: usize = 40;

fn fixed(values: ArrayRef, width: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Arc::new(FixedSizeListArray::try_new(item, width as i32, values, nulls).unwrap())
}

/// Numbers of which `kinds` are different, so that with few there are many ties.
fn numbers(count: usize, kinds: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..count).map(|_| random.below(kinds) as f64 - kinds as f64 / 2.0).collect()
}

/// A table in two segments with the columns `id`, `g`, `v` (DOUBLE), `w` (REAL), `l` (ragged in type alone) and `few`, whose distances
/// are often the same. Of `v` and `w` some rows are NULL, have a NULL, NaN or infinity.
fn hard(rows: usize) -> Db {
    let db = Db::new();
    for part in 0..2 {
        let mut random = Random(part + 1);
        let mut values: Vec<Option<f64>> = numbers(rows * WIDTH, 10_000, part + 5).into_iter().map(Some).collect();
        for _ in 0..rows / 20 {
            let odd = *random.of(&[None, Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY), Some(1e300), Some(-0.0)]);
            values[random.below(rows * WIDTH)] = odd;
        }
        let nulls = NullBuffer::from((0..rows).map(|_| random.below(50) > 0).collect::<Vec<_>>());
        let narrow: Float32Array = values.iter().map(|value| value.map(|value| value as f32)).collect();
        let few = numbers(rows * 2, 6, part + 7);
        let lists = few.chunks(2).map(|row| Some(row.iter().map(|number| Some(*number)).collect::<Vec<_>>()));
        let first = part as i64 * rows as i64;
        db.load(
            "t",
            &[],
            &nullable([
                ("id", Arc::new(Int64Array::from_iter_values(first..first + rows as i64)) as ArrayRef),
                ("g", Arc::new(Int64Array::from_iter_values((0..rows).map(|_| random.below(7) as i64)))),
                ("v", fixed(Arc::new(Float64Array::from(values)), WIDTH, Some(nulls.clone()))),
                ("w", fixed(Arc::new(narrow), WIDTH, Some(nulls))),
                ("l", Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists))),
                ("few", fixed(Arc::new(Float64Array::from(few.clone())), 2, None)),
            ]),
        );
    }
    db.run("DELETE FROM t WHERE id % 11 = 3");
    db.run("INSERT INTO t SELECT id + 1000000, g, v, w, l, few FROM t WHERE id < 30");
    db
}

fn literal(vector: &[f64]) -> String {
    format!("[{}]", vector.iter().map(|number| format!("{number:e}")).collect::<Vec<_>>().join(", "))
}

fn query_vector(seed: u64) -> String {
    literal(&numbers(WIDTH, 10_000, seed))
}

fn same(db: &Db, sql: &str) -> Vec<String> {
    db.rows_either_way("nearest_rows", "NearestExec", sql)
}

#[test]
fn the_nearest_rows_are_those_of_a_sort() {
    let db = hard(9_000);
    for (seed, k) in [(1, 1), (2, 10), (3, 100), (4, 3_000)] {
        let q = query_vector(seed);
        for column in ["v", "w"] {
            let rows = same(&db, &format!("SELECT id, l2_distance({column}, {q}) AS d FROM t ORDER BY d, id LIMIT {k}"));
            assert_eq!(rows.len(), k);
            same(&db, &format!("SELECT id FROM t ORDER BY l2_distance({q}::REAL[], {column}), id LIMIT {k}"));
            // Which of equals come is nobody's business.
            same(&db, &format!("SELECT d FROM (SELECT l2_distance({column}, {q}) AS d FROM t ORDER BY d LIMIT {k}) ORDER BY d"));
            same(&db, &format!("SELECT id FROM t WHERE g < 3 ORDER BY l2_distance({column}, {q}), id LIMIT {k} OFFSET 7"));
        }
    }
}

#[test]
fn rows_that_are_as_far_as_the_last_are_chosen_by_the_other_keys() {
    let db = hard(9_000);
    for k in [1, 5, 50, 2_000, 12_000] {
        for column in ["few", "l"] {
            same(&db, &format!("SELECT id FROM t ORDER BY l2_distance({column}, [0.5, 1.0]), g DESC, id LIMIT {k}"));
            same(
                &db,
                &format!(
                    "SELECT l2_distance({column}, [0.5, 1.0]) AS d, count(*) FROM (SELECT {column} FROM t ORDER BY l2_distance({column}, [0.5, 1.0]) LIMIT {k}) GROUP BY d ORDER BY d"
                ),
            );
        }
    }
}

#[test]
fn nan_comes_after_all_numbers_and_null_after_nan() {
    let db = Db::new();
    db.run("CREATE TABLE t (id BIGINT, v DOUBLE[2])");
    db.run("INSERT INTO t VALUES (1, [1.0, 2.0]), (2, NULL), (3, ['NaN'::DOUBLE, 0.0]), (4, ['Infinity'::DOUBLE, 0.0]), (5, [1.0, NULL]), (6, [0.0, 0.0])");
    for k in 1..=7 {
        let rows = same(&db, &format!("SELECT id FROM t ORDER BY l2_distance(v, [0.0, 0.0]), id LIMIT {k}"));
        assert_eq!(rows, ["6", "1", "4", "3", "2", "5"][..k.min(6)]);
        same(&db, &format!("SELECT id FROM t ORDER BY l2_distance(v, ['Infinity'::DOUBLE, 0.0]), id LIMIT {k}"));
        same(&db, &format!("SELECT id FROM t ORDER BY l2_distance(v, [NULL, 0.0]), id LIMIT {k}"));
    }
}

#[test]
fn numbers_at_the_ends_of_their_range_are_in_order() {
    let db = Db::new();
    let extremes = [0.0, -0.0, 5e-324, 1e-310, 1e-200, 1e-160, 1e-154, 1.0, 1e154, 1.4e154, 1e200, f64::MAX, -f64::MAX];
    let pairs: Vec<f64> = extremes.iter().flat_map(|one| extremes.iter().flat_map(|other| [*one, *other])).collect();
    let narrow: Vec<f32> = pairs.iter().map(|number| *number as f32).collect();
    db.load(
        "t",
        &[],
        &nullable([
            ("id", Arc::new(Int64Array::from_iter_values(0..169)) as ArrayRef),
            ("v", fixed(Arc::new(Float64Array::from(pairs)), 2, None)),
            ("w", fixed(Arc::new(Float32Array::from(narrow)), 2, None)),
        ]),
    );
    for q in ["[0.0, 0.0]", "[1e-200, 1e-310]", "[1e154, -1e154]", "[1.5e308, 0.0]", "[0.1, 1e39]"] {
        for k in [1, 3, 20, 100] {
            for column in ["v", "w"] {
                same(&db, &format!("SELECT id FROM t ORDER BY l2_distance({column}, {q}), id LIMIT {k}"));
            }
        }
    }
}

#[test]
fn most_distances_are_given_up() {
    let db = Db::new();
    let rows = 20_000;
    db.load("t", &[], &nullable([("v", fixed(Arc::new(Float64Array::from(numbers(rows * 200, 1_000_000, 3))), 200, None))]));
    let sql = format!("SELECT l2_distance(v, {}) AS d FROM t ORDER BY d LIMIT 5", literal(&numbers(200, 1_000_000, 4)));
    let analyzed = db.run(&format!("EXPLAIN ANALYZE {sql}")).text();
    // Amounts are shortened for people.
    let given_up = analyzed.split("rows_abandoned=").nth(1).unwrap().split([',', ']', '\n']).next().unwrap();
    let given_up = given_up.trim_end_matches(" K").parse::<f64>().unwrap() * if given_up.ends_with('K') { 1e3 } else { 1.0 };
    assert!(given_up > 0.8 * rows as f64, "{given_up}: {analyzed}");
    let before = analyzed.split("NearestExec").nth(1).unwrap().split('\n').next().unwrap();
    assert!(before.contains("k=5, column=v@0"), "{before}");
}

#[test]
fn rows_of_another_length_are_an_error_either_way() {
    let db = Db::new();
    let rows = (0..5_000).map(|row| Some(vec![Some(f64::from(row)); if row == 4_000 { 3 } else { 2 }]));
    db.load("t", &[], &nullable([("v", Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows)) as ArrayRef)]));
    let sql = "SELECT v FROM t ORDER BY l2_distance(v, [0.0, 0.0]) LIMIT 2";
    let on = db.error(sql).to_string();
    db.run("SET quiver.nearest_rows = false");
    assert_eq!(on, db.error(sql).to_string());
}

#[test]
fn the_vector_may_be_a_parameter() {
    let db = hard(2_000);
    let sql = "SELECT id FROM t ORDER BY l2_distance(v, $1), id LIMIT 3";
    let vector = numbers(WIDTH, 10_000, 1);
    let list = ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vector.iter().map(|number| Some(*number)).collect::<Vec<_>>())]);
    let values = nullable([("1", Arc::new(list) as ArrayRef)]);
    let found = wait(async { db.session.execute_with(sql, &values, 0).await.unwrap().collect().await.unwrap() });
    let found: Vec<String> = found.0.iter().flat_map(crate::helpers::rows_of).collect();
    assert_eq!(found, db.rows(&format!("SELECT id FROM t ORDER BY l2_distance(v, {}), id LIMIT 3", literal(&vector))));
}

#[test]
fn other_orders_are_left_alone() {
    let db = hard(100);
    let q = query_vector(1);
    for sql in [
        format!("SELECT id FROM t ORDER BY l2_distance(v, {q}) DESC LIMIT 3"),
        format!("SELECT id FROM t ORDER BY l2_distance(v, {q}) NULLS FIRST LIMIT 3"),
        format!("SELECT id FROM t ORDER BY l2_distance(v, {q})"),
        format!("SELECT id FROM t ORDER BY id, l2_distance(v, {q}) LIMIT 3"),
        format!("SELECT id FROM t ORDER BY cosine_distance(v, {q}) LIMIT 3"),
        "SELECT id FROM t ORDER BY l2_distance(v, v) LIMIT 3".to_owned(),
        format!("SELECT id FROM t ORDER BY l2_distance(v, {q}) + 1 LIMIT 3"),
    ] {
        let plan = db.run(&format!("EXPLAIN {sql}")).text();
        assert!(!plan.contains("NearestExec"), "{sql}: {plan}");
    }
}

#[test]
fn what_stands_between_the_sort_and_the_table_is_looked_through() {
    let db = hard(3_000);
    let q = query_vector(9);
    db.run("CREATE VIEW near AS SELECT id AS number, v AS vector, g * 2 AS g2 FROM t");
    same(&db, &format!("SELECT number, g2 FROM near ORDER BY l2_distance(vector, {q}), number LIMIT 9"));
    same(&db, &format!("SELECT d + 1, number FROM (SELECT *, l2_distance(vector, {q}) AS d FROM near) ORDER BY d, number LIMIT 9"));
    same(&db, &format!("SELECT a.id FROM t a JOIN t b ON a.id = b.id ORDER BY l2_distance(b.v, {q}), a.id LIMIT 9"));
    db.run("SET threads = 1");
    same(&db, &format!("SELECT id, g FROM t ORDER BY l2_distance(w, {q}), id LIMIT 9"));
}

#[test]
fn a_search_that_nobody_waits_for_stops() {
    let db = filled();
    let width = 64;
    db.load("p", &[], &nullable([("v", fixed(Arc::new(Float64Array::from(numbers(20_000 * width, 1_000, 1))), width, None))]));
    let q = literal(&vec![0.25; width]);
    stops(&db, "q-nearest", &format!("SELECT a.k FROM p, t a ORDER BY l2_distance(v, {q}), a.r LIMIT 10"));
}

#[test]
fn a_vector_that_cannot_be_computed_is_no_error_without_rows() {
    let db = hard(100);
    let sql = |which: &str| format!("SELECT id FROM t WHERE {which} ORDER BY l2_distance(few, [(1 / 0)::DOUBLE, 0.0]), id LIMIT 3");
    assert!(same(&db, &sql("id < 0")).is_empty());
    assert!(db.error(&sql("id >= 0")).to_string().contains("ivide"), "{}", db.error(&sql("id >= 0")));
}

#[test]
fn texts_beside_the_nearest_rows_are_kept_and_those_of_the_others_are_not() {
    let db = Db::with(small_memory(48));
    let text = "repeat('this is a long text', 20) || value";
    db.run(&format!(
        "CREATE TABLE t AS SELECT value AS id, [value::DOUBLE, 0.0] AS v, {text} AS s FROM generate_series(1, 200000) AS g (value)"
    ));
    // Of a view that makes them, the texts lie in no segment: 80 MB of them.
    db.run("CREATE VIEW made AS SELECT id, v, s || '!' AS s FROM t");
    let rows = same(&db, "SELECT id, right(s, 7) FROM made ORDER BY l2_distance(v, [200000.0, 0.0]), id LIMIT 3");
    assert_eq!(rows, ["200000|200000!", "199999|199999!", "199998|199998!"]);
}

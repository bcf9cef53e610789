//! The product as a query says it, and `sum_product`, with and without the operator that multiplies where blocks lie.

use std::sync::Arc;

use arrow::array::*;

use super::{Dense, in_blocks, load, read, rows_of_blocks};
use crate::helpers::{Db, Random};

const PRODUCT: &str = "SELECT a.i, b.j, sum_product(a.block, b.block) AS block FROM a JOIN b ON a.j = b.i GROUP BY a.i, b.j";

/// Rows with and without the operator, which are the same.
fn both_ways(db: &Db, sql: &str) -> Vec<String> {
    let uses = |db: &Db| db.run(&format!("EXPLAIN {sql}")).text().contains("MatrixExec: sum_product");
    db.run("SET quiver.product_of_tables = true");
    assert!(uses(db), "{sql}");
    let with = db.sorted_rows(sql);
    db.run("SET quiver.product_of_tables = false");
    assert!(!uses(db), "{sql}");
    assert_eq!(db.sorted_rows(sql), with, "{sql}");
    with
}

fn two_matrices() -> (Db, Dense, Dense) {
    let db = Db::new();
    let (a, b) = (Dense::random(20, 12, 21), Dense::random(12, 15, 22));
    load(&db, "a", &a, in_blocks([4, 4]));
    load(&db, "b", &b, in_blocks([4, 5]));
    (db, a, b)
}

#[test]
fn the_product_as_a_query_says_it_is_that_of_the_kernel() {
    let (db, a, b) = two_matrices();
    assert_eq!(both_ways(&db, PRODUCT).len(), 15);
    for switch in [true, false] {
        db.run(&format!("SET quiver.product_of_tables = {switch}"));
        assert_eq!(read(&db, &format!("{PRODUCT} ORDER BY 1, 2"), 20, 15), a.times(&b), "{switch}");
    }
}

#[test]
fn every_way_to_write_it_is_found() {
    let (db, ..) = two_matrices();
    let expected = both_ways(&db, PRODUCT);
    let ways = [
        "SELECT a.i, b.j, sum_product(a.block, b.block) FROM b JOIN a ON b.i = a.j GROUP BY b.j, a.i",
        "SELECT x.i, y.j, sum_product(x.block, y.block) FROM a AS x, b AS y WHERE x.j = y.i GROUP BY x.i, y.j",
        "SELECT r, c, sum_product(l, m) FROM (SELECT i AS r, j AS k, block AS l FROM a) AS x JOIN (SELECT i AS k, j AS c, block AS m FROM b) AS y USING (k) GROUP BY c, r",
        "WITH p AS (SELECT a.i AS r, b.j AS c, a.block AS l, b.block AS m FROM a JOIN b ON a.j = b.i) SELECT r, c, sum_product(l, m) FROM p GROUP BY r, c",
    ];
    for sql in ways {
        assert_eq!(both_ways(&db, sql), expected, "{sql}");
    }
    let some = both_ways(&db, &PRODUCT.replace(" GROUP", " WHERE a.i > 1 AND b.j <> 2 GROUP"));
    assert_eq!(some.len(), 3 * 2);
    assert!(some.iter().all(|row| expected.contains(row)));
    assert_eq!(both_ways(&db, &PRODUCT.replace(" GROUP", " WHERE a.j = 1 AND a.i > 100 GROUP")), Vec::<String>::new());
}

#[test]
fn other_queries_are_left_as_they_are() {
    let (db, ..) = two_matrices();
    let others = [
        "SELECT a.i, sum_product(a.block, b.block) FROM a JOIN b ON a.j = b.i GROUP BY a.i",
        "SELECT sum_product(a.block, b.block) FROM a JOIN b ON a.j = b.i",
        "SELECT a.i, b.j, sum_product(a.block, b.block), count(*) FROM a JOIN b ON a.j = b.i GROUP BY a.i, b.j",
        "SELECT a.i, b.j, sum_product(a.block, b.block) FROM a LEFT JOIN b ON a.j = b.i GROUP BY a.i, b.j",
        "SELECT a.i, b.j, sum_product(a.block, b.block) FROM a JOIN b ON a.j = b.i AND a.i < b.j GROUP BY a.i, b.j",
        "SELECT a.i, b.j, sum_product(a.block, b.block) FILTER (WHERE a.j > 0) FROM a JOIN b ON a.j = b.i GROUP BY a.i, b.j",
        "SELECT a.i, b.j + 1, sum_product(a.block, b.block) FROM a JOIN b ON a.j = b.i GROUP BY a.i, b.j + 1",
        "SELECT a.i, b.j, sum_product(matrix_scale(a.block, 2), b.block) FROM a JOIN b ON a.j = b.i GROUP BY a.i, b.j",
    ];
    for sql in others {
        let plan = db.run(&format!("EXPLAIN {sql}")).text();
        assert!(!plan.contains("MatrixExec"), "{sql}\n{plan}");
        db.run(sql);
    }
}

#[test]
fn keys_that_are_null_or_there_twice_mean_what_they_mean_in_sql() {
    let db = Db::new();
    let mut random = Random(23);
    let mut keys = |rows: usize| -> ArrayRef {
        Arc::new((0..rows).map(|_| [None, Some(-1), Some(0), Some(1)][random.below(4)]).collect::<Int64Array>())
    };
    let values = |rows: usize, width: usize| (0..rows * width).map(|at| (at * 7 % 23) as f64 - 11.0).collect::<Vec<f64>>();
    let (a, b) = (keys(30), keys(30));
    db.load("a", &[], &rows_of_blocks(a, keys(30), values(30, 6), in_blocks([2, 3]), None));
    db.load("b", &[], &rows_of_blocks(keys(30), b, values(30, 6), in_blocks([3, 2]), None));
    db.run("INSERT INTO a VALUES (7, 0, NULL), (1, 1, NULL)");
    let rows = both_ways(&db, PRODUCT);
    assert!(rows.iter().any(|row| row.starts_with("NULL|")) && rows.iter().any(|row| row.contains("|NULL|[")), "{rows:?}");
    // All that row 7 meets is NULL.
    assert!(rows.iter().any(|row| row.starts_with("7|") && row.ends_with("|NULL")), "{rows:?}");
    // A row that meets nobody may have what it likes, and one that does may not.
    db.run("INSERT INTO a VALUES (0, 55, [1.0, NULL, 3.0, 4.0, 5.0, 6.0])");
    assert_eq!(both_ways(&db, PRODUCT), rows);
    db.run("UPDATE a SET j = 0 WHERE j = 55");
    for switch in [true, false] {
        db.run(&format!("SET quiver.product_of_tables = {switch}"));
        let error = db.error(PRODUCT).to_string();
        assert_eq!(error, "sum_product: a block has an element that is NULL");
    }
}

#[test]
fn the_sum_of_products_is_that_of_plain_loops() {
    let (db, a, b) = two_matrices();
    let blocks = |matrix: &Dense, i: usize, j: usize, columns: usize| {
        Dense::of(4, columns, |row, column| matrix.at(i * 4 + row, j * columns + column))
    };
    let mut sum = Dense::of(4, 5, |_, _| 0.0);
    for (i, k, j) in (0..5).flat_map(|i| (0..3).flat_map(move |k| (0..3).map(move |j| (i, k, j)))) {
        let product = blocks(&a, i, k, 4).times(&blocks(&b, k, j, 5));
        sum.values.iter_mut().zip(product.values).for_each(|(sum, more)| *sum += more);
    }
    let ran = db.run("SELECT sum_product(a.block, b.block) FROM a JOIN b ON a.j = b.i");
    let found = ran.batches[0].column(0).as_fixed_size_list().value(0);
    assert_eq!(found.as_primitive::<arrow::datatypes::Float64Type>().values().to_vec(), sum.values);
    assert_eq!(ran.batches[0].schema().field(0).metadata()["ARROW:extension:metadata"], "{\"shape\":[4,5]}");
    assert_eq!(db.rows("SELECT sum_product(a.block, b.block) FROM a JOIN b ON a.j = b.i WHERE a.i > 50"), ["NULL"]);
    // Parts that are added up.
    let rows = "SELECT i % 2, sum_product(block, block) FROM (SELECT i, matrix_multiply(block, matrix_transpose(block)) AS block FROM a) GROUP BY 1";
    assert_eq!(db.rows(rows).len(), 2);
}

#[test]
fn the_sum_of_products_takes_matrices_that_go_together() {
    let (db, ..) = two_matrices();
    db.run("CREATE TABLE flat (block DOUBLE[16])");
    db.run("CREATE TABLE real (block TENSOR(REAL, 4, 4))");
    let cases = [
        ("sum_product(b.block, a.block) FROM a, b", vec!["4×5", "4×4", "as many columns"]),
        ("sum_product(a.block, flat.block) FROM a, flat", vec!["rows and columns"]),
        ("sum_product(a.block, real.block) FROM a, real", vec!["DOUBLE", "REAL"]),
        ("sum_product(a.i, b.block) FROM a, b", vec!["BIGINT", "matrices"]),
        ("sum_product(a.block) FROM a", vec!["2 arguments, and was given 1"]),
        ("sum_product(DISTINCT a.block, a.block) FROM a", vec!["DISTINCT"]),
    ];
    for (sql, parts) in cases {
        let error = db.error(&format!("SELECT {sql}"));
        let found = format!("{error}; {}", error.hint().unwrap_or_default());
        assert!(parts.iter().all(|part| found.contains(part)), "{sql}: {found}");
    }
}

#[test]
fn rows_that_share_a_place_are_refused_where_memory_has_no_room_for_their_pairs() {
    let db = Db::with(crate::helpers::small_memory(32));
    let rows = 20_000;
    let same = || -> ArrayRef { Arc::new(Int64Array::from(vec![0; rows])) };
    db.load("a", &[], &rows_of_blocks(same(), same(), vec![1.0; rows], in_blocks([1, 1]), None));
    // 400,000,000 pairs.
    let error = db.error(&PRODUCT.replace("JOIN b", "JOIN a AS b"));
    assert!(matches!(error, engine::EngineError::Memory { .. }), "{error}");
    assert!(error.to_string().contains("leaves no more for sum_product: it asked for 3.20 GB"), "{error}");
    db.run("DELETE FROM a WHERE i = 0");
    assert!(db.rows(&PRODUCT.replace("JOIN b", "JOIN a AS b")).is_empty());
}

//! What kernels on matrices refuse, and what they say then.

use std::sync::Arc;

use arrow::array::*;

use super::{Dense, REAL, Stored, in_blocks, load, rows_of_blocks};
use crate::helpers::Db;

fn refusal(db: &Db, sql: &str) -> String {
    let error = db.error(sql);
    format!("{error}; {}", error.hint().unwrap_or_default())
}

#[test]
fn shapes_that_do_not_go_together_are_refused_with_both() {
    let db = Db::new();
    load(&db, "a", &Dense::random(1000, 70, 1), in_blocks([64, 64]));
    load(&db, "b", &Dense::random(64, 50, 2), in_blocks([64, 64]));
    load(&db, "c", &Dense::random(64, 50, 2), Stored { says_shape: false, ..in_blocks([64, 64]) });
    load(&db, "small", &Dense::random(64, 50, 3), in_blocks([32, 32]));
    load(&db, "real", &Dense::random(70, 50, 3), Stored { element: REAL, ..in_blocks([64, 64]) });
    db.run("CREATE TABLE x (i BIGINT, block DOUBLE[64])");
    db.run("CREATE TABLE y (i BIGINT, block DOUBLE[5])");
    let cases = [
        ("matrix_multiply('a', 'b')", vec!["\"a\" is 1000×70 in blocks of 64×64", "\"b\" is 64×50", "as many columns as \"b\" has rows"]),
        ("matrix_add('a', 'b')", vec!["matrix_add", "1000×70", "64×50", "one shape"]),
        // What says no shape is as large as its blocks.
        ("matrix_add('a', 'c')", vec!["1000×70", "64×64", "last block"]),
        ("matrix_add('b', 'small')", vec!["\"b\" is 64×50 in blocks of 64×64", "\"small\" is 64×50 in blocks of 32×32"]),
        ("matrix_multiply('b', 'small')", vec!["blocks of 64×64", "blocks of 32×32", "as many columns"]),
        ("matrix_multiply('a', 'real')", vec!["DOUBLE", "REAL", "CAST"]),
        ("matrix_vector('a', 'y')", vec!["blocks of 64×64", "blocks of 5", "as many elements"]),
        ("matrix_vector('a', 'x')", vec!["1000×70", "\"x\" is 0 in blocks of 64", "as many elements as \"a\" has columns"]),
    ];
    for (kernel, parts) in cases {
        let found = refusal(&db, &format!("SELECT * FROM {kernel}"));
        assert!(parts.iter().all(|part| found.contains(part)), "{kernel}: {found}");
    }
    // Whole blocks of what ends within one, and the same without saying so.
    assert_eq!(db.rows("SELECT i, j FROM matrix_add('b', 'c')"), ["0|0"]);
}

#[test]
fn tables_that_are_no_matrices_are_refused_with_what_they_lack() {
    let db = Db::new();
    load(&db, "a", &Dense::random(4, 4, 1), in_blocks([2, 2]));
    db.script(
        "CREATE TABLE no_j (i BIGINT, block TENSOR(DOUBLE, 2, 2));
         CREATE TABLE more (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 2, 2), note TEXT);
         CREATE TABLE narrow (i INTEGER, j BIGINT, block TENSOR(DOUBLE, 2, 2));
         CREATE TABLE cube (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 2, 2, 2));
         CREATE TABLE flat (i BIGINT, j BIGINT, block DOUBLE[4]);
         CREATE TABLE whole (i BIGINT, j BIGINT, block TENSOR(INTEGER, 2, 2));
         CREATE TABLE ragged (i BIGINT, block DOUBLE[]);
         CREATE TABLE whole_list (i BIGINT, j BIGINT, block INTEGER[4]);
         CREATE TABLE whole_cube (i BIGINT, j BIGINT, block TENSOR(INTEGER, 1, 2, 2));
         CREATE VIEW whole_tensors AS SELECT i, block FROM whole;
         CREATE VIEW whole_lists AS SELECT i, block FROM whole_list;
         CREATE TABLE nested (i BIGINT, block DOUBLE[][])",
    );
    let cases = [
        ("matrix_norm('no_j')", vec!["\"no_j\" has no column j", "i and j (BIGINT"]),
        ("matrix_norm('more')", vec!["\"note\"", "leave them out by a view"]),
        ("matrix_norm('narrow')", vec!["INTEGER and not BIGINT"]),
        ("matrix_norm('cube')", vec!["3 dimensions"]),
        ("matrix_norm('flat')", vec!["says nothing of rows and columns", "CAST(block AS TENSOR(DOUBLE, rows, columns))"]),
        ("matrix_norm('whole')", vec!["is TENSOR(INTEGER, 2, 2)", "to be DOUBLE or REAL", "CAST(block AS TENSOR(DOUBLE, 2, 2)) AS block"]),
        ("matrix_multiply('whole', 'a')", vec!["matrix_multiply", "\"whole\"", "TENSOR(INTEGER, 2, 2)"]),
        ("matrix_vector('a', 'ragged')", vec!["is DOUBLE[]", "fixed size", "CAST(block AS DOUBLE[n])"]),
        ("matrix_norm('whole_list')", vec!["is INTEGER[4]", "CAST(block AS TENSOR(DOUBLE, rows, columns)) AS block"]),
        ("matrix_norm('whole_cube')", vec!["TENSOR(INTEGER, 1, 2, 2)", "CAST(block AS TENSOR(DOUBLE, rows, columns)) AS block"]),
        ("matrix_vector('a', 'whole_lists')", vec!["is INTEGER[4]", "CAST(block AS DOUBLE[4]) AS block"]),
        ("matrix_vector('a', 'whole_tensors')", vec!["is TENSOR(INTEGER, 2, 2)", "CAST(block AS DOUBLE[4]) AS block"]),
        ("matrix_vector('a', 'nested')", vec!["is DOUBLE[][]", "and block (DOUBLE[n], or REAL[n])"]),
        ("matrix_add('a')", vec!["takes 2 arguments, and was given 1;", "matrix_add('a', 'b')"]),
        ("matrix_norm('a', 'a')", vec!["takes 1 argument, and was given 2;"]),
        ("matrix_scale('a', 'b')", vec!["a number as its argument 2, and was given the text 'b'", "matrix_scale('a', 2.5)"]),
        ("matrix_scale('a', x)", vec!["was given the name x without quotes"]),
        ("matrix_scale('a', (SELECT 2))", vec!["was given a subquery", "compute the value first"]),
        ("matrix_scale(a, 2)", vec!["not the name a without quotes", "matrix_scale('a', …)"]),
        ("matrix_add('a', 1)", vec!["argument 2 of matrix_add"]),
        ("matrix_norm('nobody')", vec!["nobody"]),
    ];
    for (kernel, parts) in cases {
        let found = refusal(&db, &format!("SELECT * FROM {kernel}"));
        assert!(parts.iter().all(|part| found.contains(part)), "{kernel}: {found}");
    }
    db.run("CREATE VIEW only_matrix AS SELECT block, j, i FROM more");
    assert_eq!(db.rows("SELECT max_norm FROM matrix_norm('only_matrix')"), ["0.0"]);
}

#[test]
fn a_vector_that_says_its_length_is_shown_with_it() {
    let db = Db::new();
    load(&db, "a", &Dense::random(4, 4, 1), in_blocks([2, 2]));
    let mut five = Dense::random(5, 1, 2).blocks(in_blocks([5, 1]), &[]);
    five.remove_column(1);
    db.load("five", &[], &five);
    let found = refusal(&db, "SELECT * FROM matrix_vector('a', 'five')");
    assert!(found.contains("\"five\" is 5 in blocks of 5;"), "{found}");
}

#[test]
fn blocks_that_mean_nothing_are_refused_with_their_place() {
    let db = Db::new();
    let key = |keys: [Option<i64>; 2]| -> ArrayRef { Arc::new(Int64Array::from(keys.to_vec())) };
    let stored = in_blocks([2, 2]);
    let load = |name: &str, i: [Option<i64>; 2], j: [Option<i64>; 2]| {
        db.load(name, &[], &rows_of_blocks(key(i), key(j), vec![1.0; 8], stored, Some([4, 4])));
    };
    load("twice", [Some(1), Some(1)], [Some(0), Some(0)]);
    load("negative", [Some(0), Some(-1)], [Some(0), Some(0)]);
    load("nowhere", [Some(0), None], [Some(0), Some(1)]);
    load("outside", [Some(0), Some(2)], [Some(0), Some(0)]);
    load("far", [Some(0), Some(i64::MAX)], [Some(0), Some(0)]);
    db.run("CREATE TABLE unknown (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 2, 2))");
    db.script("INSERT INTO unknown VALUES (0, 3, NULL)");
    db.run("CREATE TABLE part AS SELECT * FROM unknown WHERE false");
    db.run("INSERT INTO part VALUES (2, 1, [1.0, NULL, 3.0, 4.0])");
    let cases = [
        ("twice", vec!["block (1, 0)", "more than once"]),
        ("negative", vec!["(-1, 0)", "count from 0"]),
        ("nowhere", vec!["without a place", "(NULL, 1)"]),
        ("outside", vec!["is 4×4 in blocks of 2×2", "blocks for 6×2"]),
        ("far", vec!["so far out"]),
        ("unknown", vec!["block (0, 3)", "is NULL"]),
        ("part", vec!["block (2, 1)", "an element that is NULL"]),
    ];
    for (table, parts) in cases {
        for kernel in ["matrix_norm", "matrix_transpose"] {
            let found = refusal(&db, &format!("SELECT * FROM {kernel}('{table}')"));
            assert!(parts.iter().chain(&[kernel, table]).all(|part| found.contains(part)), "{table}: {found}");
        }
    }
}

#[test]
fn a_result_that_memory_has_no_room_for_is_refused() {
    let db = Db::with(crate::helpers::small_memory(8));
    // Blocks of 12 MiB.
    let a = Dense::of(1500, 1, |row, _| row as f64);
    load(&db, "a", &a, in_blocks([1500, 1]));
    load(&db, "b", &Dense::of(1, 1500, |_, column| column as f64), in_blocks([1, 1500]));
    let found = refusal(&db, "SELECT * FROM matrix_multiply('a', 'b')");
    assert!(found.contains("out of memory"), "{found}");
}

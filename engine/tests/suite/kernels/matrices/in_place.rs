//! Results that are stored: made where they lie in the new table, with the same rows as those that are copied there.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::concat_batches;
use engine::EngineError;
use pmem_store::segment::DistinctSketch;

use super::{DOUBLE, Dense, REAL, Stored, in_blocks, load, rows_of_blocks};
use crate::helpers::{Db, Ran, Random, small_memory, soon};
use crate::running::{ended, in_state, session, spawned};

fn switch(db: &Db, on: bool) {
    db.run(&format!("SET quiver.results_in_place = {on}"));
}

/// The rows of a table, as one batch.
fn all(db: &Db, table: &str) -> RecordBatch {
    let ran = db.run(&format!("SELECT * FROM {table}"));
    concat_batches(&ran.batches[0].schema(), &ran.batches).unwrap()
}

/// Numbers that a sum rounds, and those that have no order.
fn hard(rows: usize, columns: usize, seed: u64) -> Dense {
    let mut random = Random(seed);
    Dense::of(rows, columns, |row, column| match (row * 7 + column) % 41 {
        0 => -0.0,
        1 if row == 3 => f64::INFINITY,
        2 if row == 5 => f64::NAN,
        _ => random.next() as f64 / 3e18 - 2.5,
    })
}

/// Tables `placed` and `copied` of the same query.
fn both(db: &Db, query: &str) -> Ran {
    switch(db, true);
    let output = db.run(&format!("CREATE OR REPLACE TABLE placed AS {query}"));
    switch(db, false);
    let copied = db.run(&format!("CREATE OR REPLACE TABLE copied AS {query}"));
    assert_eq!(copied.report.placed_bytes, 0, "{query}");
    assert_eq!(output.rows(), copied.rows(), "{query}");
    output
}

fn assert_same(db: &Db, query: &str) {
    // Floats are compared by their bits.
    assert_eq!(all(db, "placed"), all(db, "copied"), "{query}");
    assert_eq!(db.rows("DESCRIBE placed"), db.rows("DESCRIBE copied"), "{query}");
    let summary = |table: &str| db.rows(&format!("SELECT count(*), count(block), min(i), max(i), sum(i) FROM {table}"));
    assert_eq!(summary("placed"), summary("copied"), "{query}");
}

fn is_clean(db: &Db) {
    let report = db.engine.store().check(|_| {}).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

#[test]
fn rows_made_in_place_are_those_that_are_copied_bit_by_bit() {
    let db = Db::new();
    let queries = [
        "SELECT * FROM matrix_add('a', 'b')",
        "SELECT * FROM matrix_scale('a', -0.3)",
        "SELECT * FROM matrix_transpose('a')",
        "SELECT * FROM matrix_multiply('a', 't')",
        "SELECT j, block, i FROM matrix_add('a', 'b')",
        "SELECT block, i, i AS again FROM matrix_add('a', 'b')",
        "SELECT a.i, t.j, sum_product(a.block, t.block) AS block FROM a JOIN t ON a.j = t.i GROUP BY a.i, t.j",
        "SELECT t.j AS c, a.i, sum_product(a.block, t.block) AS block FROM a JOIN t ON a.j = t.i GROUP BY t.j, a.i",
    ];
    for element in [DOUBLE, REAL] {
        let stored = Stored { element, ..in_blocks([32, 16]) };
        let wide = Stored { element, ..in_blocks([16, 32]) };
        load_anew(&db, "a", &hard(100, 90, 1), stored);
        load_anew(&db, "b", &hard(100, 90, 2), stored);
        load_anew(&db, "t", &hard(90, 100, 3), wide);
        for query in queries {
            let output = both(&db, query);
            let blocks: u64 = output.rows()[0].parse().unwrap();
            let width = if query.contains("'t'") || query.contains("t.block") { 32 * 32 } else { 32 * 16 };
            let bytes = blocks * width * element().primitive_width().unwrap() as u64;
            assert_eq!(output.report.placed_bytes, bytes, "{query} of {}", element());
            assert_same(&db, query);
        }
    }
    is_clean(&db);
    let db = db.reopened();
    assert_same(&db, "opened again");
}

fn load_anew(db: &Db, name: &str, matrix: &Dense, stored: Stored) {
    db.run(&format!("DROP TABLE IF EXISTS {name}"));
    load(db, name, matrix, stored);
}

#[test]
fn a_matrix_times_a_vector_is_made_in_place() {
    let db = Db::new();
    for (element, type_name) in [(DOUBLE, "DOUBLE"), (REAL, "REAL")] {
        load_anew(&db, "a", &hard(1000, 20, 4), Stored { element, says_shape: false, ..in_blocks([512, 4]) });
        db.run(&format!("CREATE OR REPLACE TABLE x (i BIGINT, block {type_name}[4])"));
        for i in 0..5 {
            db.run(&format!("INSERT INTO x VALUES ({i}, [0.1, {i}.3, -2, 1e-3])"));
        }
        let query = "SELECT * FROM matrix_vector('a', 'x')";
        assert_eq!(both(&db, query).report.placed_bytes, 1024 * element().primitive_width().unwrap() as u64);
        assert_same(&db, query);
    }
}

#[test]
fn blocks_of_nothing_but_nulls_are_null_in_place_too() {
    let db = Db::new();
    let keys = |keys: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(keys)) };
    let values: Vec<f64> = (0..3 * 256).map(|at| at as f64 / 7.0).collect();
    let rows = rows_of_blocks(keys(vec![Some(0), None, Some(2)]), keys(vec![Some(0), Some(1), Some(1)]), values, in_blocks([16, 16]), None);
    db.load("a", &[], &rows);
    db.run("INSERT INTO a VALUES (7, 0, NULL), (1, NULL, NULL)");
    let query = "SELECT x.i, y.j, sum_product(x.block, y.block) AS block FROM a x JOIN a y ON x.j = y.i GROUP BY x.i, y.j";
    let output = both(&db, query);
    assert!(output.report.placed_bytes > 0, "{:?}", output.report);
    assert_same(&db, query);
    assert_eq!(db.sorted_rows("SELECT i, j FROM placed WHERE block IS NULL"), ["2|NULL", "7|0", "NULL|NULL"]);
    is_clean(&db);
}

#[test]
fn statistics_of_what_was_made_in_place_are_as_of_other_rows() {
    let db = Db::new();
    load(&db, "a", &hard(640, 640, 5), in_blocks([16, 16]));
    both(&db, "SELECT * FROM matrix_add('a', 'a')");
    let statistics = |table: &str| {
        let segments = db.segments(table);
        assert_eq!(segments.len(), 1);
        let statistics = segments[0].statistics();
        let of_column = |column: usize| {
            let mut sketch = DistinctSketch::default();
            let distinct = statistics.merge_distinct(column, &mut sketch).then(|| sketch.estimate());
            format!("{:?} {} {distinct:?}", statistics.column(column), statistics.null_count(column))
        };
        (statistics.row_counts().clone(), (0..3).map(of_column).collect::<Vec<_>>())
    };
    assert_eq!(statistics("placed"), statistics("copied"));
    let ran = db.run("SELECT i FROM placed WHERE i > 40");
    assert_eq!((ran.row_count(), ran.report.zones_pruned), (0, 1));
}

#[test]
fn a_result_larger_than_memory_is_stored() {
    let db = Db::new();
    // One block of 13 MB; and 64 of half a MiB, which are 32 MiB.
    let large = Dense::of(1280, 1280, |row, column| (row * 1280 + column) as f64);
    load(&db, "large", &large, in_blocks([1280, 1280]));
    load(&db, "tall", &hard(2048, 8, 6), in_blocks([256, 8]));
    load(&db, "flat", &hard(8, 2048, 7), in_blocks([8, 256]));
    let db = db.reopened_with(small_memory(8));
    let (sum, product) = ("SELECT * FROM matrix_add('large', 'large')", "SELECT * FROM matrix_multiply('tall', 'flat')");
    for (sql, size_bytes) in [(sum, 1280 * 1280 * 8), (product, 32 << 20)] {
        let into = sql.replace(" FROM", " INTO TABLE c FROM");
        let ran = db.run(&into);
        assert_eq!(ran.report.placed_bytes, size_bytes, "{sql}");
        assert!(ran.report.peak_memory_bytes < 2 << 20, "{sql}: {} bytes", ran.report.peak_memory_bytes);
        assert!(ran.report.to_string().contains(", made "), "{}", ran.report);
        if sql == sum {
            let row = db.run("SELECT block FROM c").batches[0].column(0).as_fixed_size_list().value(0);
            let expected = Float64Array::from_iter_values(large.values.iter().map(|value| value * 2.0));
            assert_eq!(row.as_primitive::<arrow::datatypes::Float64Type>(), &expected);
        }
        db.run("DROP TABLE c");
    }
    let files = db.segment_files();
    switch(&db, false);
    let refused = db.error(&sum.replace(" FROM", " INTO TABLE c FROM"));
    assert!(matches!(refused, EngineError::Memory { .. }), "{refused}");
    assert_eq!(db.segment_files(), files);
}

/// 1,124,864 of them, which are listed in two parts; each part was a segment of its own.
#[test]
fn a_product_of_very_many_pairs_fills_its_segments() {
    let db = Db::new();
    load(&db, "a", &Dense::of(104 * 256, 104, |_, _| 1.0), in_blocks([256, 1]));
    load(&db, "b", &Dense::of(104, 104, |row, column| (row + column) as f64), in_blocks([1, 1]));
    let ran = db.run("CREATE TABLE c AS SELECT * FROM matrix_multiply('a', 'b')");
    assert_eq!((ran.report.placed_bytes, db.segments("c").len()), (104 * 104 * 256 * 8, 1));
    let right = "i BETWEEN 0 AND 103 AND block[1] = 5356 + 104 * j AND block[256] = 5356 + 104 * j";
    assert_eq!(db.value(&format!("SELECT count(*), count(DISTINCT i * 104 + j) FROM c WHERE {right}")), "10816|10816");
    is_clean(&db);
}

#[test]
fn a_table_that_is_not_the_blocks_alone_is_written_as_any_other() {
    let db = Db::new();
    load(&db, "a", &hard(64, 64, 8), in_blocks([32, 32]));
    load(&db, "narrow", &hard(64, 64, 8), in_blocks([8, 8]));
    let others = [
        "CREATE TABLE c AS SELECT * FROM matrix_add('narrow', 'narrow')",
        "CREATE TABLE c AS SELECT * FROM matrix_add('a', 'a') WHERE i = 1",
        "CREATE TABLE c AS SELECT * FROM matrix_add('a', 'a') LIMIT 1",
        "CREATE TABLE c AS SELECT i + 1 AS i, j, block FROM matrix_add('a', 'a')",
        "CREATE TABLE c AS SELECT i, j FROM matrix_add('a', 'a')",
        "CREATE TABLE c AS SELECT i, block AS one, block AS two FROM matrix_add('a', 'a')",
        "CREATE TABLE c AS SELECT * FROM matrix_norm('a')",
        "CREATE TABLE c AS SELECT * FROM matrix_add('a', 'a') UNION ALL SELECT * FROM matrix_scale('a', 2)",
        "CREATE TABLE c (i BIGINT NOT NULL, j BIGINT, block TENSOR(DOUBLE, 32, 32)) AS SELECT * FROM matrix_add('a', 'a')",
        "CREATE TABLE c (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 32, 32), CHECK (i >= 0)) AS SELECT * FROM matrix_add('a', 'a')",
        "CREATE TABLE c (i BIGINT, j BIGINT, block TENSOR(REAL, 32, 32)) AS SELECT * FROM matrix_add('a', 'a')",
        "SELECT * INTO VOLATILE c FROM matrix_add('a', 'a')",
    ];
    for sql in others {
        let ran = db.run(sql);
        assert_eq!(ran.report.placed_bytes, 0, "{sql}");
        assert!(db.rows("SELECT * FROM c").len() <= 64, "{sql}");
        db.run(if sql.contains("VOLATILE") { "DROP VOLATILE TABLE c" } else { "DROP TABLE c" });
    }
    let inserted = db.run("INSERT INTO a SELECT i + 100, j, block FROM matrix_add('a', 'a')");
    assert_eq!(inserted.report.placed_bytes, 0);
}

#[test]
fn a_table_in_the_order_of_its_blocks_is_made_in_place() {
    let db = Db::new();
    load(&db, "a", &hard(64, 64, 9), in_blocks([16, 16]));
    let ran = db.run("CREATE TABLE c ORDER BY (i, j) AS SELECT * FROM matrix_add('a', 'a')");
    assert_eq!(ran.report.placed_bytes, 64 * 64 * 8);
    let ran = db.run("CREATE TABLE d ORDER BY (j, i) AS SELECT * FROM matrix_add('a', 'a')");
    assert_eq!(ran.report.placed_bytes, 0);
    assert_eq!(db.rows("SELECT j, i FROM d"), db.rows("SELECT j, i FROM c ORDER BY j, i"));
    assert!(!db.run("EXPLAIN SELECT i FROM c ORDER BY i, j").text().contains("SortExec"));
}

#[test]
fn a_table_made_in_place_is_replaced_and_rolled_back_like_others() {
    let db = Db::new();
    load(&db, "a", &Dense::random(64, 64, 10), in_blocks([32, 32]));
    db.run("CREATE TABLE c AS SELECT * FROM matrix_add('a', 'a')");
    let files = db.segment_files();
    db.script("BEGIN; CREATE TABLE d AS SELECT * FROM matrix_add('c', 'a')");
    assert_eq!(db.rows("SELECT count(*) FROM d"), ["4"]);
    assert!(db.segment_files().len() > files.len());
    db.run("ROLLBACK");
    assert_eq!(db.segment_files(), files);
    let norm = |table: &str| db.value(&format!("SELECT one_norm FROM matrix_norm('{table}')")).parse::<f64>().unwrap();
    let before = norm("c");
    let ran = db.run("CREATE OR REPLACE TABLE c AS SELECT * FROM matrix_add('c', 'c')");
    assert!(ran.report.placed_bytes > 0);
    assert_eq!(norm("c"), 2.0 * before);
    is_clean(&db);
}

#[test]
fn a_result_that_fails_after_its_first_segment_leaves_nothing() {
    let db = Db::new();
    let key = |keys: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(keys)) };
    let tall = rows_of_blocks(key((0..10).collect()), key(vec![0; 10]), vec![0.5; 10 * 2048], in_blocks([2048, 1]), None);
    db.load("tall", &[], &tall);
    let flat = rows_of_blocks(key(vec![0]), key(vec![0]), vec![3.0; 2048], in_blocks([1, 2048]), None);
    db.load("flat", &[], &flat);
    // Row 9 comes in the second segment: one has eight blocks of 32 MiB.
    let elements = vec!["NULL"].into_iter().chain(vec!["1.0"; 2047]).collect::<Vec<_>>().join(", ");
    db.run("DELETE FROM tall WHERE i = 9");
    db.run(&format!("INSERT INTO tall VALUES (9, 0, [{elements}])"));
    let files = db.segment_files();
    let product = "SELECT x.i, y.j, sum_product(x.block, y.block) AS block FROM tall x JOIN flat y ON x.j = y.i GROUP BY x.i, y.j";
    let error = db.error(&format!("CREATE TABLE c AS {product}")).to_string();
    assert_eq!(error, "sum_product: a block has an element that is NULL");
    assert!(db.try_run("SELECT * FROM c").is_err());
    assert_eq!(db.segment_files(), files);
    is_clean(&db);
}

#[test]
fn a_result_that_is_killed_while_it_is_made_leaves_nothing() {
    let db = Db::new();
    // 65,536 pairs of blocks for one block of the result.
    let key = || -> ArrayRef { Arc::new(Int64Array::from(vec![0; 256])) };
    db.load("a", &[], &rows_of_blocks(key(), key(), vec![1.0; 256 * 128 * 128], in_blocks([128, 128]), None));
    let files = db.segment_files();
    let sql = "CREATE TABLE c AS SELECT x.i, y.j, sum_product(x.block, y.block) AS block FROM a x JOIN a y ON x.j = y.i GROUP BY x.i, y.j";
    for kill in [true, false] {
        let session = session(&db.engine);
        let task = spawned(&session, sql);
        let id = in_state(&db, sql, "running");
        assert!(soon(|| db.segment_files().len() > files.len()), "it is not made where it will lie");
        match kill {
            true => {
                db.run(&format!("KILL {id}"));
                assert!(matches!(ended(task), Err(EngineError::Killed)));
            }
            // As a client that goes away.
            false => task.abort(),
        }
        assert!(soon(|| db.segment_files() == files), "{:?}", db.segment_files());
    }
    assert!(db.try_run("SELECT * FROM c").is_err());
    is_clean(&db);
}

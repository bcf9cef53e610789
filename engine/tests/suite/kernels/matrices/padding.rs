//! What blocks have beyond the end of their matrix, and who reads whole blocks.

use super::{Dense, in_blocks, load, read};
use crate::helpers::{Db, small_memory};

/// The test's `read` asks for zeros beyond the matrix. 0 · ∞ left NaN there once, and the next kernel counted it.
#[test]
fn infinities_do_not_get_beyond_the_matrix() {
    let db = Db::new();
    let ones = Dense::of(3, 3, |_, _| 1.0);
    let spike = Dense::of(3, 3, |row, column| if (row, column) == (0, 0) { f64::INFINITY } else { 1.0 });
    load(&db, "ones", &ones, in_blocks([8, 8]));
    load(&db, "spike", &spike, in_blocks([8, 8]));
    let infinite = Dense::of(3, 3, |_, _| f64::INFINITY);
    assert_eq!(read(&db, "SELECT * FROM matrix_scale('ones', CAST('inf' AS DOUBLE))", 3, 3), infinite);
    assert_eq!(read(&db, "SELECT * FROM matrix_multiply('spike', 'ones')", 3, 3), spike.times(&ones));
    assert_eq!(read(&db, "SELECT * FROM matrix_multiply('ones', 'spike')", 3, 3), ones.times(&spike));
    db.run("SELECT * INTO TABLE scaled FROM matrix_scale('ones', CAST('inf' AS DOUBLE))");
    assert_eq!(db.value("SELECT frobenius FROM matrix_norm('scaled')"), "inf");
    assert_eq!(read(&db, "SELECT * FROM matrix_multiply('scaled', 'ones')", 3, 3), infinite);
}

#[test]
fn what_lies_beyond_the_matrix_is_refused_and_not_counted() {
    let db = Db::new();
    load(&db, "j", &Dense::of(3, 3, |_, _| 1.0), in_blocks([2, 2]));
    load(&db, "whole", &Dense::of(3, 3, |_, _| 1.0), super::Stored { says_shape: false, ..in_blocks([2, 2]) });
    for table in ["j", "whole"] {
        db.run(&format!("UPDATE {table} SET block = CAST([9e0, 9e0, 9e0, 9e0] AS TENSOR(DOUBLE, 2, 2)) WHERE i = 1 AND j = 1"));
    }
    for kernel in ["matrix_norm('j')", "matrix_multiply('j', 'j')", "matrix_add('j', 'j')"] {
        let error = db.error(&format!("SELECT * FROM {kernel}")).to_string();
        assert!(error.contains("\"j\" is 3×3 in blocks of 2×2, and its block (1, 1) has elements beyond that"), "{kernel}: {error}");
    }
    // As large as its blocks, where it does not say otherwise itself.
    assert_eq!(db.value("SELECT max_norm FROM matrix_norm('whole')"), "9.0");
    db.run("UPDATE j SET block = CAST([9e0, 0e0, 0e0, 0e0] AS TENSOR(DOUBLE, 2, 2)) WHERE i = 1 AND j = 1");
    assert!(db.error("SELECT * FROM matrix_add('j', 'whole')").to_string().contains("\"whole\" is 3×3"));
    assert_eq!(db.value("SELECT max_norm FROM matrix_norm('j')"), "9.0");
}

/// The rows of a result were dealt to several partitions, and a batch of 8,192 blocks gathered for it: the whole result.
#[test]
fn a_result_is_not_gathered_before_it_is_computed_on() {
    let db = Db::new();
    let blocks = Dense::of(128 * 256, 256, |row, _| (row / 256) as f64);
    load(&db, "a", &blocks, in_blocks([256, 256]));
    // The result has 64 MiB, in batches of 16.
    let db = db.reopened_with(small_memory(40));
    let rows = db.rows("SELECT i, j, l2_norm(block) AS n FROM matrix_add('a', 'a') ORDER BY n DESC LIMIT 2");
    assert_eq!(rows, ["127|0|65024.0", "126|0|64512.0"]);
    assert_eq!(db.rows("SELECT i, l2_norm(block) FROM matrix_add('a', 'a') ORDER BY i LIMIT 1"), ["0|0.0"]);
}

//! What blocks have beyond the end of their matrix, and who reads whole blocks.

use super::{Dense, Stored, in_blocks, load, read};
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
    load(&db, "whole", &Dense::of(3, 3, |_, _| 1.0), Stored { says_shape: false, ..in_blocks([2, 2]) });
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

/// Its zeros times what the other had there were NaN, and its numbers times those of the other were counted.
#[test]
fn what_one_side_says_of_the_dimension_that_both_share_holds_for_the_blocks_of_the_other() {
    let db = Db::new();
    let says_nothing = Stored { says_shape: false, ..in_blocks([2, 2]) };
    let spiked = |spike: (usize, usize)| Dense::of(4, 4, |row, column| if (row, column) == spike { f64::INFINITY } else { 1.0 });
    load(&db, "said", &Dense::of(3, 3, |_, _| 1.0), in_blocks([2, 2]));
    load(&db, "left_side", &spiked((0, 3)), says_nothing);
    load(&db, "right_side", &spiked((3, 0)), says_nothing);
    db.script("CREATE TABLE x (i BIGINT, block DOUBLE[2]); INSERT INTO x VALUES (0, [1, 1]), (1, [1, 7])");
    for (kernel, words) in [
        ("matrix_multiply('left_side', 'said')", "\"left_side\" is 4×3 in blocks of 2×2 here, as the other side says, and its block ("),
        (
            "matrix_multiply('said', 'right_side')",
            "\"right_side\" is 3×4 in blocks of 2×2 here, as the other side says, and its block (1, ",
        ),
        ("matrix_vector('said', 'x')", "\"x\" is 3 in blocks of 2 here, as the other side says, and its block 1 has elements beyond that"),
    ] {
        let error = db.error(&format!("SELECT * FROM {kernel}")).to_string();
        assert!(error.contains(words), "{kernel}: {error}");
    }
    db.run("UPDATE x SET block = [1, 0] WHERE i = 1");
    let sums = db.rows("SELECT * FROM matrix_vector('said', 'x') ORDER BY i");
    assert_eq!(sums, ["0|[3.0, 3.0]", "1|[3.0, 0.0]"]);
}

/// The product's rows are known from one side alone, so its field says nothing of them.
#[test]
fn a_result_that_does_not_say_its_shape_has_zeros_beyond_it_too() {
    let db = Db::new();
    load(&db, "said", &Dense::of(3, 3, |_, _| 1.0), in_blocks([2, 2]));
    let infinite = Dense::of(3, 4, |row, _| if row == 0 { f64::INFINITY } else { 1.0 });
    load(&db, "b", &infinite, Stored { says_shape: false, ..in_blocks([2, 2]) });
    assert_eq!(read(&db, "SELECT * FROM matrix_multiply('said', 'b')", 3, 4), Dense::of(3, 4, |_, _| f64::INFINITY));
    db.run("SELECT * INTO TABLE c FROM matrix_multiply('said', 'b')");
    assert_eq!(db.value("SELECT max_norm FROM matrix_norm('c')"), "inf");
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

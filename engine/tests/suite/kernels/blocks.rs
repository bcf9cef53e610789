//! Matrices in single values, beside plain loops.

use crate::helpers::Db;

/// Matrices of 2×3, 3×2 and 2×2 in four rows; the third has a NULL element, the fourth is NULL.
fn table() -> Db {
    let db = Db::new();
    db.run("CREATE TABLE m (id INT, a TENSOR(DOUBLE, 2, 3), b TENSOR(DOUBLE, 3, 2), r TENSOR(REAL, 2, 3), x DOUBLE[])");
    db.run(
        "INSERT INTO m VALUES (1, [1, 2, 3, 4, 5, 6], [1, 0, 0, 1, 2, -1], [1, 2, 3, 4, 5, 6], [1, 0, -1]), \
         (2, [0.5, 0, 0, 0, 0.5, 0], [3, 1, 4, 1, 5, 9], [0.1, 0, 0, 0, 0, 0], [2, 2, 2]), \
         (3, [1, NULL, 3, 4, 5, 6], [1, 0, 0, 1, 2, -1], NULL, NULL), (4, NULL, [1, 0, 0, 1, 2, -1], NULL, [1, 1, 1])",
    );
    db
}

#[test]
fn matrices_are_added_scaled_and_transposed() {
    let db = table();
    let rows = |call: &str| db.rows(&format!("SELECT {call} FROM m ORDER BY id"));
    assert_eq!(rows("matrix_add(a, a)"), ["[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]", "[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]", "NULL", "NULL"]);
    assert_eq!(rows("matrix_scale(a, -2)")[0], "[-2.0, -4.0, -6.0, -8.0, -10.0, -12.0]");
    assert_eq!(rows("matrix_scale(a, id)")[1], "[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]");
    assert_eq!(rows("matrix_scale(a, NULL)"), ["NULL"; 4]);
    assert_eq!(rows("matrix_transpose(a)"), ["[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]", "[0.5, 0.0, 0.0, 0.5, 0.0, 0.0]", "NULL", "NULL"]);
    assert_eq!(rows("matrix_add(matrix_transpose(a), b)")[0], "[2.0, 4.0, 2.0, 6.0, 5.0, 5.0]");
}

#[test]
fn matrices_are_multiplied() {
    let db = table();
    let rows = |call: &str| db.rows(&format!("SELECT {call} FROM m ORDER BY id"));
    assert_eq!(rows("matrix_multiply(a, b)"), ["[7.0, -1.0, 16.0, -1.0]", "[1.5, 0.5, 2.0, 0.5]", "NULL", "NULL"]);
    assert_eq!(rows("matrix_multiply(b, a)")[0], "[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -2.0, -1.0, 0.0]");
    assert_eq!(rows("matrix_vector(a, x)"), ["[-2.0, -2.0]", "[1.0, 1.0]", "NULL", "NULL"]);
    assert_eq!(rows("matrix_vector(a, [1, 1, 1])"), ["[6.0, 15.0]", "[0.5, 0.5]", "NULL", "NULL"]);
}

#[test]
fn a_result_is_real_where_all_matrices_are() {
    let db = table();
    let type_of = |call: &str| db.value(&format!("SELECT arrow_typeof({call}) FROM m WHERE id = 1"));
    assert!(type_of("matrix_add(r, r)").contains("Float32"));
    assert!(type_of("matrix_scale(r, 0.5)").contains("Float32"));
    assert!(type_of("matrix_add(r, a)").contains("Float64"));
    assert_eq!(db.value("SELECT matrix_add(r, a) FROM m WHERE id = 2"), "[0.6000000014901161, 0.0, 0.0, 0.0, 0.5, 0.0]");
    assert_eq!(db.value("SELECT matrix_multiply(r, b) FROM m WHERE id = 1"), "[7.0, -1.0, 16.0, -1.0]");
}

#[test]
fn a_result_is_a_tensor_that_a_table_keeps() {
    let db = table();
    db.run("CREATE TABLE p AS SELECT id, matrix_multiply(a, b) AS c FROM m");
    assert_eq!(db.value("SELECT matrix_transpose(c) FROM p WHERE id = 1"), "[7.0, 16.0, -1.0, -1.0]");
    let error = db.error("SELECT matrix_multiply(p.c, m.b) FROM p, m").to_string();
    assert_eq!(error, "matrix_multiply of matrices of 2×2 and 3×2: the second is to have as many rows as the first has columns");
}

#[test]
fn large_matrices_are_multiplied_as_a_loop_does() {
    let db = Db::new();
    let n = 65;
    let values = |seed: usize| (0..n * n).map(|at| ((at * seed) % 101) as f64 - 50.0).collect::<Vec<f64>>();
    let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let (a, b) = (values(37), values(59));
    db.run(&format!("CREATE TABLE m (a TENSOR(DOUBLE, {n}, {n}), b TENSOR(REAL, {n}, {n}))"));
    db.run(&format!("INSERT INTO m VALUES ([{}], [{}])", list(&a), list(&b)));
    let found = db.value("SELECT matrix_multiply(a, b) FROM m");
    let found: Vec<f64> = found.trim_matches(['[', ']']).split(", ").map(|number| number.parse().unwrap()).collect();
    for (i, j) in [(0, 0), (3, 64), (64, 1), (33, 40), (64, 64)] {
        let expected: f64 = (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
        assert_eq!(found[i * n + j], expected);
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused_with_both() {
    let db = table();
    let error = |call: &str| db.error(&format!("SELECT {call} FROM m")).to_string();
    assert_eq!(error("matrix_add(a, b)"), "matrix_add of matrices of 2×3 and 3×2: they are to have one shape");
    assert_eq!(
        error("matrix_multiply(a, a)"),
        "matrix_multiply of matrices of 2×3 and 2×3: the second is to have as many rows as the first has columns"
    );
    let needed = "the vector is to have as many elements as the matrix has columns";
    assert_eq!(error("matrix_vector(a, [1, 2])"), format!("matrix_vector of a matrix of 2×3 and a vector of 2: {needed}"));
    assert_eq!(error("dot(a, b)"), "dot takes two tensors of one shape, and these are 2×3 and 3×2");
    assert_eq!(error("matrix_add(x, x)"), "matrix_add takes matrices, tensors of two dimensions, and not DOUBLE[]");
    assert_eq!(error("matrix_scale(a, 'two')"), "the second argument of matrix_scale is a number, and not VARCHAR");
    assert_eq!(error("matrix_transpose(a, a)"), "matrix_transpose takes one matrix, and was given 2 arguments");
}

#[test]
fn a_product_with_more_elements_than_one_value_has_is_refused() {
    let db = Db::new();
    db.run("CREATE TABLE m (a TENSOR(REAL, 100000, 1), b TENSOR(REAL, 1, 100000))");
    let error = db.error("SELECT matrix_multiply(a, b) FROM m").to_string();
    assert_eq!(error, "a tensor of 100000×100000 has more elements than one value can have, 2147483647");
}

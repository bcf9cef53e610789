//! Tensors and vectors in plans, and the engine's functions for them.

use std::sync::LazyLock;

use engine::{Binding, column_type_name};
use substrait_plans::{from_sql, run};

use super::support::{Db, wait};

static DB: LazyLock<Db> = LazyLock::new(|| {
    Db::with(
        "CREATE TABLE a (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 2, 2));
         INSERT INTO a VALUES (0, 0, [1, 2, 3, 4]), (0, 1, [5, 6, 7, 8.5]), (1, 0, [0, 1, 1, 0]), (1, 1, NULL);
         CREATE TABLE v (id INT, x DOUBLE[2], l DOUBLE[], r REAL[2]);
         INSERT INTO v VALUES (1, [3, 4], [1, 2], [0, 1]), (2, [-1, 0.5], [3, 4], [1, 1]), (3, NULL, NULL, NULL), (4, [0, 0], [5, 6], [2, 2]);
         CREATE TABLE edges AS SELECT [0, 2, 4] AS e",
    )
});

fn types_as_plan(sql: &str) -> Vec<String> {
    wait(async {
        let plan = from_sql(&DB.session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let output = run(&DB.session, &plan, &Binding::default()).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        output.schema().fields().iter().map(|field| column_type_name(field)).collect()
    })
}

#[test]
fn functions_of_vectors_and_blocks_are_the_same_as_plans() {
    for expression in [
        "dot(x, x)",
        "l2_distance(x, CAST([1, 1] AS DOUBLE[2]))",
        "cosine_distance(x, CAST([1, 1] AS DOUBLE[2]))",
        "l1_norm(x)",
        "l2_norm(x)",
        "norm(l)",
        "max_norm(r)",
        "kmeans_assign(x, [[0, 0], [3, 3]])",
        "width_bucket(x[1], -1, 4, 5)",
        "width_bucket(x[1], [-1, 0, 3])",
    ] {
        DB.same(&format!("SELECT id, {expression} FROM v"));
        DB.same(&format!("SELECT id FROM v WHERE {expression} > 0.5"));
    }
    for expression in [
        "matrix_add(block, block)",
        "matrix_scale(block, 0.5)",
        "matrix_transpose(block)",
        "matrix_multiply(block, block)",
        "matrix_vector(block, CAST([1, 2] AS DOUBLE[2]))",
    ] {
        DB.same(&format!("SELECT i, j, {expression} FROM a"));
    }
}

#[test]
fn aggregates_of_vectors_and_blocks_are_the_same_as_plans() {
    for aggregate in [
        "histogram(id, [0, 2, 3, 10])",
        "histogram(x[1], [-1, 0, 4])",
        "quantile_cont(id, 0.25)",
        "quantile_disc(id, 0.5)",
        "quantile_cont(x[1], [0.25, 0.75])",
        "kmeans_step(x, [[0, 0], [3, 3]])",
        "covariance_matrix(x[1], x[2])",
        "covariance_matrix(x)",
        "correlation_matrix(x[1], x[2])",
        "linear_regression(x[2], x[1])",
    ] {
        DB.same(&format!("SELECT {aggregate} FROM v"));
        DB.same(&format!("SELECT {aggregate} FROM v WHERE id < 3 OR id = 4"));
    }
    DB.same("SELECT a.i, b.j, sum_product(a.block, b.block) FROM a JOIN a AS b ON a.j = b.i WHERE b.block IS NOT NULL AND a.block IS NOT NULL GROUP BY a.i, b.j");
}

#[test]
fn casts_say_the_size_and_the_shape() {
    for sql in [
        "SELECT CAST(l AS DOUBLE[2]) FROM v",
        "SELECT TRY_CAST(l AS DOUBLE[3]) FROM v",
        "SELECT CAST(l AS TENSOR(DOUBLE, 2, 1)) FROM v",
        "SELECT CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)) AS t FROM v",
        "SELECT CAST(NULL AS TENSOR(DOUBLE, 2, 2)) AS t FROM v",
        "SELECT block FROM a UNION ALL SELECT CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2))",
        "SELECT * FROM (VALUES (1, CAST([1, 2] AS TENSOR(REAL, 1, 2))), (2, CAST([3, 4] AS TENSOR(REAL, 1, 2)))) AS t (i, x)",
        "SELECT matrix_transpose(CAST(l AS TENSOR(DOUBLE, 2, 1))) AS t FROM v",
    ] {
        DB.same(sql);
    }
}

#[test]
fn what_a_plan_gives_has_the_shape_that_the_query_has() {
    for (sql, expected) in [
        ("SELECT block FROM a", "TENSOR(DOUBLE, 2, 2)"),
        ("SELECT block AS b FROM a WHERE i = 0 ORDER BY j LIMIT 1", "TENSOR(DOUBLE, 2, 2)"),
        ("SELECT CAST(l AS TENSOR(DOUBLE, 2, 1)) AS t FROM v", "TENSOR(DOUBLE, 2, 1)"),
        ("SELECT CAST(CAST(l AS DOUBLE[2]) AS TENSOR(DOUBLE, 2, 1)) AS t FROM v", "TENSOR(DOUBLE, 2, 1)"),
        ("SELECT CAST(block AS DOUBLE[4]) FROM a", "DOUBLE[4]"),
        ("SELECT CAST([1, 2, 3, 4] AS TENSOR(BIGINT, 4, 1)) AS t FROM v", "TENSOR(BIGINT, 4, 1)"),
        ("SELECT matrix_transpose(CAST(l AS TENSOR(DOUBLE, 2, 1))) AS t FROM v", "TENSOR(DOUBLE, 1, 2)"),
        ("SELECT block FROM a UNION ALL SELECT block FROM a", "TENSOR(DOUBLE, 2, 2)"),
        (
            "SELECT x FROM (VALUES (CAST([1, 2] AS TENSOR(REAL, 1, 2))), (CAST([3, 4] AS TENSOR(REAL, 1, 2)))) AS t (x)",
            "TENSOR(REAL, 1, 2)",
        ),
        ("SELECT x FROM (VALUES (CAST([1, 2] AS TENSOR(REAL, 1, 2)))) AS t (x) WHERE x IS NULL", "TENSOR(REAL, 1, 2)"),
        ("SELECT matrix_transpose(x) AS y FROM (VALUES (1, CAST([1, 2] AS TENSOR(REAL, 1, 2)))) AS t (i, x)", "TENSOR(REAL, 2, 1)"),
        ("SELECT CASE WHEN i = 0 THEN block ELSE matrix_transpose(block) END AS b FROM a", "TENSOR(DOUBLE, 2, 2)"),
        ("SELECT coalesce(block, CAST([0, 0, 0, 0] AS TENSOR(DOUBLE, 2, 2))) AS b FROM a", "TENSOR(DOUBLE, 2, 2)"),
    ] {
        assert_eq!(types_as_plan(sql), [expected], "{sql}");
        DB.same(sql);
    }
}

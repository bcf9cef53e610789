//! The engine's functions for vectors and blocks run where the rows are stored.

use engine::column_type_name;

use super::{Both, LEVELS, rows};
use crate::runtime::wait;

/// 20,000 vectors and nine blocks on the remote engine.
fn both() -> Both {
    let both = Both::new(&[
        "CREATE TABLE points AS SELECT v AS id, CAST([v % 100, v % 7] AS DOUBLE[2]) AS p, CAST(v % 1000 AS DOUBLE) AS x
         FROM generate_series(1, 20000) AS s (v)",
        "CREATE TABLE a (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 2, 2))",
        "INSERT INTO a SELECT v / 3, v % 3, [v, 1, 2, v] FROM generate_series(0, 8) AS s (v)",
    ]);
    for table in ["points", "a"] {
        both.run(&format!("CREATE EXTERNAL TABLE {table} STORED AS QUIVER LOCATION 'quiver://other/{table}'"));
    }
    both.run("CREATE TABLE edges AS SELECT [0, 10, 500, 1000] AS e");
    both
}

#[test]
fn aggregates_of_a_table_come_as_one_row_from_its_node() {
    let both = both();
    for sql in [
        "SELECT histogram(x, [0, 10, 500, 1000]) FROM points",
        "SELECT kmeans_step(p, [[0, 0], [50, 3], [99, 6]]) FROM points",
        "SELECT quantile_cont(x, [0.1, 0.9]), quantile_disc(x, 0.5) FROM points WHERE id > 100",
        "SELECT round(covariance_matrix(p)[1][1], 6), round(correlation_matrix(p[1], p[2])[1][2], 9), round(linear_regression(x, p[1])['r2'], 9) FROM points",
        "SELECT count(*) FROM points WHERE l2_distance(p, CAST([50, 3] AS DOUBLE[2])) < 2",
        "SELECT sum(dot(p, p)), max(l2_norm(p)), min(kmeans_assign(p, [[0, 0], [50, 3]])) FROM points",
        "SELECT sum_product(l.block, r.block) FROM a AS l JOIN a AS r ON l.j = r.i WHERE l.i = 1 AND r.j = 2",
    ] {
        let expected = rows(&both.other.session, sql).unwrap();
        for level in LEVELS {
            both.run(&format!("SET pushdown = {level}"));
            assert_eq!(both.run(sql), expected, "{level}: {sql}");
        }
        assert_eq!(both.crossing(sql), (1, false), "{sql}");
    }
    let product = "SELECT l.i, r.j, sum_product(l.block, r.block) FROM a AS l JOIN a AS r ON l.j = r.i GROUP BY l.i, r.j ORDER BY 1, 2";
    assert_eq!(both.run(product), rows(&both.other.session, product).unwrap());
    assert_eq!(both.crossing(product), (9, false));
}

#[test]
fn nearest_rows_are_found_on_the_node() {
    let both = both();
    let sql = "SELECT id, p FROM points ORDER BY l2_distance(p, CAST([50, 3] AS DOUBLE[2])), id LIMIT 5";
    assert_eq!(both.run(sql), rows(&both.other.session, sql).unwrap());
    assert_eq!(both.crossing(sql), (5, false));
}

#[test]
fn edges_of_a_table_that_lies_here_are_taken_too() {
    let both = both();
    let expected = rows(&both.other.session, "SELECT histogram(x, [0, 10, 500, 1000]) FROM points").unwrap();
    for level in LEVELS {
        both.run(&format!("SET pushdown = {level}"));
        assert_eq!(both.run("SELECT histogram(x, (SELECT e FROM edges)) FROM points"), expected, "{level}");
    }
}

#[test]
fn blocks_of_a_node_are_tensors_here() {
    let both = both();
    for level in LEVELS {
        both.run(&format!("SET pushdown = {level}"));
        for sql in [
            "SELECT block FROM a",
            "SELECT matrix_transpose(block) FROM a WHERE i = 1",
            "SELECT CAST([v.id, 2] AS TENSOR(DOUBLE, 2, 1)) AS t FROM points AS v LIMIT 1",
        ] {
            let output = wait(both.session.execute(sql)).unwrap();
            assert!(column_type_name(output.schema().field(0)).starts_with("TENSOR(DOUBLE, 2, "), "{level}: {sql}");
            let (batches, _) = wait(output.collect()).unwrap();
            assert!(column_type_name(batches[0].schema().field(0)).starts_with("TENSOR(DOUBLE, 2, "), "{level}: {sql}");
        }
    }
}

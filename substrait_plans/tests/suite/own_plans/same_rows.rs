//! Queries of every kind: run as a plan they return the same rows and columns as without one.

use std::sync::LazyLock;

use engine::Binding;
use substrait_plans::{describe, from_sql};

use super::support::{Db, wait};

const TABLES: &str = "
    CREATE TABLE t (
        k BIGINT NOT NULL, g VARCHAR, i INT, u BIGINT UNSIGNED, d DECIMAL(15,2), f DOUBLE, b BOOLEAN, day DATE, at TIMESTAMP(6),
        zoned TIMESTAMP WITH TIME ZONE, word VARCHAR, l INT[]);
    INSERT INTO t VALUES
        (1, 'a', 10, 1, 1.50, 1.5, true, '2024-01-31', '2024-01-31 12:34:56.789', '2024-01-31T12:00:00Z', 'one', make_array(1, 2)),
        (2, 'a', 20, 2, 2.25, -0.0, false, '2024-02-29', '2024-02-29 00:00:00', '2024-02-29T00:00:00+02:00', 'two_2', make_array()),
        (3, 'a', NULL, 3, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL),
        (4, 'b', -5, 18446744073709551615, -7.77, '-Infinity', true, '1999-12-31', '1999-12-31 23:59:59', '1999-12-31T23:59:59Z',
            'Grüße 100%', make_array(3, NULL)),
        (5, 'b', 7, NULL, 0.00, 0.1, false, '2024-01-31', '2024-03-01 06:00:00', '2024-03-01T06:00:00Z', '', make_array(7)),
        (6, NULL, 7, 0, 100.00, NULL, true, '2023-06-15', NULL, NULL, 'it''s \\ a', make_array(1, 2, 3)),
        (7, 'c', 2147483647, 5, 99999.99, 1e300, NULL, '2024-02-28', '2024-02-28 01:02:03.000004', '2024-02-28T01:02:03Z', 'onetwo',
            make_array(NULL));
    CREATE TABLE u (k BIGINT NOT NULL, g VARCHAR, i INT, note VARCHAR NOT NULL);
    INSERT INTO u VALUES (1, 'a', 10, 'x'), (2, 'b', NULL, 'y'), (2, NULL, 7, 'z'), (9, 'd', 7, 'w');
    CREATE TABLE empty (k BIGINT NOT NULL, i INT);
    CREATE VIEW big AS SELECT k, i FROM t WHERE i > 6;
    CREATE TABLE people AS SELECT 1 AS id, named_struct('name', 'ann', 'age', 41) AS p UNION ALL SELECT 2, NULL;
    CREATE SCHEMA other; CREATE TABLE other.\"T\" (k INT); INSERT INTO other.\"T\" VALUES (1), (2);
";

static DB: LazyLock<Db> = LazyLock::new(|| Db::with(TABLES));

fn all_same(queries: &[&str]) {
    queries.iter().for_each(|sql| DB.same(sql));
}

#[test]
fn selections_orders_and_limits_are_the_same_as_plans() {
    all_same(&[
        "SELECT * FROM t",
        "SELECT k, k + 1 AS more, 'word' AS word FROM t WHERE i > 6 AND b",
        "SELECT count(*) FROM t",
        "SELECT 1 AS one",
        "SELECT 1 + 1, 'a' || 'b', NULL AS nothing, date '2024-01-01' + INTERVAL '1' MONTH",
        "SELECT * FROM (VALUES (1, 'a'), (2, NULL), (NULL, 'c')) AS v(n, w)",
        "SELECT k FROM t WHERE false",
        "SELECT DISTINCT g FROM t",
        "SELECT DISTINCT ON (g) g, k FROM t ORDER BY g, k DESC",
        "SELECT k FROM t ORDER BY k LIMIT 3 OFFSET 2",
        "SELECT k, i FROM t ORDER BY i DESC NULLS LAST, k LIMIT 4",
        "SELECT k FROM big ORDER BY k",
        "SELECT x.k, y.k AS other FROM t x, t y WHERE x.k = y.i",
        "SELECT * FROM other.\"T\"",
        "SELECT k FROM t FOR VERSION AS OF 2",
        "WITH a AS (SELECT g, sum(i) AS s FROM t GROUP BY g), b AS (SELECT max(s) AS m FROM a) SELECT * FROM a, b",
    ]);
    let ordered = "SELECT k, d FROM t ORDER BY d DESC NULLS FIRST, k LIMIT 5";
    assert_eq!(DB.query(ordered).unwrap().rows, DB.as_plan(ordered).unwrap().rows);
}

#[test]
fn joins_of_all_kinds_are_the_same_as_plans() {
    all_same(&[
        "SELECT t.k, u.note FROM t JOIN u ON t.k = u.k",
        "SELECT t.k, u.note FROM t LEFT JOIN u ON t.k = u.k AND u.i IS NOT NULL",
        "SELECT t.k, u.note FROM t RIGHT JOIN u ON t.k = u.k",
        "SELECT t.k, u.note FROM t FULL JOIN u ON t.k = u.k",
        "SELECT t.k, u.k AS uk FROM t CROSS JOIN u",
        "SELECT t.k, u.k AS uk FROM t JOIN u ON t.k < u.k",
        "SELECT t.k, u.k AS uk FROM t LEFT JOIN u ON t.i = u.i OR t.g = u.g",
        "SELECT * FROM t JOIN u USING (k, g)",
        "SELECT k, note FROM t NATURAL JOIN u",
        "SELECT t.k FROM t JOIN u ON t.g IS NOT DISTINCT FROM u.g",
        "SELECT t.k, u.note FROM t JOIN u ON t.k + 1 = u.k * 1",
        "SELECT t.k FROM t LEFT JOIN empty e ON t.k = e.k WHERE e.k IS NULL",
        "SELECT a.k, b.k AS bk, c.k AS ck FROM t a JOIN t b ON a.k = b.k - 1 JOIN t c ON b.k = c.k - 1",
        "SELECT t.k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
        "SELECT t.k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.g = t.g AND u.i > t.i)",
        "SELECT t.k FROM t WHERE t.i IN (SELECT i FROM u)",
        "SELECT t.k FROM t WHERE t.k = 5 OR EXISTS (SELECT 1 FROM u WHERE u.g = t.g)",
        "SELECT t.k FROM t WHERE t.k = 5 OR t.k IN (SELECT k FROM u) OR t.b",
        "SELECT g FROM t INTERSECT SELECT g FROM u",
        "SELECT g FROM t EXCEPT SELECT g FROM u",
        "SELECT g FROM t UNION SELECT g FROM u",
        "SELECT k, g FROM t UNION ALL SELECT i, note FROM u UNION ALL VALUES (0, 'v')",
    ]);
}

#[test]
fn not_in_with_nulls_is_the_same_as_a_plan() {
    all_same(&[
        // With a NULL among the values, NOT IN is never true.
        "SELECT k FROM t WHERE i NOT IN (SELECT i FROM u)",
        "SELECT k FROM t WHERE i NOT IN (SELECT i FROM u WHERE i IS NOT NULL)",
        "SELECT k FROM t WHERE i NOT IN (SELECT i FROM empty)",
        "SELECT k FROM t WHERE i NOT IN (SELECT i FROM u WHERE u.k > t.k)",
        "SELECT k FROM t WHERE i NOT IN (SELECT i FROM u WHERE u.k = t.k)",
        "SELECT k FROM t WHERE k NOT IN (SELECT k FROM u)",
        "SELECT k FROM t WHERE i + 1 NOT IN (SELECT i FROM u) AND b",
        "SELECT k FROM t WHERE i NOT IN (7, 10)",
        "SELECT k FROM t WHERE i NOT IN (7, NULL)",
    ]);
    assert!(DB.as_plan("SELECT k FROM t WHERE i NOT IN (SELECT i FROM u)").unwrap().rows.is_empty());
}

#[test]
fn subqueries_are_the_same_as_plans() {
    all_same(&[
        "SELECT k FROM t WHERE d > (SELECT avg(d) FROM t)",
        "SELECT k, (SELECT max(i) FROM u) AS m FROM t",
        "SELECT k FROM t WHERE i = (SELECT max(i) FROM u WHERE u.g = t.g)",
        "SELECT k, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t",
        "SELECT g, sum(i) FROM t GROUP BY g HAVING sum(i) > (SELECT min(i) FROM u)",
        "SELECT k FROM t WHERE i = (SELECT i FROM empty)",
        // Two rows where one is allowed: an error in both cases.
        "SELECT k FROM t WHERE i = (SELECT i FROM u WHERE g IN ('a', 'd'))",
    ]);
}

#[test]
fn a_hundred_terms_are_the_same_as_a_plan() {
    for operator in ["OR", "AND"] {
        let is = if operator == "OR" { "=" } else { "<>" };
        // Not one list: two columns alternate.
        let terms: Vec<String> = (5..600).map(|n| format!("{} {is} {n}", if n % 2 == 0 { "k" } else { "i" })).collect();
        DB.same(&format!("SELECT k FROM t WHERE {}", terms[..100].join(&format!(" {operator} "))));
        DB.same(&format!("SELECT k FROM t WHERE {}", terms.join(&format!(" {operator} "))));
    }
    let words: Vec<String> = (0..100).map(|n| format!("'{n}'")).collect();
    DB.same(&format!("SELECT word || {} FROM t", words.join(" || ")));
}

#[test]
fn every_aggregate_is_the_same_as_a_plan() {
    let functions = [
        "count(*)",
        "count(i)",
        "count(DISTINCT i)",
        "count(DISTINCT g)",
        "sum(i)",
        "sum(k)",
        "sum(d)",
        "sum(f)",
        "sum(DISTINCT i)",
        "sum(u / 2)",
        "avg(i)",
        "avg(d)",
        "avg(f)",
        "min(i)",
        "max(i)",
        "min(d)",
        "max(f)",
        "min(f)",
        "min(word)",
        "max(word)",
        "min(day)",
        "max(at)",
        "max(zoned)",
        "min(u)",
        "max(b)",
        "bool_and(b)",
        "bool_or(b)",
        "bit_and(i)",
        "bit_or(i)",
        "bit_xor(i)",
        "stddev(d)",
        "stddev_pop(i)",
        "stddev_samp(i)",
        "var(i)",
        "var_pop(d)",
        "var_samp(i)",
        "covar_samp(i, k)",
        "covar_pop(i, k)",
        "corr(i, k)",
        "median(i)",
        "median(d)",
        "approx_distinct(i)",
        "approx_median(i)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY i)",
        "approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY i)",
        "array_agg(i ORDER BY k)",
        "array_agg(DISTINCT i ORDER BY i)",
        "string_agg(word, ', ' ORDER BY k)",
        "first_value(word ORDER BY k DESC)",
        "last_value(i ORDER BY k)",
        "nth_value(i, 2 ORDER BY k)",
        "any_value(g)",
        "regr_slope(i, k)",
        "regr_intercept(i, k)",
        "regr_r2(i, k)",
        "regr_count(i, k)",
        "regr_avgx(i, k)",
        "regr_avgy(i, k)",
        "regr_sxx(i, k)",
        "regr_syy(i, k)",
        "regr_sxy(i, k)",
        "count(*) FILTER (WHERE b)",
        "sum(i) FILTER (WHERE i > 6)",
        "avg(DISTINCT i)",
        "grouping(g)",
    ];
    for function in functions {
        DB.same(&format!("SELECT g, {function} AS x FROM t GROUP BY g"));
        if function != "grouping(g)" {
            DB.same(&format!("SELECT {function} AS x FROM t"));
            DB.same(&format!("SELECT {function} AS x FROM t WHERE false"));
        }
    }
    all_same(&[
        "SELECT g, b, count(*), grouping(g), grouping(b) FROM t GROUP BY ROLLUP (g, b)",
        "SELECT g, b, sum(i) FROM t GROUP BY CUBE (g, b)",
        "SELECT g, b, count(*), grouping(g, b) FROM t GROUP BY GROUPING SETS ((g), (b), (g, b), ())",
        "SELECT g, count(*) FROM t GROUP BY GROUPING SETS ((g), (g), ())",
        "SELECT g, count(*) FROM t GROUP BY GROUPING SETS ((g))",
        "SELECT i % 2 AS even, count(*) FROM t GROUP BY i % 2",
        "SELECT count(DISTINCT i), sum(DISTINCT i), count(*) FROM t",
        "SELECT g FROM t GROUP BY g HAVING count(*) > 1",
    ]);
}

#[test]
fn windows_are_the_same_as_plans() {
    let functions = [
        "row_number()",
        "rank()",
        "dense_rank()",
        "percent_rank()",
        "cume_dist()",
        "ntile(3)",
        "lag(i)",
        "lag(i, 2)",
        "lag(i, 1, -1)",
        "lead(i)",
        "lead(d, 1, 0)",
        "lag(word, 1, 'none')",
        "lag(i, -1)",
        "first_value(i)",
        "last_value(i)",
        "nth_value(i, 2)",
        "sum(i)",
        "count(*)",
        "avg(d)",
        "min(f)",
        "max(day)",
        "array_agg(i)",
    ];
    for function in functions {
        DB.same(&format!("SELECT k, {function} OVER (PARTITION BY g ORDER BY i DESC NULLS LAST, k) AS x FROM t"));
        DB.same(&format!("SELECT k, {function} OVER (ORDER BY k) AS x FROM t"));
    }
    let frames = [
        "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
        "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
        "ROWS 2 PRECEDING",
        "ROWS BETWEEN 0 PRECEDING AND 0 FOLLOWING",
        "ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING",
        "ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
        "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
        "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
        "RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING",
        "RANGE BETWEEN 0 PRECEDING AND CURRENT ROW",
    ];
    for frame in frames {
        DB.same(&format!("SELECT k, sum(i) OVER (ORDER BY k {frame}) AS x FROM t"));
        DB.same(&format!("SELECT k, count(*) OVER (ORDER BY i DESC {frame}) AS x FROM t"));
    }
    all_same(&[
        "SELECT k, sum(i) OVER () AS x, count(*) OVER (PARTITION BY g) AS y FROM t",
        "SELECT g, sum(sum(i)) OVER (ORDER BY g) AS x FROM t GROUP BY g",
        "SELECT k FROM (SELECT k, row_number() OVER (PARTITION BY g ORDER BY k) AS n FROM t) AS x WHERE n = 1",
        "SELECT k, sum(i) OVER (ORDER BY day, k) AS x FROM t",
        "SELECT k, count(DISTINCT i) OVER (PARTITION BY g) AS x FROM t",
    ]);
}

#[test]
fn expressions_are_the_same_as_plans() {
    for expression in include_str!("expressions.sql").lines().filter(|line| !line.starts_with("--")) {
        // Only rows for which the expression does not fail: errors are compared separately.
        DB.same(&format!("SELECT k, {expression} AS x FROM t WHERE k <= 6"));
    }
    all_same(&["SELECT id, p, p['name'] AS name, p['age'] + 1 AS next FROM people", "SELECT id FROM people WHERE p['age'] > 40"]);
}

#[test]
fn errors_of_rows_are_the_same_as_plans() {
    all_same(&[
        "SELECT i + 1 FROM t",
        "SELECT -9223372036854775808 - k FROM t",
        "SELECT sum(k * 9000000000000000000) FROM t WHERE k = 1",
        "SELECT 10 / (k - 1) FROM t",
        "SELECT CAST(word AS INT) FROM t",
        "SELECT sqrt(-k) FROM t",
    ]);
}

#[test]
fn a_plan_of_a_query_with_parameters_takes_their_values() {
    let sql = "SELECT k FROM t WHERE k > CAST($1 AS BIGINT) AND g = CAST($2 AS VARCHAR)";
    let plan = wait(from_sql(&DB.session, sql)).unwrap();
    let described = wait(describe(&DB.session, &plan, &Binding::default())).unwrap();
    assert_eq!(described.parameters.fields().len(), 2);
}

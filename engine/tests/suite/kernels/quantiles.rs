//! Exact quantiles. What is expected is what DuckDB 2.0 answered, or what sorting says.

use crate::helpers::Db;

/// `r` and what is made of it are permutations; `n` has NULLs, `rep` repeats.
fn table() -> Db {
    let db = Db::new();
    db.run(
        "CREATE TABLE t AS SELECT value AS i, value * 7919 % 1009 AS r, CAST(value * 7919 % 1009 AS DOUBLE) / 7 AS d, \
         CASE WHEN value % 10 = 0 THEN NULL ELSE CAST(value AS DOUBLE) * 0.1e0 END AS n, \
         'k' || lpad(CAST(value * 7919 % 1009 AS VARCHAR), 5, '0') AS s, \
         DATE '2020-01-01' + CAST(value * 7919 % 1009 AS INTEGER) AS day, \
         CAST(CAST(value * 7919 % 1009 AS DECIMAL(10, 2)) / 100 AS DECIMAL(10, 2)) AS dec, \
         value % 7 AS g, CAST(value % 13 AS DOUBLE) AS rep FROM range(1, 1001)",
    );
    db
}

/// With the digits after which numbers differ by rounding left out.
fn rounded(row: &str) -> String {
    let number = |text: &str| text.trim().parse::<f64>().map_or_else(|_| text.trim().to_string(), |value| format!("{value:.9}"));
    row.trim_matches(['[', ']']).split([',', '|']).map(number).collect::<Vec<_>>().join(" ")
}

fn assert_quantile(db: &Db, call: &str, expected: &str) {
    assert_eq!(rounded(&db.value(&format!("SELECT {call} FROM t"))), rounded(expected), "{call}");
}

#[test]
fn continuous_quantiles_are_those_of_duckdb() {
    let db = table();
    assert_quantile(&db, "quantile_cont(d, 0.5)", "72.21428571428572");
    let expected = "0.14285714285714285, 14.557142857142859, 36.25, 48.23814285714286, 129.5857142857143, 144.0";
    assert_quantile(&db, "quantile_cont(d, [0, 0.1, 0.25, 0.333, 0.9, 1])", expected);
    assert_quantile(&db, "quantile_cont(r, 0.3)", "303.7");
    assert_quantile(&db, "quantile_cont(n, 0.29)", "29.041999999999998");
    assert_quantile(&db, "quantile_cont(DISTINCT rep, 0.3)", "3.5999999999999996");
    assert_quantile(&db, "quantile_cont(CAST(r AS REAL), 0.3)", "303.7");
}

#[test]
fn discrete_quantiles_are_those_of_duckdb() {
    let db = table();
    let expected = "0.14285714285714285, 14.428571428571429, 36.142857142857146, 48.142857142857146, 129.57142857142858, 144.0";
    assert_quantile(&db, "quantile_disc(d, [0, 0.1, 0.25, 0.333, 0.9, 1])", expected);
    assert_quantile(&db, "quantile_disc(s, 0.3)", "k00303");
    assert_quantile(&db, "quantile_disc(s, [0.3, 1])", "k00303, k01008");
    assert_quantile(&db, "quantile_disc(day, [0.3, 0.7])", "2020-10-30, 2021-12-07");
    assert_quantile(&db, "quantile_disc(dec, 0.3)", "3.03");
    assert_quantile(&db, "quantile_disc(n, 0.29)", "28.900000000000002");
    assert_quantile(&db, "quantile(r, 0.29)", "293");
    assert_quantile(&db, "quantile_disc(DISTINCT rep, 0.3)", "3.0");
    assert_quantile(&db, "quantile_disc(DISTINCT s, 0.3)", "k00303");
    assert_quantile(&db, "quantile_disc(i > 300, [0.3, 0.31])", "false, true");
}

#[test]
fn each_group_has_its_quantiles() {
    let db = table();
    let expected = [
        "0|55.71714285714286|55.57142857142857",
        "1|53.528571428571425|53.142857142857146",
        "2|52.605714285714285|52.142857142857146",
        "3|52.46285714285714|52.0",
        "4|51.99142857142857|51.142857142857146",
        "5|53.89142857142857|53.42857142857143",
        "6|54.99142857142857|54.142857142857146",
    ];
    let found = db.rows("SELECT g, quantile_cont(d, 0.37), quantile_disc(d, 0.37) FROM t GROUP BY g ORDER BY g");
    assert_eq!(found.iter().map(|row| rounded(row)).collect::<Vec<_>>(), expected.map(rounded));
    let texts = db.rows("SELECT g, quantile_disc(s, [0, 1]) FROM t GROUP BY g ORDER BY g");
    assert_eq!(texts, db.rows("SELECT g, [min(s), max(s)] FROM t GROUP BY g ORDER BY g"));
}

#[test]
fn the_order_may_be_said_within_group_and_may_descend() {
    let db = table();
    assert_quantile(&db, "quantile_cont(0.25) WITHIN GROUP (ORDER BY d)", "36.25");
    assert_quantile(&db, "quantile_cont(0.75) WITHIN GROUP (ORDER BY d DESC)", "36.25");
    assert_quantile(&db, "quantile_disc(0.0) WITHIN GROUP (ORDER BY i DESC)", "1000");
    assert_quantile(&db, "quantile_disc(0.3) WITHIN GROUP (ORDER BY i DESC)", "701");
    let groups = db.value("SELECT quantile_disc(0.0) WITHIN GROUP (ORDER BY i DESC) FROM t GROUP BY g HAVING g = 3");
    assert_eq!(groups, "997");
}

#[test]
fn no_values_have_no_quantile() {
    let db = table();
    for call in ["quantile_cont(d, 0.5)", "quantile_disc(d, [0.5])", "quantile_disc(s, 0.5)", "quantile_disc(s, [0.5])"] {
        assert_eq!(db.value(&format!("SELECT {call} FILTER (WHERE i > 1000) FROM t")), "NULL", "{call}");
    }
    assert_eq!(db.value("SELECT quantile_cont(NULL, 0.5)"), "NULL");
    let groups =
        db.rows("SELECT quantile_disc(d, [0.5]) FILTER (WHERE g = 1), quantile_cont(d, 0.5) FILTER (WHERE g = 9) FROM t GROUP BY g");
    assert_eq!(groups.iter().filter(|row| *row == "NULL|NULL").count(), 6);
}

#[test]
fn nan_is_greater_than_all_and_infinities_are_values() {
    let db = Db::new();
    db.run("CREATE TABLE x (f DOUBLE)");
    db.run("INSERT INTO x VALUES ('NaN'), (1), (2), (3)");
    assert_eq!(db.value("SELECT quantile_cont(f, 0.5), quantile_disc(f, 1) FROM x"), "2.5|NaN");
    db.run("DELETE FROM x");
    db.run("INSERT INTO x VALUES ('-inf'), ('inf')");
    assert_eq!(db.value("SELECT quantile_cont(f, 0.5), quantile_cont(f, 0.5) > 0 FROM x"), "NaN|true");
    db.run("DELETE FROM x");
    db.run("INSERT INTO x VALUES (-1e308), (1.7e308)");
    assert_eq!(db.value("SELECT quantile_cont(f, 0.5) FROM x"), "3.4999999999999996e307");
}

#[test]
fn frames_of_windows_have_quantiles() {
    let db = Db::new();
    db.run("CREATE TABLE t (id INT, x DOUBLE, s VARCHAR)");
    db.run("INSERT INTO t VALUES (1, 3, 'c'), (2, 1, 'a'), (3, NULL, NULL), (4, 1, 'a'), (5, 7, 'g')");
    let running = db.rows("SELECT quantile_cont(x, 0.5) OVER (ORDER BY id), quantile_disc(s, 0.5) OVER (ORDER BY id) FROM t ORDER BY id");
    assert_eq!(running, ["3.0|c", "2.0|a", "2.0|a", "1.0|a", "2.0|a"]);
    let sliding = "SELECT quantile_disc(x, 1) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t ORDER BY id";
    assert_eq!(db.rows(sliding), ["3.0", "3.0", "1.0", "1.0", "7.0"]);
}

#[test]
fn fractions_may_come_from_a_subquery() {
    let db = table();
    assert_quantile(&db, "quantile_disc(i, (SELECT max(value) / 10.0 FROM range(0, 4)))", "300");
    assert_quantile(&db, "quantile_disc(i, (SELECT array_agg(value / 10.0 ORDER BY value) FROM range(0, 3)))", "1, 100, 200");
}

#[test]
fn fractions_that_are_none_are_refused() {
    let db = table();
    let error = |call: &str| db.error(&format!("SELECT {call} FROM t")).to_string();
    assert_eq!(error("quantile_cont(d, 1.5)"), "the fraction of quantile_cont is from 0 to 1, and not 1.5");
    assert_eq!(error("quantile_disc(d, [0.5, -1])"), "the fraction of quantile_disc is from 0 to 1, and not -1");
    assert_eq!(error("quantile_disc(d, NULL)"), "the fraction of quantile_disc is NULL");
    assert_eq!(error("quantile_disc(d, [0.5, NULL])"), "the fraction of quantile_disc is NULL");
    assert_eq!(error("quantile_cont(d, n)"), "the fraction of quantile_cont is to be the same for all rows, a number or a list of numbers");
    assert_eq!(error("quantile_cont(s, 0.5)"), "the first argument of quantile_cont is a number, and not VARCHAR");
    assert_eq!(error("quantile_disc([d], 0.5)"), "quantile_disc takes values that have an order, and not DOUBLE[]");
    assert_eq!(error("quantile(d)"), "quantile_disc takes values and a fraction, and was given 1 argument");
}

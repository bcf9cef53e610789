//! Answers that are right or errors: no wrapping, no clause that is read and forgotten.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int32Array, StructArray};
use arrow::datatypes::{DataType, Field, Fields};
use engine::EngineError;
use futures::StreamExt;

use super::helpers::{Db, in_a_process_of_its_own, nullable, numbers, wait};

/// The statement is an error with these words in it.
fn fails(db: &Db, sql: &str, words: &str) -> EngineError {
    let error = db.error(sql);
    let text = error.to_string();
    assert!(text.contains(words) && !text.contains('\n'), "{sql}: {text}");
    assert!(!matches!(error, EngineError::Internal(_)), "{sql}: {text}");
    error
}

const MAX: &str = "9223372036854775807";

fn with_integers() -> Db {
    let db = Db::new();
    db.script(&format!(
        "CREATE TABLE t (a bigint, i int, s smallint, u bigint unsigned, n bigint);
         INSERT INTO t VALUES (1, 1, 1, 1, NULL), ({MAX}, 2147483647, 32767, 18446744073709551615, 2), (-{MAX} - 1, 5, 5, 0, 3)"
    ));
    db
}

#[test]
fn integers_that_do_not_fit_are_errors_wherever_they_are_computed() {
    let db = with_integers();
    let words = "is out of range for";
    for sql in [
        "SELECT a + 1 FROM t",
        "SELECT a - 2 FROM t",
        "SELECT a * 2 FROM t",
        "SELECT -a FROM t",
        "SELECT i + i FROM t WHERE i > 5",
        "SELECT s * s FROM t",
        "SELECT u + u FROM t",
        "SELECT n FROM t WHERE a + 1 > 5",
        "SELECT n FROM t WHERE n * a > 5",
        "SELECT max(a + 1) FROM t",
        "SELECT n, sum(a + 1) FROM t GROUP BY n",
        "SELECT count(*) FROM t GROUP BY a * 2",
        "SELECT a FROM t ORDER BY a + 1",
        "SELECT x.n FROM t x JOIN t y ON x.a + 1 = y.a",
        "SELECT x.n FROM t x JOIN t y ON x.n = y.n AND x.a + y.a > 5",
        "SELECT x.n FROM t x LEFT JOIN t y ON x.a + y.a > 5",
        "SELECT sum(a * 2) OVER (ORDER BY n) FROM t",
        "SELECT row_number() OVER (PARTITION BY a + 1) FROM t",
        "SELECT n FROM t WHERE n IN (SELECT a + 1 FROM t)",
        "SELECT n FROM t WHERE EXISTS (SELECT 1 FROM t y WHERE y.a + t.a > 5)",
        "SELECT n FROM t GROUP BY n HAVING max(a) + 1 > 0",
        "SELECT CASE WHEN a > 5 THEN a + 1 ELSE 0 END FROM t",
        "VALUES (9223372036854775807 + 1)",
        "SELECT 9223372036854775807 + 1",
        "SELECT x + 1 FROM (SELECT 9223372036854775807 AS x)",
        "SELECT cast(-128 AS tinyint) - cast(1 AS tinyint)",
        "SELECT -(-9223372036854775807 - 1)",
    ] {
        let error = fails(&db, sql, words);
        assert!(error.hint().is_some_and(|hint| hint.contains("DECIMAL")), "{sql}");
    }
    assert_eq!(db.error("SELECT a + 1 FROM t WHERE a > 5").to_string(), format!("{MAX} + 1 is out of range for BIGINT"));
    db.run("CREATE TABLE copied (a bigint)");
    fails(&db, "INSERT INTO copied SELECT a + 1 FROM t", words);
    db.run("PREPARE p(bigint) AS SELECT a + $1 FROM t WHERE a > 5");
    fails(&db, "EXECUTE p(1)", words);
    db.run("CREATE VIEW v AS SELECT a + 1 AS b FROM t");
    fails(&db, "SELECT * FROM v", words);
}

#[test]
fn integers_that_fit_are_computed_under_the_names_they_had() {
    let db = with_integers();
    assert_eq!(db.rows("SELECT a + n, a * -1, -n, (a - n) * 1, n - 1 FROM t WHERE a = 1"), ["NULL|-1|NULL|NULL|NULL"]);
    assert_eq!(db.rows("SELECT cast(a AS decimal(38,0)) + 1 FROM t WHERE i > 5"), ["9223372036854775808"]);
    assert_eq!(db.rows("SELECT i + 1 AS j FROM t WHERE i < 9 GROUP BY i + 1 ORDER BY i + 1"), ["2", "6"]);
    assert_eq!(db.rows("SELECT sum(i + 1) FILTER (WHERE i < 9) FROM t"), ["8"]);
    assert_eq!(db.rows("SELECT i FROM t LIMIT 1 + 0"), ["1"]);
    assert_eq!(db.rows("SELECT x.i FROM t x JOIN t y ON x.i + 4 = y.i"), ["1"]);
    assert_eq!(db.rows("SELECT date '2024-03-01' - date '2024-02-01', -(2 * 3 - 10)"), ["29|4"]);
    let schema = db.run("SELECT * FROM (SELECT i + 1, - i, i * (s - 1) FROM t WHERE i < 9)").batches[0].schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["t.i + Int64(1)", "(- t.i)", "t.i * t.s - Int64(1)"]);
}

#[test]
fn sums_that_do_not_fit_are_errors_in_every_form() {
    let db = with_integers();
    for sql in [
        "SELECT sum(a) FROM t WHERE a > 0",
        "SELECT sum(u) FROM t",
        "SELECT i > 0, sum(a) FROM t WHERE a > 0 GROUP BY 1",
        "SELECT sum(DISTINCT a) FROM t WHERE a > 0",
        "SELECT sum(a) OVER () FROM t WHERE a > 0",
        "SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t WHERE a > 0",
        "SELECT sum(v) FROM (VALUES (99999999999999999999999999999999999999::decimal(38,0)), (1::decimal(38,0))) AS x(v)",
        "SELECT k, sum(v) FROM (VALUES (1, 99999999999999999999999999999999999999::decimal(38,0)), (1, 99999999999999999999999999999999999999::decimal(38,0))) AS x(k, v) GROUP BY k",
    ] {
        fails(&db, sql, "a sum is out of range for");
    }
    // Overflow on the way in one partition, not in another's order.
    db.run(&format!("INSERT INTO t SELECT {MAX} / 100000 AS a, 7 AS b, 7 AS c, 7 AS d, value FROM generate_series(1, 100001) AS g(value)"));
    fails(&db, "SELECT sum(a) FROM t WHERE i = 7", "out of range for BIGINT");
    fails(&db, "SELECT n % 1, sum(a) FROM t WHERE i = 7 GROUP BY 1", "out of range for BIGINT");
    assert_eq!(db.value("SELECT sum(cast(a AS decimal(38,0))) FROM t WHERE i = 7"), "9223464270575068547");
}

#[test]
fn sums_that_fit_are_right() {
    let db = with_integers();
    assert_eq!(db.rows("SELECT sum(a), sum(n), sum(i), sum(DISTINCT n), count(*) FROM t WHERE i <> 1"), ["-1|5|2147483652|5|2"]);
    assert_eq!(db.rows("SELECT sum(n) FROM t WHERE i = 1"), ["NULL"]);
    assert_eq!(db.rows("SELECT sum(a) FROM t WHERE a = 77"), ["NULL"]);
    assert_eq!(
        db.rows("SELECT i, sum(n), sum(a) FILTER (WHERE a > 5) FROM t GROUP BY i ORDER BY i"),
        ["1|NULL|NULL".to_string(), "5|3|NULL".into(), format!("2147483647|2|{MAX}"),]
    );
    db.load("many", &[], &numbers(0, 100_000));
    assert_eq!(db.rows("SELECT sum(id), sum(DISTINCT k), sum(id + 0) FROM many"), ["4999950000|45|4999950000"]);
    assert_eq!(db.rows("SELECT k, sum(id) FROM many GROUP BY k ORDER BY k LIMIT 2"), ["0|499950000", "1|499960000"]);
    let frames = "SELECT max(w) FROM (SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS w FROM many)";
    assert_eq!(db.value(frames), (99_997 + 99_998 + 99_999).to_string());
    assert_eq!(db.value("SELECT sum(v) FROM (VALUES (1.5), (2.25)) AS x(v)"), "3.75");
}

#[test]
fn decimals_do_not_wrap() {
    let db = Db::new();
    let big = "cast('99999999999999999999999999999999999999' AS decimal(38,0))";
    for sql in [format!("SELECT {big} * 10"), format!("SELECT {big} * {big}"), format!("SELECT v * v FROM (VALUES ({big})) AS x(v)")] {
        let error = db.error(&sql);
        assert!(!matches!(error, EngineError::Internal(_)), "{sql}: {error}");
    }
}

#[test]
fn external_tables_are_found_from_anywhere_and_again_after_reopening() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 10));
    let dir = db.file("files");
    fs::create_dir(&dir).unwrap();
    db.run(&format!("COPY (SELECT * FROM t WHERE id < 5) TO '{dir}/a.csv'"));
    db.run(&format!("CREATE EXTERNAL TABLE e (id bigint, k bigint, r bigint, \"S\" varchar) STORED AS CSV OPTIONS ('format.has_header' 'true') LOCATION '{dir}'"));
    assert_eq!(db.value("SELECT count(*) FROM e"), "5");
    // What comes into the directory later is seen.
    db.run(&format!("COPY (SELECT * FROM t WHERE id >= 5) TO '{dir}/b.csv'"));
    assert_eq!(db.value("SELECT sum(id) FROM e"), "45");
    let definition = db.rows("SHOW CREATE TABLE e").remove(0);
    assert!(definition.contains("CREATE EXTERNAL TABLE e (id BIGINT") && definition.contains(&dir), "{definition}");
    let db = db.reopened();
    assert_eq!(db.rows("SELECT count(\"S\"), max(k) FROM e"), ["10|9"]);
    // A relative path is kept as the absolute one it was.
    let relative = pathdiff(&dir);
    db.run(&format!("CREATE OR REPLACE EXTERNAL TABLE e STORED AS CSV LOCATION '{relative}/a.csv'"));
    assert!(db.rows("SHOW CREATE TABLE e")[0].contains(&format!("'{}", std::path::absolute(&relative).unwrap().display())));
    assert_eq!(db.value("SELECT count(*) FROM e"), "5");
    fails(&db, "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION 's3://bucket/x.csv'", "s3://");
    fails(&db, &format!("CREATE EXTERNAL TABLE x (a int NOT NULL) STORED AS CSV LOCATION '{dir}'"), "constraint");
}

/// The path from the working directory, up to the root and down again.
fn pathdiff(path: &str) -> String {
    let up = std::env::current_dir().unwrap().components().skip(1).map(|_| "../").collect::<String>();
    format!("{up}{}", path.trim_start_matches('/'))
}

#[test]
fn timestamps_with_a_time_zone_are_instants() {
    let db = Db::new();
    db.script("CREATE TABLE t (a timestamptz); INSERT INTO t VALUES ('2024-01-01T12:00:00+02:00')");
    assert_eq!(db.rows("SELECT a, a = timestamptz '2024-01-01T10:00:00Z' FROM t"), ["2024-01-01T10:00:00Z|true"]);
    assert_eq!(db.rows("DESCRIBE t"), ["a|TIMESTAMP WITH TIME ZONE|YES|NULL|NULL"]);
    db.run("SET TIME ZONE 'Europe/Berlin'");
    assert_eq!(db.rows("SELECT a FROM t"), ["2024-01-01T11:00:00+01:00"]);
    assert_eq!(db.rows("SHOW timezone"), ["timezone|Europe/Berlin"]);
    assert_eq!(db.rows("SELECT timestamptz '2024-07-01T00:00:00'"), ["2024-07-01T00:00:00+02:00"]);
    fails(&db, "SET timezone = 'Middle/Earth'", "there is no time zone \"Middle/Earth\"");
    db.run("RESET timezone");
    assert_eq!(db.rows("SHOW TIME ZONE"), ["timezone|UTC"]);
}

#[test]
fn copy_to_writes_what_import_reads() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int, b varchar); INSERT INTO t VALUES (1, ''), (2, NULL), (3, 'x;y')");
    let text = |name: &str| fs::read_to_string(db.file(name)).unwrap();
    let copy = |what: &str, name: &str, options: &str| db.rows(&format!("COPY {what} TO '{}' {options}", db.file(name)));
    assert_eq!(copy("t", "a.csv", ""), ["3"]);
    assert_eq!(text("a.csv"), "a,b\n1,\"\"\n2,\n3,x;y\n");
    copy("(SELECT a, b FROM t WHERE a > 2)", "b.txt", "WITH (FORMAT csv, HEADER false, DELIMITER ';')");
    assert_eq!(text("b.txt"), "3;\"x;y\"\n");
    copy("t", "c.csv", "STORED AS CSV OPTIONS ('format.has_header' 'false', 'format.delimiter' '|')");
    assert_eq!(text("c.csv"), "1|\"\"\n2|\n3|x;y\n");
    for name in ["d.csv.gz", "d.csv.zst", "d.parquet", "d.json", "d.arrow"] {
        assert_eq!(copy("t", name, ""), ["3"]);
        db.run("CREATE OR REPLACE TABLE back (a int, b varchar)");
        assert_eq!(db.rows(&format!("COPY back FROM '{}'", db.file(name))), ["3"], "{name}");
        assert_eq!(db.rows("SELECT a, b IS NULL, b = '' FROM back ORDER BY a"), ["1|false|true", "2|true|NULL", "3|false|false"], "{name}");
    }
    for (options, words) in [
        ("(ESCAPE '\\')", "ESCAPE"),
        ("(FORCE_QUOTE b)", "FORCE_QUOTE"),
        ("STORED AS CSV OPTIONS ('format.double_quote' 'true')", "DOUBLE_QUOTE"),
        ("(FORMAT parquet, HEADER true)", "HEADER"),
        ("(COMPRESSION gzip)", "COMPRESSION"),
        ("(HEADER maybe)", "the option header is true or false"),
        ("PARTITIONED BY (a)", "PARTITIONED"),
        ("(QUOTE '''')", "QUOTE"),
        ("(NULL 'NA')", "NULL"),
    ] {
        fails(&db, &format!("COPY t TO '{}' {options}", db.file("no.csv")), words);
    }
    fails(&db, "COPY t TO STDOUT", "STDOUT");
    fails(&db, "COPY t (a) TO 'x.csv'", "some columns");
    fails(&db, "COPY t TO 'x.unknown'", "format");
    assert_eq!(db.error("COPY nothing TO 'x.csv'").to_string(), "table \"nothing\" does not exist");
    assert!(!std::path::Path::new(&db.file("no.csv")).exists());
}

#[test]
fn clauses_that_would_be_forgotten_are_refused() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b varchar)");
    for (sql, words) in [
        ("SELECT * FROM t FOR UPDATE", "FOR UPDATE"),
        ("SELECT * FROM t FOR SHARE", "FOR SHARE"),
        ("SELECT * FROM (SELECT * FROM t FOR UPDATE) AS x", "FOR UPDATE"),
        ("SELECT * FROM t TABLESAMPLE BERNOULLI (10)", "TABLESAMPLE"),
        ("SELECT a, count(*) FROM t GROUP BY a WITH ROLLUP", "ROLLUP"),
        ("EXPLAIN SELECT * FROM t FOR UPDATE", "FOR UPDATE"),
        ("CREATE VIEW v AS SELECT * FROM t FOR UPDATE", "FOR UPDATE"),
        ("COPY (SELECT * FROM t FOR UPDATE) TO 'x.csv'", "FOR UPDATE"),
        ("CREATE TABLE x (a int) WITH (fillfactor = 70)", "table option"),
        ("CREATE TABLE x (a int) ENGINE = InnoDB", "option of CREATE TABLE"),
        ("CREATE TABLE x (a int) COMMENT 'x'", "option of CREATE TABLE"),
        ("CREATE TABLE x (a int) TBLPROPERTIES ('a' = 'b')", "option of CREATE TABLE"),
        ("CREATE TABLE x (LIKE t)", "not supported"),
        ("CREATE TABLE x LIKE t", "LIKE"),
        ("INSERT INTO t SELECT a, b FROM t TABLESAMPLE SYSTEM (1)", "TABLESAMPLE"),
        ("SELECT * FROM t ORDER BY b COLLATE \"de\"", "COLLATE"),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN ('x', 'y'))", "PIVOT"),
        ("EXPLAIN ANALYZE COPY t TO 'x.csv'", "EXPLAIN of COPY"),
        ("DROP TABLE t, t", "several"),
    ] {
        let error = fails(&db, sql, words);
        assert!(error.to_string().matches("not supported").count() <= 1 && error.to_string().len() < 150, "{sql}: {error}");
    }
    assert_eq!(db.session.table_names(), ["t"]);
}

#[test]
fn rows_are_written_to_tables_alone() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t");
    db.run(&format!("COPY (SELECT 1 AS a) TO '{}'", db.file("e.csv")));
    db.run(&format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{}'", db.file("e.csv")));
    fails(&db, "INSERT INTO v VALUES (1)", "writing to the view \"v\" is not supported");
    fails(&db, "INSERT INTO e VALUES (1)", "writing to the external table \"e\" is not supported");
    db.run("CREATE TABLE n (a int NOT NULL, b int) AS SELECT 1, 2");
    assert_eq!(db.rows("DESCRIBE n"), ["a|INTEGER|NO|NULL|NULL", "b|INTEGER|YES|NULL|NULL"]);
    assert!(matches!(db.error("INSERT INTO n SELECT NULL, 1 FROM n"), EngineError::NotNull { .. }));
}

#[test]
fn a_table_may_be_ordered_by_columns_up_and_down() {
    let db = Db::new();
    let definition =
        |name: &str| db.rows(&format!("SELECT definition FROM information_schema.views WHERE table_name = '{name}'")).remove(0);
    for (name, sql, order) in [
        ("a", "CREATE TABLE a (x int, y int) ORDER BY (x DESC, y)", "ORDER BY (x DESC, y)"),
        ("b", "CREATE TABLE b (x int, y int) CLUSTER BY (y)", "ORDER BY (y)"),
        (
            "c",
            "CREATE TABLE c ORDER BY (x DESC NULLS LAST) AS SELECT value AS x, 1 AS y FROM generate_series(1, 3) AS g(value)",
            "ORDER BY (x DESC NULLS LAST)",
        ),
        ("d", "CREATE TABLE d (x int, \"order\" int) ORDER BY x, \"order\" desc", "ORDER BY (x, \"order\" DESC)"),
    ] {
        db.run(sql);
        assert!(definition(name).ends_with(order), "{}", definition(name));
    }
    assert_eq!(db.rows("SELECT x FROM c"), ["3", "2", "1"]);
    fails(&db, "CREATE TABLE e (x int) ORDER BY (x + 1)", "ordered by columns");
    fails(&db, "CREATE TABLE e (x int) ORDER BY (z)", "\"z\"");
    fails(&db, "CREATE TABLE e (x int) ORDER BY (x) CLUSTER BY (x)", "two orders");
}

#[test]
fn show_create_table_can_be_run_again() {
    let db = Db::new();
    let columns = "a INTEGER NOT NULL, b BIGINT UNSIGNED, c DECIMAL(10,2), d TIMESTAMP, e TIMESTAMP(6), f TIMESTAMP WITH TIME ZONE, g DATE, h VARCHAR[], \
                   i STRUCT<x INTEGER, y VARCHAR>, j BYTEA, k DOUBLE, l REAL, m TIME, n INTERVAL, o BOOLEAN, p SMALLINT[2], \"Q q\" TINYINT, \"select\" VARCHAR";
    db.run(&format!("CREATE TABLE t ({columns}) ORDER BY (a DESC)"));
    let definition = db.rows("SHOW CREATE TABLE t").remove(0);
    let definition = &definition[definition.find("CREATE TABLE").unwrap()..];
    let described = db.rows("DESCRIBE t");
    db.run("DROP TABLE t");
    db.run(definition);
    assert_eq!(db.rows("DESCRIBE t"), described);
    assert!(db.rows("SHOW CREATE TABLE t")[0].ends_with(definition));
    db.run("CREATE VIEW v AS SELECT a FROM t");
    assert!(db.rows("SHOW CREATE TABLE v")[0].contains("CREATE VIEW v AS SELECT a FROM t"));
}

#[test]
fn numbers_with_an_exponent_are_doubles() {
    let db = Db::new();
    assert_eq!(db.rows("SELECT 1e308, -1E-3, 1e3, 2.5e0, 1.5"), ["1e308|-0.001|1000.0|2.5|1.5"]);
    assert_eq!(db.rows("SELECT arrow_typeof(1e3), arrow_typeof(1.5)"), ["Float64|Decimal128(2, 1)"]);
    db.script("CREATE TABLE t AS SELECT 1e3 AS a; CREATE VIEW v AS SELECT a + 1e1 AS b FROM t");
    assert_eq!(db.rows("SELECT b FROM v WHERE b > 1e0"), ["1010.0"]);
    let error = fails(&db, "SELECT  1e999", "1e999 is out of range for DOUBLE");
    assert_eq!(error.position(), Some(8));
}

#[test]
fn settings_have_our_names_everywhere() {
    let db = Db::new();
    assert_eq!(db.rows("SHOW threads"), ["threads|3"]);
    db.run("SET threads = 1");
    assert_eq!(db.rows("SHOW threads"), ["threads|1"]);
    db.run("RESET threads");
    assert_eq!(db.rows("SHOW threads"), ["threads|3"]);
    db.run("SET threads TO 2");
    db.run("SET threads = DEFAULT");
    assert_eq!(db.rows("SHOW threads"), ["threads|3"]);
    for sql in ["SHOW thread", "RESET thread", "SET thread = 1"] {
        assert_eq!(fails(&db, sql, "there is no setting \"thread\"").hint(), Some("did you mean \"threads\"?"), "{sql}");
    }
    db.run("SET quiver.durability = 'async'");
    assert_eq!(db.rows("SHOW quiver.durability"), ["quiver.durability|async"]);
    let all = db.rows("SHOW ALL");
    for setting in
        ["threads|3", "quiver.durability|async", "quiver.zone_pruning|true", "datafusion.execution.parquet.pushdown_filters|false"]
    {
        assert!(all.iter().any(|row| row == setting), "{setting} is not in {all:?}");
    }
}

#[test]
fn messages_are_one_clear_sentence() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b varchar)");
    let error = fails(&db, "SELECT a, cont(*) FROM t GROUP BY a", "there is no function \"cont\"");
    assert_eq!((error.position(), error.hint()), (Some(10), Some("did you mean \"count\"?")));
    assert_eq!(db.error("SELECT cast('x' AS int)").to_string(), "Cannot cast string 'x' to value of INTEGER type");
    for sql in [
        "CREATE TABLE x (a hugeint)",
        "SELECT * FROM t PIVOT (sum(a) FOR b IN ('x'))",
        "SET NAMES 'utf8'",
        "SELECT * FROM t ASOF JOIN t AS u MATCH_CONDITION (t.a >= u.a) ON t.b = u.b",
        "SELECT cast(1 AS nonsense)",
        "SELECT a FROM t LIMIT 1 BY b",
        "SELECT TOP 3 a FROM t",
        "LOCK TABLE t",
        "SELECT a[1:2:3:4] FROM t",
        "SELECT (a",
        "SELECT 'x",
        "SELECT a +",
        "SELECT a FROM t WHERE a = ANY (SELECT 1",
        "ALTER TABLE t OWNER TO me",
        "MERGE INTO t USING t AS s ON true WHEN MATCHED THEN SELECT",
        "SELECT a FROM t GROUP BY b",
    ] {
        let text = db.error(sql).to_string();
        let dumps = [" {", "Some(", "\")", "Diagnostic", "sqltorel", "Int32", "Utf8", "\n", "Unsupported", "not supported is not"];
        assert!(dumps.iter().all(|dump| !text.contains(dump)) && text.len() < 200, "{sql}: {text}");
    }
}

#[test]
fn a_join_that_finds_nothing_stops_when_it_is_dropped() {
    let db = Db::new();
    let sql = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b WHERE a.value + b.value = 0";
    let began = wait(async {
        let mut output = db.session.execute(sql).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(500), output.next()).await.is_err(), "it cannot be done yet");
        let began = Instant::now();
        drop(output);
        began
    });
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    // Its workers are free again.
    assert_eq!(db.value("SELECT count(*) FROM generate_series(1, 10)"), "10");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn long_statements_over_a_table_do_not_end_the_process() {
    in_a_process_of_its_own("semantics::long_statements_over_a_table_do_not_end_the_process", || {
        let db = Db::new();
        db.load("t", &[], &numbers(0, 1_000));
        let answered = |sql: &str, answer: &str| match db.try_run(sql) {
            Ok(ran) => assert_eq!(ran.rows(), [answer]),
            Err(error) => assert!(error.to_string().len() < 300 && !matches!(error, EngineError::Internal(_)), "{error}"),
        };
        let columns = |terms: usize| format!("SELECT max({}) FROM t", vec!["k"; terms].join(" + "));
        assert_eq!(db.value(&columns(1_000)), "9000");
        answered(&columns(5_000), "45000");
        answered(&format!("SELECT count({}) FROM t", vec!["(id <> 7)"; 5_000].join(" AND ")), "1000");
        let unions = |queries: usize| format!("SELECT count(*) FROM ({}) AS u", vec!["SELECT 1 AS a"; queries].join(" UNION ALL "));
        assert_eq!(db.value(&unions(1_900)), "1900");
        answered(&unions(5_000), "5000");
        let negative = vec!["(-1)"; 30_000].join(", ");
        assert_eq!(db.value(&format!("SELECT sum(v) FROM (VALUES {negative}) AS x(v)")), "-30000");
        answered(&format!("SELECT count(*) FROM t WHERE {}id = 3{}", "(".repeat(10_000), ")".repeat(10_000)), "1");
    });
}

#[test]
fn a_field_that_may_not_be_null_may_be_missing_with_its_struct() {
    let db = Db::new();
    let place = |rows: Vec<Option<i32>>, structs: Vec<bool>, is_nullable| {
        let fields = Fields::from(vec![Field::new("x", DataType::Int32, is_nullable)]);
        let rows: ArrayRef = Arc::new(Int32Array::from(rows));
        nullable([("place", Arc::new(StructArray::new(fields, vec![rows], Some(structs.into()))) as ArrayRef)])
    };
    db.load("t", &[], &place(vec![Some(1), None, Some(3)], vec![true, false, true], false));
    db.load("t", &[], &place(vec![Some(4), None], vec![true, false], true));
    assert_eq!(db.rows("SELECT place['x'] FROM t"), ["1", "NULL", "3", "4", "NULL"]);
    db.load("u", &[], &place(vec![Some(5), None], vec![false, true], true));
    db.error(&format!("COPY t FROM '{}'", db.file("u.load.arrow")));
    db.error("INSERT INTO t SELECT * FROM u");
    assert_eq!(db.value("SELECT count(*) FROM t"), "5");
}

#[test]
fn a_decimal_meets_a_double_of_a_prepared_statement_as_doubles() {
    let db = Db::new();
    db.script("CREATE TABLE t (m decimal(10,2), d double); INSERT INTO t VALUES (1.50, 1.5), (2.00, 1e30)");
    db.run("PREPARE p(double) AS SELECT m FROM t WHERE m = $1 OR m IN ($1, 7.5) OR d IN (SELECT m FROM t WHERE m < $1)");
    assert_eq!(db.rows("EXECUTE p(1.5)"), ["1.50"]);
    assert_eq!(db.rows("EXECUTE p(1e30)"), ["1.50"]);
    assert_eq!(db.rows("EXECUTE p(1e-20)"), Vec::<String>::new());
}

#[test]
fn what_is_compared_with_is_distinct_from_may_have_a_pattern() {
    let db = Db::new();
    assert_eq!(db.value("SELECT 'ab' LIKE 'a%' IS DISTINCT FROM false AND true"), "true");
    assert_eq!(db.value("SELECT 'ab' NOT LIKE 'a%' IS NOT DISTINCT FROM false OR false"), "true");
    let header = db.run("SELECT 1 IS DISTINCT FROM 2 AND true").batches[0].schema().field(0).name().clone();
    assert_eq!(header, "1 IS DISTINCT FROM 2 AND true");
}

/// The keys of the groups were found by their name, and both were the first one: 50 rows of 10,000 were joined.
#[test]
fn groups_by_columns_of_one_name_are_joined_by_each_of_them() {
    let db = Db::new();
    db.run("SET datafusion.optimizer.hash_join_single_partition_threshold = 0");
    db.run("SET datafusion.optimizer.hash_join_single_partition_threshold_rows = 0");
    for (table, rows) in [("a", 1000), ("b", 50)] {
        db.run(&format!("CREATE TABLE {table} AS SELECT value AS id, value % 5 AS k FROM generate_series(1, {rows}) AS s (value)"));
    }
    db.run("CREATE TABLE t AS SELECT a.id AS p, b.id AS q FROM a JOIN b ON a.k = b.k");
    let groups = "(SELECT a.id, b.id, count(*) FROM a JOIN b ON a.k = b.k GROUP BY a.id, b.id) AS g (x, y, n)";
    for condition in ["t.q = g.y AND t.p = g.x", "t.p = g.x AND t.q = g.y"] {
        assert_eq!(db.rows(&format!("SELECT count(*), sum(n) FROM t JOIN {groups} ON {condition}")), ["10000|10000"]);
    }
}

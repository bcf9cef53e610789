//! DEFAULT: in CREATE TABLE, in INSERT, in files that lack a column.

use engine::EngineError;

use super::helpers::Db;

fn table() -> Db {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b int DEFAULT 5, c varchar DEFAULT 'it''s', d decimal(9,2) NOT NULL DEFAULT 1.5)");
    db
}

#[test]
fn columns_that_an_insert_leaves_out_have_their_default() {
    let db = table();
    db.run("INSERT INTO t (a) VALUES (1)");
    db.run("INSERT INTO t (c, a) SELECT 'x', 2");
    db.run("INSERT INTO t (a, b, c, d) VALUES (3, NULL, NULL, 0)");
    db.run("INSERT INTO t (a) SELECT a + 10 FROM t");
    assert_eq!(
        db.rows("SELECT * FROM t ORDER BY a"),
        ["1|5|it's|1.50", "2|5|x|1.50", "3|NULL|NULL|0.00", "11|5|it's|1.50", "12|5|it's|1.50", "13|5|it's|1.50"]
    );
    let db = db.reopened();
    db.run("INSERT INTO t (a) VALUES (100)");
    assert_eq!(db.rows("SELECT * FROM t WHERE a = 100"), ["100|5|it's|1.50"]);
    let shown =
        db.rows("SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position");
    assert_eq!(shown, ["a|NULL", "b|5", "c|'it''s'", "d|1.5"]);
}

#[test]
fn the_word_default_stands_for_it() {
    let db = table();
    db.run("INSERT INTO t VALUES (1, DEFAULT, 'x', 2), (DEFAULT, 7, default, DEFAULT)");
    db.run("INSERT INTO t (d, b) VALUES (DEFAULT, DEFAULT)");
    db.run("INSERT INTO t DEFAULT VALUES");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|5|x|2.00", "NULL|5|it's|1.50", "NULL|5|it's|1.50", "NULL|7|it's|1.50"]);
    db.run("PREPARE p(int) AS INSERT INTO t VALUES ($1, DEFAULT, DEFAULT, DEFAULT)");
    db.run("EXECUTE p(9)");
    assert_eq!(db.rows("SELECT * FROM t WHERE a = 9"), ["9|5|it's|1.50"]);
    assert!(db.run("EXPLAIN INSERT INTO t VALUES (1, DEFAULT, DEFAULT, DEFAULT)").text().contains("it's"));
    db.error("SELECT DEFAULT FROM t");
    db.error("INSERT INTO t VALUES (DEFAULT + 1, 1, 'x', 1)");
}

#[test]
fn without_a_default_it_is_null() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b int NOT NULL, c int DEFAULT NULL)");
    db.run("INSERT INTO t VALUES (DEFAULT, 1, DEFAULT)");
    db.error("INSERT INTO t DEFAULT VALUES");
    assert!(matches!(db.error("INSERT INTO t (a) SELECT 1"), EngineError::NotNull { .. }));
    assert_eq!(db.rows("SELECT * FROM t"), ["NULL|1|NULL"]);
}

#[test]
fn a_default_is_evaluated_by_each_statement() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, at timestamp DEFAULT now(), r double DEFAULT random(), day date DEFAULT date '2024-01-01' + interval '1 day')");
    db.run("INSERT INTO t (a) SELECT value FROM generate_series(1, 100) AS g(value)");
    std::thread::sleep(std::time::Duration::from_millis(5));
    db.run("INSERT INTO t (a) VALUES (101)");
    assert_eq!(db.rows("SELECT count(DISTINCT at), count(DISTINCT r) > 90, min(day), max(day) FROM t"), ["2|true|2024-01-02|2024-01-02"]);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE at BETWEEN now() - interval '1 minute' AND now()"), "101");
}

#[test]
fn a_default_must_be_a_value_of_its_column() {
    let db = Db::new();
    for (default, word) in [
        ("'many'", "cast"),
        ("b", "does not exist"),
        ("(SELECT 1)", "subquery"),
        ("sum(1)", "aggregate"),
        ("99999999999", ""),
        ("nothing()", "function"),
        ("$1", ""),
        ("1 / 0", "zero"),
    ] {
        let error = db.error(&format!("CREATE TABLE t (a int DEFAULT {default}, b int)"));
        assert!(error.to_string().to_lowercase().contains(word), "{default}: {error}");
        assert!(!matches!(error, EngineError::Internal(_)), "{default}: {error}");
    }
    assert!(db.session.table_names().is_empty());
}

#[test]
fn a_default_that_breaks_a_constraint_fails_when_it_is_used() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int DEFAULT -1 CHECK (a > 0), b int UNIQUE DEFAULT 7)");
    assert!(matches!(db.error("INSERT INTO t (b) VALUES (1)"), EngineError::Constraint { .. }));
    db.run("INSERT INTO t (a) VALUES (1)");
    db.error("INSERT INTO t (a) VALUES (2)");
    assert_eq!(db.rows("SELECT * FROM t"), ["1|7"]);
}

#[test]
fn a_file_that_lacks_a_column_gives_it_its_default() {
    let db = table();
    let file = db.file("rows.csv");
    std::fs::write(&file, "c,a\nx,1\ny,2\n").unwrap();
    db.run(&format!("COPY t FROM '{file}'"));
    std::fs::write(&file, "a,b\n3,\n").unwrap();
    db.run(&format!("COPY t FROM '{file}'"));
    let json = db.file("rows.json");
    std::fs::write(&json, "{\"a\": 4, \"d\": 9}\n").unwrap();
    db.run(&format!("COPY t FROM '{json}'"));
    let headless = db.file("headless.csv");
    std::fs::write(&headless, "5,6,z,7.5\n").unwrap();
    db.run(&format!("COPY t FROM '{headless}' (HEADER false)"));
    assert_eq!(db.rows("SELECT * FROM t ORDER BY a"), ["1|5|x|1.50", "2|5|y|1.50", "3|NULL|it's|1.50", "4|5|it's|9.00", "5|6|z|7.50"]);
    std::fs::write(&file, "a,nonsense\n3,1\n").unwrap();
    db.error(&format!("COPY t FROM '{file}'"));
}

#[test]
fn an_ordered_table_orders_defaults_too() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b int DEFAULT 3) ORDER BY (b, a)");
    db.run("INSERT INTO t VALUES (9, 4), (1, DEFAULT), (2, 1)");
    db.run("INSERT INTO t (a) VALUES (8), (7)");
    assert_eq!(db.rows("SELECT b, a FROM t ORDER BY b, a"), ["1|2", "3|1", "3|7", "3|8", "4|9"]);
}

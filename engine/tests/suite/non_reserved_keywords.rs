//! Words that begin clauses, and are names in all other places.

use super::helpers::Db;

/// Those that PostgreSQL does not reserve, and some that the parser knows besides.
const WORDS: &str = "\
    abort absent absolute access action add admin after aggregate also alter always analyze asensitive assertion assignment at atomic \
    attach attribute backward before begin breadth by cache call called cascade cascaded catalog chain characteristics checkpoint \
    class close cluster columns comment comments commit committed compression conditional configuration conflict connection \
    constraints content continue conversion copy cost csv cube current cursor cycle data database day deallocate declare defaults \
    deferred definer delete delimiter delimiters depends depth detach dictionary disable discard distribute document domain double \
    drop each empty enable encoding encrypted enforced enum error escape event exclude excluding exclusive execute explain expression \
    extension external family filter finalize first following force format forward function functions generated global granted groups \
    handler header hold hour identity if immediate immutable implicit import include including increment indent index indexes inherit \
    inherits inline input insensitive insert instead invoker isolation keep key keys label language large last lateral leakproof level \
    listen load local location lock locked logged mapping match matched materialized maxvalue merge method minus minute minvalue mode \
    month move name names nested new next nfc nfd nfkc nfkd no normalized nothing notify nowait nulls object objects of off oids old \
    omit operator option options ordinality others over overriding owned owner parallel parameter parser partial partition passing \
    password path period plan plans policy preceding prepare prepared preserve prior privileges procedural procedure procedures \
    program publication quote quotes range read reassign recheck recursive ref referencing refresh reindex relative release rename \
    repeatable replace replica reset respect restart restrict return returns revoke role rollback rollup routine routines rows rule \
    savepoint scalar schema schemas scroll search second security sequence sequences serializable server session set sets share show \
    simple skip snapshot sort source sql stable standalone start statement statistics stdin stdout storage stored strict string strip \
    subscription support sysid system tables tablespace target temp template temporary text ties top transaction transform trigger \
    truncate trusted type types uescape unbounded uncommitted unconditional unencrypted unknown unlisten unlogged until update vacuum \
    valid validate validator value values varying version view views virtual volatile whitespace within without work wrapper write xml \
    year yes zone";

#[test]
fn every_word_that_is_not_reserved_is_the_name_of_a_column() {
    let db = Db::new();
    for word in WORDS.split_whitespace() {
        db.run(&format!("CREATE OR REPLACE TABLE k ({word} INT, last_one VARCHAR(3))"));
        db.run(&format!("INSERT INTO k ({word}) VALUES (7)"));
        db.run(&format!("CREATE OR REPLACE TABLE k2 (a INT, {word} INT)"));
        for (sql, expected) in [
            (format!("SELECT {word} FROM k"), "7"),
            (format!("SELECT 1, {word} FROM k"), "1|7"),
            (format!("SELECT 1 AS a, {word}, 2 FROM k"), "1|7|2"),
            (format!("SELECT k.{word} FROM k"), "7"),
            (format!("SELECT 1 AS {word}"), "1"),
            (format!("SELECT {word} + 1, {word} AS b FROM k WHERE {word} > 0 GROUP BY {word} ORDER BY {word}"), "8|7"),
            (format!("SELECT count(*) FROM k GROUP BY last_one, {word}"), "1"),
            (format!("SELECT abs({word}), greatest(1, {word}) FROM k"), "7|7"),
            (format!("SELECT {word}.{word} FROM k AS {word}"), "7"),
        ] {
            assert_eq!(db.rows(&sql), [expected], "{sql}");
        }
        db.run(&format!("UPDATE k SET {word} = 2 WHERE {word} = 7"));
    }
}

#[test]
fn words_of_clauses_may_be_names_of_results_without_as() {
    let db = Db::new();
    for word in ["cluster", "distribute", "sort", "view", "explain", "exclude", "top", "match", "operator"] {
        assert_eq!(db.rows(&format!("SELECT {word} FROM (SELECT 1 {word})")), ["1"]);
        assert_eq!(db.rows(&format!("SELECT {word}, b FROM (SELECT a {word}, 2 AS b FROM (SELECT 1 AS a))")), ["1|2"]);
    }
}

#[test]
fn lateral_is_a_name_before_a_word_of_sql_in_parentheses() {
    let db = Db::new();
    db.run("CREATE TABLE a (x INT)");
    db.run("INSERT INTO a VALUES (1)");
    db.run("CREATE TABLE lateral (y INT)");
    db.run("INSERT INTO lateral VALUES (2)");
    for (sql, expected) in [
        ("SELECT 1, lateral FROM (SELECT 5 AS lateral)", "1|5"),
        ("SELECT 1, lateral IN (1, 5) FROM (SELECT 5 AS lateral)", "1|true"),
        ("SELECT x, y FROM a, lateral WHERE (y = 2)", "1|2"),
        ("SELECT x, y FROM a, lateral JOIN (SELECT 1) AS q ON true", "1|2"),
        ("SELECT v FROM a, LATERAL range(3, 4) AS g (v)", "3"),
    ] {
        assert_eq!(db.rows(sql), [expected], "{sql}");
    }
}

#[test]
fn an_alias_follows_any_value_and_stands_before_any_clause() {
    let db = Db::new();
    db.run("CREATE TABLE t (a INT)");
    db.run("INSERT INTO t VALUES (1)");
    for (sql, expected) in [
        ("SELECT CASE WHEN a = 1 THEN 2 END view FROM t", "2"),
        ("SELECT true top, NULL cluster", "true|NULL"),
        ("SELECT sort.a FROM t sort ORDER BY a", "1"),
        ("SELECT sort.a FROM t sort JOIN t cluster ON sort.a = cluster.a WHERE sort.a = 1", "1"),
    ] {
        assert_eq!(db.rows(sql), [expected], "{sql}");
    }
}

#[test]
fn clauses_that_begin_with_such_words_stay_clauses() {
    let db = Db::new();
    db.run("CREATE TABLE t (a INT, b INT)");
    db.run("INSERT INTO t VALUES (1, 1), (1, 2), (2, 1)");
    for (sql, expected) in [
        ("SELECT t.a, s.v FROM t, LATERAL (SELECT 3 AS v) AS s WHERE t.b = 2", &["1|3"] as &[&str]),
        ("SELECT count(*) FROM t GROUP BY CUBE (a) ORDER BY 1", &["1", "2", "3"]),
        ("SELECT count(*) FROM t GROUP BY ROLLUP (a) ORDER BY 1", &["1", "2", "3"]),
        ("SELECT * EXCLUDE (a) FROM t WHERE a = 2", &["1"]),
        ("SELECT * FROM (VALUES (1, 2), (3, 4)) AS v(x, y) WHERE x = 3", &["3|4"]),
        ("SELECT a, FROM t WHERE b = 2", &["1"]),
    ] {
        assert_eq!(db.rows(sql), expected, "{sql}");
    }
    for sql in ["EXPLAIN SELECT a FROM t", "EXPLAIN ANALYZE SELECT a, b FROM t"] {
        assert!(db.rows(sql).join("\n").contains("StoreScan"), "{sql}");
    }
    for sql in ["SELECT a FROM t MINUS SELECT 2", "SELECT 1, MINUS SELECT 2"] {
        assert_eq!(db.error(sql).to_string(), "MINUS is not supported", "{sql}");
    }
    for index in ["INDEX i (a)", "KEY (a)", "INDEX i (a DESC)", "INDEX i USING BTREE (a)", "FULLTEXT KEY k (a)", "KEY k (a(10))"] {
        let sql = &format!("CREATE TABLE i (a INT, {index})");
        assert_eq!(db.error(sql).to_string(), "INDEX is not supported", "{sql}");
    }
}

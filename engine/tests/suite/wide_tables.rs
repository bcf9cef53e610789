//! Tables of many columns, which are planned with those that a statement may mean. The oracle is a table of the same rows that has few
//! columns, which is always planned whole.

use super::helpers::Db;

const COLUMNS: usize = 400;
/// Columns that both tables have.
const SHARED: [&str; 8] = ["id", "c3", "\"Odd Name\"", "word", "price", "\"größe\"", "point", "items"];

/// `wide` with many columns and `slim` with the shared ones, both in two segments and a log, with deleted rows.
fn db() -> Db {
    let db = Db::new();
    let others = (0..COLUMNS).map(|column| format!("v + {column} AS c{column}_")).collect::<Vec<_>>();
    let (before, after) = others.split_at(COLUMNS / 2);
    let create = format!(
        "CREATE TABLE wide AS SELECT {}, v AS id, v % 7 AS c3, v * 2 AS \"Odd Name\", 'w' || (v % 5) AS word, \
         CAST(v AS DECIMAL(10, 2)) / 4 AS price, nullif(v % 3, 1) AS \"größe\", named_struct('x', v, 'y', v % 2) AS point, \
         [v, v + 1] AS items, {} FROM generate_series(0, 9999) AS s (v)",
        before.join(", "),
        after.join(", ")
    );
    db.run(&create);
    db.run(&format!("CREATE TABLE slim AS SELECT {} FROM wide", SHARED.join(", ")));
    for table in ["wide", "slim"] {
        db.run(&format!("DELETE FROM {table} WHERE id % 1000 = 3"));
        db.run(&format!("INSERT INTO {table} (id, c3, word) VALUES (20000, NULL, 'late'), (20001, 3, NULL)"));
    }
    db.script(
        "CREATE TABLE words (word VARCHAR, c3 BIGINT, rank INT); INSERT INTO words VALUES ('w1', 1, 10), ('w2', 2, 20), ('late', NULL, 30)",
    );
    db
}

/// Queries on `{t}`, which is one table or the other.
const QUERIES: &[&str] = &[
    "SELECT sum(c3), avg(price), count(word) FROM {t}",
    "SELECT count(*) FROM {t}",
    "SELECT count(*) FROM {t} WHERE \"größe\" IS NULL",
    "SELECT 1 FROM {t} WHERE id = 5",
    "SELECT ID, C3 FROM {t} WHERE Id BETWEEN 10 AND 20 ORDER BY id DESC",
    "SELECT \"Odd Name\" AS c7_ FROM {t} ORDER BY c7_ NULLS LAST LIMIT 5",
    "SELECT w.c3, count(*) FROM {t} AS w GROUP BY w.c3 HAVING count(*) > 10 ORDER BY 1",
    "SELECT word, sum(price) FROM {t} GROUP BY ALL ORDER BY word NULLS LAST",
    "SELECT main.{t}.id FROM main.{t} WHERE main.{t}.id < 3 ORDER BY 1",
    "SELECT point.x, {t}.point['y'], items[2] FROM {t} WHERE id < 4 ORDER BY 1",
    "SELECT rank, count(*) FROM {t} JOIN words USING (word) GROUP BY rank ORDER BY rank",
    "SELECT rank, count(*) FROM {t} t JOIN words w ON t.word = w.word AND t.c3 = w.c3 GROUP BY rank ORDER BY rank",
    "SELECT count(*) FROM {t} a LEFT JOIN {t} b ON a.id = b.c3 WHERE b.id IS NULL",
    "SELECT count(*) FROM {t} WHERE c3 = (SELECT max(c3) FROM words)",
    "SELECT w.rank FROM words w WHERE EXISTS (SELECT 1 FROM {t} WHERE {t}.word = w.word AND rank > 10) ORDER BY 1",
    "SELECT w.rank, (SELECT count(*) FROM {t} WHERE c3 = w.c3) FROM words w ORDER BY 1",
    "SELECT id FROM {t} WHERE word NOT IN (SELECT word FROM words) ORDER BY id LIMIT 3",
    "SELECT u.i FROM (SELECT unnest(items) AS i FROM {t} WHERE id = 7) u ORDER BY 1",
    "SELECT id, sum(price) OVER (PARTITION BY c3 ORDER BY id) FROM {t} WHERE id < 20 ORDER BY id",
    "SELECT id FROM {t} QUALIFY row_number() OVER (PARTITION BY word ORDER BY id) = 1 ORDER BY id",
    "WITH few AS (SELECT id, c3 AS k FROM {t} WHERE id < 5) SELECT k FROM few ORDER BY id",
    "SELECT id FROM {t} WHERE c3 = 1 UNION SELECT c3 FROM words ORDER BY 1 NULLS FIRST LIMIT 4",
    "SELECT id FROM {t} WHERE id < 50 EXCEPT SELECT \"Odd Name\" FROM {t} ORDER BY 1 LIMIT 4",
    "SELECT a, a FROM (SELECT id AS a FROM {t} WHERE id < 2) ORDER BY 1",
    "SELECT id, id, c3 + 1, c3 + 1 FROM {t} WHERE id = 2",
    "SELECT few.id FROM (SELECT id FROM {t} ORDER BY id LIMIT 3 OFFSET 1) AS few ORDER BY 1",
];

#[test]
fn a_query_gives_the_same_rows_of_a_table_with_many_columns_and_of_one_with_few() {
    let db = db();
    for query in QUERIES {
        let of = |table: &str| db.rows(&query.replace("{t}", table));
        let expected = of("slim");
        assert!(!expected.is_empty(), "{query}");
        assert_eq!(of("wide"), expected, "{query}");
    }
}

#[test]
fn all_columns_are_there_for_what_means_them_without_their_names() {
    let db = db();
    let row = db.value("SELECT * FROM wide WHERE id = 0");
    assert_eq!(row.split('|').count(), COLUMNS + SHARED.len());
    assert!(row.starts_with("0|1|2|3|"), "{row}");
    assert_eq!(db.value("SELECT w.* FROM wide w WHERE w.id = 0"), row);
    assert_eq!(db.value("SELECT c399_ FROM (SELECT * FROM wide) WHERE id = 0"), "399");
    assert!(db.error("SELECT first FROM wide AS w (first, second)").to_string().contains("which has 408"));
    assert_eq!(db.value("SELECT count(*) FROM wide NATURAL JOIN words"), db.value("SELECT count(*) FROM slim NATURAL JOIN words"));
    assert_eq!(db.value("SELECT count(*) FROM information_schema.columns WHERE table_name = 'wide'"), (COLUMNS + SHARED.len()).to_string());
    assert_eq!(db.rows("DESCRIBE wide").len(), COLUMNS + SHARED.len());
}

#[test]
fn views_prepared_statements_and_older_versions_have_their_columns() {
    let db = db();
    db.script(
        "CREATE VIEW two AS SELECT c3 AS k, price FROM wide; CREATE VIEW every AS SELECT * FROM wide;
         PREPARE of_id AS SELECT word FROM wide WHERE id = $1",
    );
    assert_eq!(db.rows("SELECT sum(k) FROM two"), db.rows("SELECT sum(c3) FROM slim"));
    assert_eq!(db.rows("SELECT c399_, word FROM every WHERE id = 1"), ["400|w1"]);
    assert_eq!(db.rows("EXECUTE of_id(9)"), ["w4"]);
    db.run("CREATE TABLE kept AS SELECT id, c5_ FROM wide WHERE id < 2");
    assert_eq!(db.sorted_rows("SELECT * FROM kept"), ["0|5", "1|6"]);
    let before = db.engine.store().snapshot().unwrap().version();
    db.run("UPDATE wide SET c3 = c3 + 100, word = 'new' WHERE id = 1");
    assert_eq!(db.rows("SELECT c3, word, c399_ FROM wide WHERE id = 1"), ["101|new|400"]);
    assert_eq!(db.rows(&format!("SELECT c3, word FROM wide FOR VERSION AS OF {before} WHERE id = 1")), ["1|w1"]);
    db.run("MERGE INTO slim USING wide ON slim.id = wide.id AND wide.id = 2 WHEN MATCHED THEN UPDATE SET word = wide.word || wide.c7_");
    assert_eq!(db.rows("SELECT word FROM slim WHERE id = 2"), ["w29"]);
    db.run("INSERT INTO slim (id, c3) SELECT id + 100000, c398_ FROM wide WHERE id = 4");
    assert_eq!(db.rows("SELECT id, c3 FROM slim WHERE id > 50000"), ["100004|402"]);
}

#[test]
fn an_error_knows_the_columns_that_the_statement_does_not_name() {
    let db = db();
    for (sql, hint) in [
        ("SELECT prize FROM wide", "did you mean \"price\"?"),
        ("SELECT id FROM wide WHERE pricee > 1", "did you mean \"price\"?"),
        ("SELECT w.pricee FROM wide w JOIN words ON w.id = rank", "did you mean \"price\"?"),
        ("SELECT id FROM (SELECT id, pric FROM wide)", "did you mean \"price\"?"),
    ] {
        let error = db.error(sql);
        assert!(error.to_string().contains("does not exist"), "{sql}: {error}");
        assert_eq!(error.hint(), Some(hint), "{sql}");
        let place = error.position().unwrap_or_else(|| panic!("{sql}: {error}"));
        assert!(place > 0, "{sql}");
    }
    let ambiguous = |table: &str| db.error(&format!("SELECT c3 FROM {table} JOIN words ON true")).to_string();
    assert_eq!(ambiguous("wide"), ambiguous("slim").replace("slim", "wide"));
    for sql in ["SELECT 1 FROM wide x, slim x", "SELECT 1 FROM wide, (SELECT 2 AS c3)"] {
        db.error(sql);
    }
}

/// `slim` is always planned whole.
#[test]
fn a_name_that_is_ambiguous_among_all_columns_is_so_among_few() {
    let db = db();
    for table in ["wide", "slim"] {
        db.run(&format!("ALTER TABLE {table} ADD COLUMN column1 BIGINT"));
    }
    let outcome = |sql: &str, table: &str| match super::helpers::wait(super::helpers::run(&db.session, &sql.replace("{t}", table))) {
        Ok(_) => "rows".to_string(),
        Err(error) => error.to_string().replace("slim", "wide"),
    };
    for (sql, is_refused) in [
        ("SELECT id, column1 FROM {t}, (VALUES (1))", true),
        ("SELECT id, column1 FROM {t}, (VALUES (1)) AS v", true),
        ("SELECT id FROM {t}, (VALUES (1))", true),
        ("SELECT id FROM {t} JOIN (VALUES (1)) ON true", true),
        ("SELECT id FROM (({t} CROSS JOIN (VALUES (1))))", true),
        ("SELECT id FROM {t}, (SELECT 2 AS word)", true),
        ("SELECT id FROM {t}, (VALUES (1)) AS v", false),
        ("SELECT id, v.column1 FROM {t}, (VALUES (1)) AS v", false),
        ("SELECT column1 FROM {t}", false),
        ("SELECT {t}.column1, other FROM {t}, (VALUES (1)) AS v (other)", false),
    ] {
        let expected = outcome(sql, "slim");
        assert_eq!(expected != "rows", is_refused, "{sql}: {expected}");
        assert_eq!(outcome(sql, "wide"), expected, "{sql}");
    }
}

/// Each view is planned within the one around it, and none of them tries by itself again.
#[test]
fn a_mistake_below_many_views_is_found_soon() {
    let db = db();
    db.run("CREATE VIEW v0 AS SELECT id, c3 FROM wide");
    for view in 1..25 {
        db.run(&format!("CREATE VIEW v{view} AS SELECT v{0}.id, wide.c3 FROM v{0} JOIN wide ON wide.id = v{0}.id", view - 1));
    }
    db.run("CREATE OR REPLACE VIEW v0 AS SELECT id AS other, c3 FROM wide");
    assert!(db.error("SELECT id FROM v24").to_string().contains("cannot be used any more"));
}

#[test]
fn who_may_not_read_a_table_is_told_so_however_few_columns_are_named() {
    let db = db();
    db.script("CREATE USER ann PASSWORD 'correct horse battery'; GRANT INSERT ON wide TO ann");
    let ann = db.engine.session_as(&db.engine.identity("ann").unwrap()).unwrap();
    let error = super::helpers::wait(super::helpers::run(&ann, "SELECT sum(c3) FROM wide")).unwrap_err();
    assert!(error.to_string().contains("SELECT"), "{error}");
}

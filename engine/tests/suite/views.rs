//! Views: names for queries, planned anew whenever they are used.

use super::helpers::{Db, numbers};

fn with_views() -> Db {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 20_000));
    db.run("CREATE VIEW v AS SELECT id, k FROM t WHERE id < 100");
    db
}

#[test]
fn a_view_is_read_like_a_table() {
    let db = with_views();
    assert_eq!(db.rows("SELECT count(*), max(k) FROM v"), ["100|9"]);
    assert_eq!(db.rows("SELECT v.id FROM v JOIN t ON v.id = t.id WHERE t.k = 3 AND v.id < 20 ORDER BY 1"), ["3", "13"]);
    let db = db.reopened();
    assert_eq!(db.value("SELECT count(*) FROM v"), "100");
}

#[test]
fn a_filter_on_a_view_prunes_the_table() {
    let db = with_views();
    db.run("CREATE VIEW whole AS SELECT s AS text, id AS number FROM t");
    let report = db.run("SELECT text FROM whole WHERE number = 5").report;
    assert_eq!((report.rows_returned, report.zones_pruned), (1, 2));
}

#[test]
fn a_view_may_name_its_columns() {
    let db = with_views();
    db.run("CREATE VIEW named (x, \"Y y\") AS SELECT id, k FROM t WHERE id < 3");
    assert_eq!(db.rows("SELECT \"Y y\", x FROM named WHERE x > 0 ORDER BY x"), ["1|1", "2|2"]);
    assert_eq!(db.rows("DESCRIBE named"), ["x|BIGINT|YES|NULL|NULL", "Y y|BIGINT|YES|NULL|NULL"]);
    for columns in ["(x)", "(x, y, z)"] {
        db.error(&format!("CREATE VIEW wrong {columns} AS SELECT id, k FROM t"));
    }
    assert!(!db.session.table_names().contains(&"wrong".to_owned()));
}

#[test]
fn a_view_is_replaced_only_when_asked() {
    let db = with_views();
    assert_eq!(db.error("CREATE VIEW v AS SELECT 1 AS one").to_string(), "view \"v\" already exists");
    db.run("CREATE OR REPLACE VIEW v AS SELECT 1 AS one");
    assert_eq!(db.rows("SELECT one FROM v"), ["1"]);
    assert_eq!(db.error("CREATE OR REPLACE VIEW t AS SELECT 1 AS one").to_string(), "table \"t\" already exists");
    assert_eq!(db.error("CREATE TABLE v (a int)").to_string(), "view \"v\" already exists");
}

#[test]
fn a_view_may_read_views() {
    let db = with_views();
    db.script("CREATE VIEW w AS SELECT max(id) AS most FROM v; CREATE VIEW x AS SELECT most + 1 AS next FROM w");
    assert_eq!(db.rows("SELECT * FROM x"), ["100"]);
    db.run("CREATE OR REPLACE VIEW v AS SELECT id FROM t WHERE id < 10");
    assert_eq!(db.rows("SELECT * FROM x"), ["10"]);
}

#[test]
fn a_view_sees_rows_that_come_after_it() {
    let db = with_views();
    db.run("INSERT INTO t VALUES (-1, 0, 0, 'new')");
    assert_eq!(db.value("SELECT count(*) FROM v"), "101");
}

#[test]
fn a_view_with_a_star_has_the_columns_the_table_has_now() {
    let db = with_views();
    db.run("CREATE VIEW star AS SELECT * FROM t");
    db.run("CREATE OR REPLACE TABLE t AS SELECT 1 AS other");
    let columns = db.run("SELECT * FROM star").batches[0].schema();
    assert_eq!(columns.field(0).name(), "other");
}

#[test]
fn a_view_whose_table_is_gone_says_so_and_works_again_when_it_is_back() {
    let db = with_views();
    db.run("CREATE VIEW w AS SELECT count(*) AS n FROM v");
    db.run("DROP TABLE t");
    for (sql, view) in [("SELECT * FROM v", "v"), ("SELECT 'é', n FROM w", "w"), ("DESCRIBE v", "v")] {
        let error = db.error(sql);
        let text = error.to_string();
        assert!(text.contains(&format!("view \"{view}\"")) && text.contains("table \"t\" does not exist"), "{sql}: {text}");
        assert!(!text.contains("quiver.main"), "{text}");
        // A place, if any, is one of this statement, not of the view's text.
        assert!(error.position().is_none_or(|at| sql[at..].starts_with(view)), "{sql}: {:?}", error.position());
    }
    db.run("CREATE TABLE t AS SELECT 7 AS id, 8 AS k");
    assert_eq!(db.rows("SELECT * FROM w"), ["1"]);
}

#[test]
fn a_view_that_cannot_be_used_hides_nothing_else() {
    let db = with_views();
    db.script("CREATE TABLE other (a int); DROP TABLE t");
    assert_eq!(db.rows("SHOW TABLES"), ["main|other|BASE TABLE", "main|v|VIEW"]);
    assert_eq!(db.rows("SELECT column_name FROM information_schema.columns WHERE table_name = 'other'"), ["a"]);
    assert_eq!(db.run("SHOW COLUMNS FROM other").row_count(), 1);
    assert_eq!(db.session.table_names(), ["other", "v"]);
    db.run("DROP VIEW v");
}

#[test]
fn a_view_that_cannot_be_planned_is_not_made() {
    let db = with_views();
    for sql in [
        "CREATE VIEW bad AS SELECT nope FROM t",
        "CREATE VIEW bad AS SELECT * FROM nowhere",
        "CREATE VIEW bad AS SELECT FROM",
        "CREATE VIEW bad AS SELECT * FROM bad",
    ] {
        db.error(sql);
    }
    assert_eq!(db.session.table_names(), ["t", "v"]);
}

#[test]
fn a_view_that_comes_to_read_itself_is_an_error_and_not_the_end() {
    let db = with_views();
    db.run("CREATE VIEW w AS SELECT id FROM v");
    if db.try_run("CREATE OR REPLACE VIEW v AS SELECT id FROM w").is_ok() {
        let error = db.error("SELECT * FROM v").to_string();
        assert!(error.contains("itself") && error.len() < 400, "{error}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "20000");
}

#[test]
fn drop_takes_what_it_names_and_nothing_else() {
    let db = with_views();
    let error = db.error("DROP TABLE v");
    assert_eq!((error.to_string().as_str(), error.hint()), ("\"v\" is a view, not a table", Some("use DROP VIEW")));
    let error = db.error("DROP VIEW t");
    assert_eq!((error.to_string().as_str(), error.hint()), ("\"t\" is a table, not a view", Some("use DROP TABLE")));
    db.script("DROP VIEW v; DROP VIEW IF EXISTS v; DROP TABLE IF EXISTS nothing");
    assert_eq!(db.error("DROP VIEW v").to_string(), "view \"v\" does not exist");
    assert_eq!(db.error("DROP TABLE nothing").to_string(), "table \"nothing\" does not exist");
    assert_eq!(db.session.table_names(), ["t"]);
}

#[test]
fn a_view_cannot_be_written_to() {
    let db = with_views();
    let error = db.error("INSERT INTO v VALUES (1, 1)").to_string();
    assert!(error.contains('v') && error.contains("view"), "{error}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "20000");
}

#[test]
fn a_view_keeps_every_clause_of_its_query() {
    let db = with_views();
    db.run(
        "CREATE VIEW rich AS WITH few AS (SELECT id, k, s FROM t WHERE id < 50) \
         SELECT k, count(*) AS n, max(id) FILTER (WHERE id > 5) AS \"Most\", row_number() OVER (ORDER BY k) AS place \
         FROM few WHERE s LIKE '%''%' OR s NOT LIKE '%;%' GROUP BY k HAVING count(*) > 1 ORDER BY k DESC LIMIT 2",
    );
    let direct = db.rows("SELECT * FROM rich");
    assert_eq!(direct, ["9|5|49|10", "8|5|48|9"]);
    assert_eq!(db.reopened().rows("SELECT * FROM rich"), direct);
}

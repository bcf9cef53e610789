//! How the table and its columns can be named.

use super::super::helpers::Db;
use super::count;

fn two_schemas() -> Db {
    let db = Db::new();
    db.script(
        "CREATE SCHEMA other; CREATE TABLE other.t (id int, v int); CREATE TABLE t (id int, v int); \
         INSERT INTO t VALUES (1, 10), (2, 20); INSERT INTO other.t VALUES (1, 100), (3, 300)",
    );
    db
}

#[test]
fn a_schema_before_the_name_is_the_table_of_that_schema() {
    let db = two_schemas();
    assert_eq!(count(&db, "UPDATE other.t SET v = v + 1 WHERE t.id = 1"), 1);
    assert_eq!(count(&db, "UPDATE quiver.other.t SET v = other.t.v + 1 WHERE other.t.id = 1"), 1);
    assert_eq!(count(&db, "UPDATE t SET v = o.v FROM other.t AS o WHERE main.t.id = o.id"), 1);
    assert_eq!(count(&db, "DELETE FROM other.t WHERE id = 3"), 1);
    assert_eq!(count(&db, "MERGE INTO other.t AS o USING t ON o.id = t.id WHEN NOT MATCHED THEN INSERT VALUES (t.id, t.v)"), 1);
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|102", "2|20"]);
    assert_eq!(db.sorted_rows("SELECT * FROM other.t"), ["1|102", "2|20"]);
    assert_eq!(count(&db, "TRUNCATE other.t"), 2);
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn quoted_names_keep_their_case_and_what_is_in_them() {
    let db = Db::new();
    db.script(
        "CREATE TABLE \"A \"\"table\" (\"Id\" int, \"id\" int, \"sum(x)\" int, \"a.b\" int); \
         INSERT INTO \"A \"\"table\" VALUES (1, 10, 100, 1000), (2, 20, 200, 2000)",
    );
    assert_eq!(count(&db, "UPDATE \"A \"\"table\" SET \"Id\" = ID + 1, \"sum(x)\" = \"a.b\" WHERE \"Id\" = 1"), 1);
    assert_eq!(count(&db, "UPDATE \"A \"\"table\" AS \"X\" SET \"X\".\"a.b\" = \"X\".\"Id\" WHERE \"X\".id = 10"), 1);
    assert_eq!(count(&db, "DELETE FROM \"A \"\"table\" WHERE \"A \"\"table\".\"Id\" = 2"), 1);
    assert_eq!(db.rows("SELECT * FROM \"A \"\"table\""), ["11|10|1000|11"]);
    assert!(db.error("UPDATE \"a \"\"table\" SET id = 1").to_string().contains("does not exist"));
}

#[test]
fn an_alias_hides_the_name() {
    let db = two_schemas();
    assert_eq!(count(&db, "UPDATE t AS x SET v = (SELECT max(t.v) FROM t WHERE t.id = x.id + 1) WHERE id = 1"), 1);
    assert_eq!(count(&db, "DELETE FROM t x WHERE x.v = 20 AND EXISTS (SELECT 1 FROM t WHERE t.id = x.id - 1 AND t.v = 20)"), 1);
    assert!(db.error("UPDATE t AS x SET v = t.v").to_string().contains("t.v"));
}

#[test]
fn names_that_are_not_there_are_said_with_what_was_meant() {
    let db = two_schemas();
    let error = db.error("UPDATE t SET vv = 1");
    assert_eq!((error.to_string().as_str(), error.hint()), ("column \"vv\" does not exist", Some("did you mean \"v\"?")));
    let error = db.error("UPDATE t SET v = somethingelse");
    assert_eq!(error.to_string(), "column \"somethingelse\" does not exist");
    assert_eq!((error.position(), error.hint()), (Some(17), Some("columns there are: id, v")));
    let error = db.error("DELETE FROM other.tt WHERE id = 1");
    assert_eq!((error.to_string().as_str(), error.hint()), ("table \"other.tt\" does not exist", Some("did you mean \"t\"?")));
    for sql in ["SELECT * FROM __quiver.statement.target", "DELETE FROM __quiver.statement.target", "SELECT __quiver_row_id FROM t"] {
        assert!(db.error(sql).to_string().contains("does not exist"), "{sql}");
    }
}

#[test]
fn types_of_the_new_values_are_those_of_the_columns() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int, small smallint, d decimal(12,3), wide decimal(30,2), w timestamp with time zone, ms timestamp(3), day date, b bytea, f real)");
    db.run("INSERT INTO t (id) VALUES (1), (2)");
    let update = "UPDATE t SET small = id + 1, d = 7, wide = '1.005', w = '2024-06-01T00:00:00+02:00', ms = '2024-01-01 00:00:00.123456', \
                  day = '2024-02-29', b = 'bytes', f = 0.5 WHERE id = 1";
    assert_eq!(count(&db, update), 1);
    assert_eq!(count(&db, "UPDATE t SET d = d + wide, w = w + INTERVAL '1 hour', small = NULL WHERE id = 1"), 1);
    let shown = "SELECT id, small, d, wide, w, ms, day, b, f FROM t ORDER BY id";
    assert_eq!(
        db.rows(shown),
        [
            "1|NULL|8.010|1.01|2024-05-31T23:00:00Z|2024-01-01T00:00:00.123|2024-02-29|6279746573|0.5",
            "2|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL"
        ]
    );
    for sql in ["UPDATE t SET small = 40000", "UPDATE t SET d = 'much'", "UPDATE t SET day = 'yesterday'", "UPDATE t SET small = w"] {
        let error = db.error(sql).to_string();
        assert!(!error.contains("internal"), "{sql}: {error}");
    }
}

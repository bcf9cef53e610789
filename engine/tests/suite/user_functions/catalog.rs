//! Functions as objects: listed, tagged, dropped, kept in versions and backups.

use crate::helpers::Db;

fn with_functions() -> Db {
    let db = Db::new();
    db.script("CREATE SCHEMA s; CREATE FUNCTION s.area(w DOUBLE, h DOUBLE) RETURNS DOUBLE STRICT RETURN w * h");
    db.run("CREATE FUNCTION top(n BIGINT) RETURNS TABLE (a BIGINT) RETURN SELECT * FROM range(n)");
    db.run("create procedure p(\"A b\" varchar) begin select \"A b\"; end");
    db
}

#[test]
fn functions_are_listed_with_their_definitions() {
    let db = with_functions();
    assert_eq!(
        db.rows("SELECT schema_name, name, kind, parameters, returns, is_strict, language FROM system.functions"),
        [
            "main|p|procedure|\"A b\" VARCHAR|NULL|false|sql",
            "main|top|table|n BIGINT|TABLE (a BIGINT)|false|sql",
            "s|area|scalar|w DOUBLE, h DOUBLE|DOUBLE|true|sql"
        ]
    );
    assert_eq!(
        db.value("SELECT definition FROM system.functions WHERE name = 'top'"),
        "CREATE FUNCTION top(n BIGINT) RETURNS TABLE (a BIGINT) RETURN SELECT * FROM range(n)"
    );
    assert_eq!(db.value("SELECT count(*) FROM system.objects WHERE kind = 'function'"), "3");
    assert_eq!(db.rows("CALL p('x')"), ["x"]);
    let listed = "SELECT routine_name, routine_type, function_type, data_type, syntax_example FROM information_schema.routines";
    assert_eq!(
        db.rows(&format!("{listed} WHERE routine_name IN ('area', 'p', 'top') ORDER BY 1")),
        [
            "area|FUNCTION|SCALAR|DOUBLE|area(w DOUBLE, h DOUBLE)",
            "p|PROCEDURE|PROCEDURE|NULL|p(\"A b\" VARCHAR)",
            "top|FUNCTION|TABLE|TABLE (a BIGINT)|top(n BIGINT)"
        ]
    );
    db.run("CREATE FUNCTION s.area(w BIGINT) RETURNS BIGINT RETURN w * w");
    let both = ["area|BIGINT|area(w BIGINT)|SCALAR|NULL", "area|DOUBLE|area(w DOUBLE, h DOUBLE)|SCALAR|NULL"];
    assert_eq!(db.rows("SHOW FUNCTIONS LIKE 'area'"), both);
    assert_eq!(db.rows("SHOW FUNCTIONS ILIKE 'AREA'"), both);
    assert!(db.rows("SHOW FUNCTIONS").len() > 300);
    assert!(db.error("SHOW FUNCTIONS WHERE true").to_string().contains("SHOW FUNCTIONS"));
}

#[test]
fn a_function_has_tags_comments_and_groups() {
    let db = with_functions();
    db.script("COMMENT ON FUNCTION s.area IS 'of a box'; TAG FUNCTION s.area SET (unit = 'm2'); CREATE GROUP g; ALTER GROUP g ADD FUNCTION s.area");
    assert_eq!(db.rows("SELECT name FROM system.objects WHERE kind = 'function' AND comment = 'of a box'"), ["area"]);
    assert_eq!(db.run("FIND FUNCTIONS WHERE unit = 'm2'").row_count(), 1);
    db.run("CREATE OR REPLACE FUNCTION s.area(w DOUBLE, h DOUBLE) RETURNS DOUBLE RETURN w + h");
    assert_eq!(db.run("FIND FUNCTIONS IN GROUP g WHERE unit = 'm2'").row_count(), 1);
    assert_eq!(db.value("SELECT s.area(1, 2)"), "3.0");
}

#[test]
fn a_function_that_is_used_is_not_dropped() {
    let db = with_functions();
    db.run("CREATE VIEW v AS SELECT s.area(1, 2) AS a");
    assert!(db.error("DROP FUNCTION s.area").to_string().contains("is used by view v"));
    db.run("DROP VIEW v");
    db.run("CREATE FUNCTION double_top(n BIGINT) RETURNS TABLE RETURN SELECT a, s.area(a, 2) AS b FROM top(n)");
    assert!(db.error("DROP FUNCTION s.area").to_string().contains("is used by function double_top"));
    assert!(db.error("DROP FUNCTION top").to_string().contains("is used by function double_top"));
    db.script("DROP FUNCTION double_top; DROP FUNCTION s.area(DOUBLE, DOUBLE); DROP FUNCTION IF EXISTS s.area; DROP FUNCTION top; DROP PROCEDURE p");
    assert_eq!(db.value("SELECT count(*) FROM system.functions"), "0");
}

#[test]
fn one_definition_of_several_is_dropped_by_its_types() {
    let db = Db::new();
    db.script("CREATE FUNCTION f(a BIGINT) RETURNS BIGINT RETURN 1; CREATE FUNCTION f(a VARCHAR) RETURNS BIGINT RETURN 2");
    assert!(db.error("DROP FUNCTION f").to_string().contains("several definitions: f(BIGINT), f(VARCHAR)"));
    db.run("DROP FUNCTION f(VARCHAR)");
    assert_eq!(db.value("SELECT f(5)"), "1");
    db.run("DROP FUNCTION f");
    assert!(db.error("SELECT f(5)").to_string().contains('f'));
}

#[test]
fn a_function_belongs_to_its_transaction() {
    let db = Db::new();
    db.script("BEGIN; CREATE FUNCTION f() RETURNS BIGINT RETURN 1");
    assert_eq!(db.value("SELECT f()"), "1");
    db.run("ROLLBACK");
    db.error("SELECT f()");
}

#[test]
fn a_schema_goes_with_its_functions() {
    let db = with_functions();
    assert!(db.error("DROP SCHEMA s").to_string().contains('s'));
    db.run("DROP SCHEMA s CASCADE");
    assert_eq!(db.value("SELECT count(*) FROM system.functions WHERE schema_name = 's'"), "0");
}

/// The rows of an old version with the function of today would be rows that nobody has ever seen.
#[test]
fn a_read_of_an_old_version_calls_the_functions_of_that_version() {
    let db = Db::new();
    db.script("CREATE TABLE t (a BIGINT); CREATE FUNCTION g(a BIGINT) RETURNS BIGINT RETURN a + 1; CREATE FUNCTION f(a BIGINT) RETURNS BIGINT RETURN g(a) * 10");
    db.run("INSERT INTO t VALUES (1)");
    let version = db.value("SELECT max(version) FROM system.snapshots");
    db.run("CREATE OR REPLACE FUNCTION g(a BIGINT) RETURNS BIGINT RETURN a + 2");
    db.run("INSERT INTO t VALUES (2)");
    assert_eq!(db.rows("SELECT f(a) FROM t ORDER BY a"), ["30", "40"]);
    assert_eq!(db.rows(&format!("SELECT f(a) FROM t FOR VERSION AS OF {version}")), ["20"]);
    assert_eq!(db.rows(&format!("SELECT f(o.a), f(t.a) FROM t FOR VERSION AS OF {version} AS o, t WHERE t.a = 2")), ["30|40"]);
    db.run("DROP FUNCTION f");
    assert_eq!(db.rows(&format!("SELECT f(a) FROM t FOR VERSION AS OF {version}")), ["20"]);
}

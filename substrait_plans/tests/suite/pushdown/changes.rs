//! Tables that change before they are read, and columns with the same name.

use super::{Both, LEVELS, rows};

fn both_with(table: &str, create: &str) -> Both {
    let both = Both::new(&[create]);
    both.run(&format!("CREATE EXTERNAL TABLE {table} STORED AS QUIVER LOCATION 'quiver://other/{table}'"));
    both
}

impl Both {
    fn change(&self, statement: &str) {
        rows(&self.other.session, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

#[test]
fn a_column_that_may_be_null_by_now_has_its_nulls_found() {
    for level in LEVELS {
        let both = both_with("t", "CREATE TABLE t (k BIGINT NOT NULL, v BIGINT)");
        both.change("INSERT INTO t VALUES (1, 10), (2, 20)");
        both.run(&format!("SET pushdown = {level}"));
        assert_eq!(both.run("SELECT count(*) FROM t WHERE k IS NULL"), ["0"], "{level}");
        both.change("ALTER TABLE t ALTER COLUMN k DROP NOT NULL");
        both.change("INSERT INTO t VALUES (NULL, 30)");
        for sql in [
            "SELECT v FROM t WHERE k IS NULL",
            "SELECT count(*), count(k) FROM t",
            "SELECT coalesce(k, 7) AS c FROM t ORDER BY c",
            "SELECT v FROM t WHERE k IS NOT NULL ORDER BY v",
            "SELECT v FROM t WHERE 5 NOT IN (SELECT k FROM t)",
            "SELECT k, v FROM t ORDER BY v",
        ] {
            assert_eq!(both.run(sql), rows(&both.other.session, sql).unwrap(), "{level}: {sql}");
        }
        assert_eq!(both.run("SELECT v FROM t WHERE k IS NULL"), ["30"], "{level}");
    }
}

/// A query fails once after the change, and then returns what the remote engine does.
fn is_an_error_once(table: &str, create: &str, change: &str, sql: &str) {
    for level in LEVELS {
        let both = both_with(table, create);
        both.run(&format!("SET pushdown = {level}"));
        assert_eq!(both.run(sql), rows(&both.other.session, sql).unwrap(), "{level}");
        both.change(&format!("DROP TABLE {table}"));
        both.change(change);
        let error = rows(&both.session, sql).unwrap_err().to_string();
        assert!(error.starts_with("the node quiver://other:31337 s"), "{level}: {error}");
        assert_eq!(both.run(sql), rows(&both.other.session, sql).unwrap(), "{level}");
    }
}

#[test]
fn fields_of_a_struct_that_have_changed_places_are_no_others() {
    is_an_error_once(
        "s",
        "CREATE TABLE s AS SELECT named_struct('a', 1, 'b', 2) AS p",
        "CREATE TABLE s AS SELECT named_struct('b', 20, 'a', 10) AS p",
        "SELECT p['a'] FROM s",
    );
}

#[test]
fn a_column_that_was_made_wider_is_another_one() {
    is_an_error_once(
        "w",
        "CREATE TABLE w AS SELECT CAST(7 AS INT) AS n",
        "CREATE TABLE w AS SELECT CAST(8 AS BIGINT) AS n",
        "SELECT n FROM w",
    );
}

#[test]
fn columns_may_be_called_as_others_are_when_they_are_told_apart() {
    let both = Both::new(&["CREATE TABLE a AS SELECT 7 AS x", "CREATE TABLE b AS SELECT 7 AS x", "CREATE TABLE c AS SELECT 7 AS \"x #1\""]);
    for table in ["a", "b", "c"] {
        both.run(&format!("CREATE EXTERNAL TABLE {table} STORED AS QUIVER LOCATION 'quiver://other/{table}'"));
    }
    // The sum is computed locally, and all columns are transferred.
    let sql = "SELECT a.x + b.x + c.\"x #1\" + CAST(floor(random()) AS INT) FROM a JOIN b ON a.x = b.x JOIN c ON c.\"x #1\" = b.x";
    assert_eq!(both.run(sql), ["21"]);
}

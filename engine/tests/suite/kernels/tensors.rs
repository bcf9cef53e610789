//! Columns of tensors and of lists of fixed size: how they are declared, given and shown, and what a list has to be like.

use engine::{EngineError, column_type_name};

use crate::helpers::{Db, wait};

/// The types of a result's columns, as the stream and every batch say them.
pub fn types(db: &Db, sql: &str) -> Vec<String> {
    let names = |schema: &engine::SchemaRef| schema.fields().iter().map(|field| column_type_name(field)).collect::<Vec<_>>();
    let output = wait(db.session.execute(sql)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let types = names(&output.schema());
    let (batches, _) = wait(output.collect()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    for batch in &batches {
        assert_eq!(names(&batch.schema()), types, "{sql}");
    }
    types
}

pub const BLOCK: &str = "TENSOR(DOUBLE, 2, 2)";

/// Table `a` (i, j, block) with three blocks of 2×2, one of them NULL.
pub fn blocks() -> Db {
    let db = Db::new();
    db.script(
        "CREATE TABLE a (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 2, 2));
         INSERT INTO a VALUES (0, 0, [1, 2, 3, 4]), (0, 1, [5, 6, 7, 8.5]), (1, 0, NULL)",
    );
    db
}

fn message_of(error: &EngineError) -> String {
    match error {
        EngineError::Sql { message: text, hint, .. }
        | EngineError::Execution { message: text, hint }
        | EngineError::Data { message: text, hint, .. }
        | EngineError::Unsupported { feature: text, hint } => format!("{text} ({})", hint.as_deref().unwrap_or_default()),
        other => other.to_string(),
    }
}

#[test]
fn a_tensor_keeps_its_shape_when_the_store_is_opened_again() {
    let db = blocks().reopened();
    assert_eq!(types(&db, "SELECT * FROM a"), ["BIGINT", "BIGINT", BLOCK]);
    let rows = ["0|0|[1.0, 2.0, 3.0, 4.0]", "0|1|[5.0, 6.0, 7.0, 8.5]", "1|0|NULL"];
    assert_eq!(db.rows("SELECT * FROM a ORDER BY i, j"), rows);
}

#[test]
fn elements_are_floats_and_integers_of_every_width() {
    let db = Db::new();
    for element in [
        "DOUBLE",
        "REAL",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "TINYINT UNSIGNED",
        "SMALLINT UNSIGNED",
        "INTEGER UNSIGNED",
        "BIGINT UNSIGNED",
    ] {
        db.run(&format!("CREATE OR REPLACE TABLE t (a TENSOR({element}, 2, 3), b {element}[2])"));
        assert_eq!(types(&db, "SELECT * FROM t"), [format!("TENSOR({element}, 2, 3)"), format!("{element}[2]")]);
        db.run("INSERT INTO t VALUES ([1, 2, 3, 4, 5, 6], [7, 8])");
        assert_eq!(db.value("SELECT CAST(a AS BIGINT[]), CAST(b AS BIGINT[]) FROM t"), "[1, 2, 3, 4, 5, 6]|[7, 8]");
    }
    for (same, shown) in [("double precision", "DOUBLE"), ("float8", "DOUBLE"), ("FLOAT", "REAL"), ("int4", "INTEGER")] {
        db.run(&format!("CREATE OR REPLACE TABLE t (a tensor({same}, 4))"));
        assert_eq!(types(&db, "SELECT * FROM t"), [format!("TENSOR({shown}, 4)")]);
    }
}

#[test]
fn shapes_and_elements_that_cannot_be_are_refused_with_what_can() {
    let db = Db::new();
    for (data_type, words) in [
        ("TENSOR(DOUBLE, 0, 2)", "has no elements"),
        ("TENSOR(DOUBLE)", "has no shape"),
        ("TENSOR(2, 2)", "has no type of elements"),
        ("TENSOR", "TENSOR(DOUBLE, 512, 512)"),
        ("TENSOR(DOUBLE, 1.5, 2)", "1.5 in TENSOR(DOUBLE, 1.5, 2) is no size"),
        ("TENSOR(VARCHAR, 2, 2)", "VARCHAR is no type of a tensor's elements"),
        ("TENSOR(DUOBLE, 2, 2)", "type DUOBLE (did you mean DOUBLE?)"),
        ("TENSOR(DECIMAL, 2, 2)", "is no type of a tensor's elements"),
        ("TENSOR(DOUBLE, 65536, 65536)", "65536×65536 DOUBLE is larger than 2 GiB"),
        ("TENSOR(TINYINT, 2147483648)", "more elements than one value can have"),
        ("TENSOR(DOUBLE, 9223372036854775807, 9223372036854775807)", "larger than 2 GiB"),
        ("TENSOR(DOUBLE, 99999999999999999999)", "is no size"),
        ("DOUBLE[0]", "has no elements"),
        ("DOUBLE[2147483648]", "more elements than one value can have"),
        ("MAP(VARCHAR, TENSOR(DOUBLE, 2))", "use a list"),
    ] {
        for sql in [format!("CREATE TABLE t (a {data_type})"), format!("SELECT CAST(NULL AS {data_type})")] {
            let error = message_of(&db.error(&sql));
            assert!(error.contains(words), "{sql}: {error}");
        }
    }
}

#[test]
fn a_list_of_another_length_is_refused_with_both_lengths() {
    let db = blocks();
    db.run("CREATE TABLE v (x DOUBLE[3])");
    for (sql, words) in [
        ("INSERT INTO a VALUES (2, 2, [1, 2, 3])", "a list of 3 elements cannot be a TENSOR(DOUBLE, 2, 2), which has 4: 2×2"),
        ("INSERT INTO a (block) VALUES (NULL), ([1, 2, 3, 4, 5])", "a list of 5 elements cannot be a TENSOR(DOUBLE, 2, 2), which has 4"),
        ("INSERT INTO a SELECT 2, 2, [1, 2]", "a list of 2 elements cannot be a DOUBLE[4], which has 4"),
        ("INSERT INTO v VALUES ([1, 2])", "a list of 2 elements cannot be a DOUBLE[3], which has 3"),
        ("UPDATE a SET block = [1]", "a list of 1 elements"),
        ("SELECT CAST([1, 2, 3] AS TENSOR(DOUBLE, 2, 2))", "a list of 3 elements cannot be a TENSOR(DOUBLE, 2, 2)"),
        ("INSERT INTO a VALUES (2, 2, ['x', '2', '3', '4'])", "x"),
    ] {
        let error = message_of(&db.error(sql));
        assert!(error.contains(words), "{sql}: {error}");
    }
    assert_eq!(db.value("SELECT count(*) FROM a"), "3");
    assert_eq!(db.value("SELECT TRY_CAST([1, 2, 3] AS DOUBLE[2]) IS NULL, TRY_CAST([1, 2] AS DOUBLE[2])"), "true|[1.0, 2.0]");
}

#[test]
fn a_list_of_rows_is_a_matrix_if_it_has_the_shape() {
    let db = blocks();
    db.run("INSERT INTO a VALUES (2, 2, [[1, 2], [3, 4]]), (3, 3, [5, 6, 7, 8])");
    db.run("INSERT INTO a VALUES (4, 4, [[1.5, 2], [3, 4]])");
    assert_eq!(db.rows("SELECT block FROM a WHERE i = 2 OR i = 4 ORDER BY i"), ["[1.0, 2.0, 3.0, 4.0]", "[1.5, 2.0, 3.0, 4.0]"]);
    assert_eq!(db.value("SELECT CAST([[[1], [2]], [[3], [4]]] AS TENSOR(BIGINT, 2, 2, 1))"), "[1, 2, 3, 4]");
    for (sql, words) in [
        ("INSERT INTO a VALUES (2, 2, [[1, 2], [3]])", "a list of 1 is there where TENSOR(DOUBLE, 2, 2) has 2 in dimension 2"),
        ("INSERT INTO a VALUES (2, 2, [[1, 2], [3, 4], [5, 6]])", "a list of 3 is there where TENSOR(DOUBLE, 2, 2) has 2 in dimension 1"),
        ("INSERT INTO a VALUES (2, 2, [[[1, 2], [3, 4]]])", "lists within each other, 3 deep, cannot be a TENSOR(DOUBLE, 2, 2)"),
        ("SELECT CAST([[1, 2], NULL] AS TENSOR(DOUBLE, 2, 2))", "a NULL stands in the place of a list"),
    ] {
        let error = message_of(&db.error(sql));
        assert!(error.contains(words), "{sql}: {error}");
    }
}

/// Arrow's own cast takes the first values of every batch but the first of a table.
#[test]
fn casts_to_lists_of_fixed_size_are_right_in_every_zone() {
    let db = Db::new();
    db.run("CREATE TABLE l AS SELECT v, [CAST(v AS DOUBLE), -v] AS w FROM generate_series(1, 20000) AS s (v)");
    db.run("UPDATE l SET w = NULL WHERE v % 1000 = 7");
    for cast in ["CAST(w AS DOUBLE[2])", "TRY_CAST(w AS REAL[2])", "CAST(w AS TENSOR(DOUBLE, 1, 2))"] {
        let wrong = format!("SELECT count(*) FROM l WHERE v <> ({cast})[1] OR -v <> ({cast})[2] OR (w IS NULL) <> ({cast} IS NULL)");
        assert_eq!(db.value(&wrong), "0", "{cast}");
    }
    db.run("CREATE TABLE f (v BIGINT, w DOUBLE[2])");
    db.run("INSERT INTO f SELECT * FROM l WHERE v > 9000");
    assert_eq!(db.value("SELECT count(*), count(w) FROM f WHERE w IS NULL OR (w[1] = v AND w[2] = -v)"), "11000|10989");
}

#[test]
fn a_tensor_of_another_shape_does_not_go_into_a_column() {
    let db = blocks();
    db.run("CREATE TABLE b (block TENSOR(DOUBLE, 4, 1))");
    let error = message_of(&db.error("INSERT INTO b SELECT block FROM a"));
    assert!(error.contains("a TENSOR(DOUBLE, 2, 2) cannot go into column \"block\", which is a TENSOR(DOUBLE, 4, 1)"), "{error}");
    db.run("INSERT INTO b SELECT CAST(block AS TENSOR(DOUBLE, 4, 1)) FROM a");
    assert_eq!(types(&db, "SELECT * FROM b"), ["TENSOR(DOUBLE, 4, 1)"]);
    assert_eq!(db.value("SELECT count(*), count(block) FROM b"), "3|2");
}

#[test]
fn no_statement_gives_a_column_a_tensor_of_another_shape() {
    let db = Db::new();
    db.script(
        "CREATE TABLE t (id INT PRIMARY KEY, block TENSOR(DOUBLE, 3, 2)); INSERT INTO t VALUES (1, [1, 2, 3, 4, 5, 6]), (2, NULL);
         CREATE TABLE s (id INT, block TENSOR(DOUBLE, 2, 3), list DOUBLE[6]); INSERT INTO s VALUES (1, [6, 5, 4, 3, 2, 1], [0, 0, 0, 0, 0, 1])",
    );
    let other = "CAST([1, 2, 3, 4, 5, 6] AS TENSOR(DOUBLE, 2, 3))";
    for sql in [
        format!("UPDATE t SET block = {other}"),
        format!("UPDATE t SET id = 3, block = CASE WHEN id = 1 THEN {other} END WHERE id = 1"),
        "UPDATE t SET block = (SELECT block FROM s)".to_string(),
        "UPDATE t SET block = s.block FROM s WHERE s.id = t.id".to_string(),
        "UPDATE t SET block = matrix_transpose(block)".to_string(),
        "MERGE INTO t USING s ON s.id = t.id WHEN MATCHED THEN UPDATE SET block = s.block".to_string(),
        "MERGE INTO t USING s ON s.id = t.id + 5 WHEN NOT MATCHED THEN INSERT (id, block) VALUES (s.id, s.block)".to_string(),
        "INSERT INTO t SELECT id + 5, block FROM s".to_string(),
        "INSERT INTO t SELECT id, block FROM s ON CONFLICT (id) DO UPDATE SET block = excluded.block".to_string(),
        format!("INSERT INTO t VALUES (1, NULL) ON CONFLICT (id) DO UPDATE SET block = {other}"),
        format!("ALTER TABLE t ADD COLUMN block2 TENSOR(DOUBLE, 3, 2) DEFAULT {other}"),
        format!("ALTER TABLE t ALTER COLUMN block SET DEFAULT {other}"),
        format!("CREATE TABLE u (block TENSOR(DOUBLE, 3, 2) DEFAULT {other})"),
    ] {
        let error = message_of(&db.error(&sql));
        assert!(error.contains("a TENSOR(DOUBLE, 2, 3) cannot go into column \"block"), "{sql}: {error}");
        assert!(error.contains("which is a TENSOR(DOUBLE, 3, 2) (CAST("), "{sql}: {error}");
    }
    db.run("ALTER TABLE t ALTER COLUMN block SET DEFAULT CAST([0, 0, 0, 0, 0, 0] AS TENSOR(DOUBLE, 3, 2))");
    assert!(
        message_of(&db.error("ALTER TABLE t ALTER COLUMN block TYPE TENSOR(DOUBLE, 2, 3)")).contains("cannot go into column \"block\"")
    );
    assert_eq!(db.rows("SELECT * FROM t ORDER BY id"), ["1|[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]", "2|NULL"]);
}

#[test]
fn lists_of_the_right_length_and_casts_go_into_a_column_of_tensors_by_every_statement() {
    let db = Db::new();
    db.script(
        "CREATE TABLE t (id INT PRIMARY KEY, block TENSOR(DOUBLE, 1, 2)); INSERT INTO t VALUES (1, [1, 2]), (2, NULL);
         CREATE TABLE s (id INT, block TENSOR(DOUBLE, 2, 1), list DOUBLE[2]); INSERT INTO s VALUES (1, [6, 5], [0, 1])",
    );
    let block = |id: i32| db.value(&format!("SELECT block FROM t WHERE id = {id}"));
    db.run("UPDATE t SET block = [3, 4] WHERE id = 1");
    assert_eq!(block(1), "[3.0, 4.0]");
    db.run("UPDATE t SET block = CAST(s.block AS TENSOR(DOUBLE, 1, 2)) FROM s WHERE s.id = t.id");
    assert_eq!(block(1), "[6.0, 5.0]");
    db.run("MERGE INTO t USING s ON s.id = t.id WHEN MATCHED THEN UPDATE SET block = s.list");
    assert_eq!(block(1), "[0.0, 1.0]");
    db.run("INSERT INTO t SELECT id, list FROM s ON CONFLICT (id) DO UPDATE SET block = [7, 8]");
    assert_eq!(block(1), "[7.0, 8.0]");
    db.run("ALTER TABLE t ADD COLUMN other TENSOR(DOUBLE, 1, 2)");
    db.run("ALTER TABLE t ALTER COLUMN other SET DEFAULT CAST([9, 9] AS TENSOR(DOUBLE, 1, 2))");
    db.run("UPDATE t SET other = DEFAULT WHERE id = 2");
    db.run("UPDATE t SET block = other WHERE id = 2");
    assert_eq!(block(2), "[9.0, 9.0]");
    assert_eq!(types(&db, "SELECT * FROM t"), ["INTEGER", "TENSOR(DOUBLE, 1, 2)", "TENSOR(DOUBLE, 1, 2)"]);
}

#[test]
fn what_shows_a_type_shows_one_that_can_be_declared_again() {
    let db = blocks();
    db.run(
        "CREATE TABLE w (m TENSOR(REAL, 3, 4, 5) NOT NULL, v DOUBLE[50], l DOUBLE[], n TENSOR(BIGINT, 2)[], s STRUCT<x TENSOR(DOUBLE, 2)>)",
    );
    let shown = ["TENSOR(REAL, 3, 4, 5)", "DOUBLE[50]", "DOUBLE[]", "TENSOR(BIGINT, 2)[]", "STRUCT<x TENSOR(DOUBLE, 2)>"];
    assert_eq!(db.rows("SELECT data_type FROM system.columns WHERE table_name = 'w' ORDER BY position"), shown);
    let listed = "SELECT data_type FROM information_schema.columns WHERE table_name = 'w' ORDER BY ordinal_position";
    assert_eq!(db.rows(listed), shown);
    let described: Vec<String> = db.rows("DESCRIBE w").iter().map(|row| row.split('|').nth(1).unwrap().to_string()).collect();
    assert_eq!(described, shown);
    for table in ["a", "w"] {
        let columns = types(&db, &format!("SELECT * FROM {table}"));
        let definition = db.value(&format!("SHOW CREATE TABLE {table}"));
        let statement = definition.split_once("CREATE TABLE").map(|(_, rest)| format!("CREATE TABLE{rest}")).unwrap();
        db.run(&format!("DROP TABLE {table}"));
        db.run(&statement);
        assert_eq!(types(&db, &format!("SELECT * FROM {table}")), columns, "{statement}");
    }
}

#[test]
fn a_column_of_tensors_can_be_added_and_take_another_shape() {
    let db = Db::new();
    db.script("CREATE TABLE t (id INT, v DOUBLE[6]); INSERT INTO t VALUES (1, [1, 2, 3, 4, 5, 6])");
    db.run("ALTER TABLE t ADD COLUMN m TENSOR(DOUBLE, 2, 2)");
    db.run("INSERT INTO t VALUES (2, NULL, [1, 2, 3, 4])");
    db.run("ALTER TABLE t ALTER COLUMN v TYPE TENSOR(DOUBLE, 2, 3)");
    assert_eq!(types(&db, "SELECT * FROM t"), ["INTEGER", "TENSOR(DOUBLE, 2, 3)", BLOCK]);
    db.run("ALTER TABLE t ALTER COLUMN v TYPE TENSOR(DOUBLE, 3, 2)");
    db.run("ALTER TABLE t RENAME COLUMN m TO n");
    let db = db.reopened();
    assert_eq!(types(&db, "SELECT v, n FROM t"), ["TENSOR(DOUBLE, 3, 2)", BLOCK]);
    assert_eq!(db.rows("SELECT * FROM t ORDER BY id"), ["1|[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]|NULL", "2|NULL|[1.0, 2.0, 3.0, 4.0]"]);
    let error = message_of(&db.error("ALTER TABLE t ALTER COLUMN v TYPE TENSOR(DOUBLE, 2, 2)"));
    assert!(error.contains("from TENSOR(DOUBLE, 3, 2) to TENSOR(DOUBLE, 2, 2)"), "{error}");
}

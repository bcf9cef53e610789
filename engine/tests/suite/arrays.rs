//! Arrays: regions and what is written to them, their relation, chunks, rights, and wrong statements.

use engine::ErrorKind;

use super::helpers::{Db, run, wait};

/// Four rows of six cells in chunks of 2 x 4: 0 to 23.
fn with_grid() -> Db {
    let db = Db::new();
    db.script(
        "CREATE ARRAY grid (y 4, x 6) OF INTEGER CHUNK (2, 4) FILL -1;
         UPDATE ARRAY grid SET REGION [:, :] = (SELECT i FROM generate_series(0, 23) AS t(i) ORDER BY i)",
    );
    db
}

#[test]
fn a_region_has_the_cells_that_numpy_would_give() {
    let db = with_grid();
    for (slices, expected) in [
        ("[0, :]", "[0, 1, 2, 3, 4, 5]"),
        ("[:, 4]", "[4, 10, 16, 22]"),
        ("[1:3, 2:5]", "[8, 9, 10, 14, 15, 16]"),
        ("[-1, ::-2]", "[23, 21, 19]"),
        ("[::3, -2:]", "[4, 5, 22, 23]"),
        ("[2:100, 5:]", "[17, 23]"),
        ("[..., 0]", "[0, 6, 12, 18]"),
        ("[1]", "[6, 7, 8, 9, 10, 11]"),
        ("[3, 5]", "[23]"),
        ("[3:0:-1, 1]", "[19, 13, 7]"),
    ] {
        assert_eq!(db.value(&format!("SELECT array_region('grid', {slices})")), expected, "{slices}");
        let sum = db.value(&format!("SELECT sum(value) FROM region('grid', {slices})"));
        let expected: i64 = expected.trim_matches(['[', ']']).split(", ").map(|cell| cell.parse::<i64>().unwrap()).sum();
        assert_eq!(sum, expected.to_string(), "{slices}");
    }
    assert_eq!(db.value("SELECT array_region('grid')").matches(',').count(), 23);
    assert_eq!(db.value("SELECT count(*) FROM region('grid', [2:2, :])"), "0");
}

#[test]
fn an_array_is_a_relation_with_a_row_for_each_cell() {
    let db = with_grid();
    assert_eq!(db.rows("SELECT * FROM grid WHERE y = 2 AND x > 3 ORDER BY x"), ["2|4|16", "2|5|17"]);
    assert_eq!(db.rows("SELECT y, sum(value) FROM grid GROUP BY y ORDER BY y"), ["0|15", "1|51", "2|87", "3|123"]);
    assert_eq!(db.rows("SELECT x, y FROM grid WHERE value IN (7, 20)").len(), 2);
    assert_eq!(db.value("SELECT count(*) FROM grid WHERE value > 21 OR value < 2"), "4");
    assert_eq!(db.value("SELECT count(*) FROM grid"), "24");
    assert_eq!(db.value("SELECT count(*) FROM grid WHERE x BETWEEN 1 AND 2 AND y <> 0"), "6");
    assert_eq!(db.value("SELECT count(*) FROM grid WHERE (value > 20 AND x = 3) OR value < 2"), "3");
    db.script("CREATE TABLE names (y BIGINT, name VARCHAR); INSERT INTO names VALUES (1, 'one'), (3, 'three')");
    assert_eq!(db.rows("SELECT name, max(value) FROM grid JOIN names USING (y) GROUP BY name ORDER BY name"), ["one|11", "three|23"]);
}

#[test]
fn cells_that_were_never_written_have_the_fill_and_take_no_space() {
    let db = Db::new();
    db.script("CREATE ARRAY sparse (x 1000000, y 1000000) OF DOUBLE CHUNK (100, 100) FILL 'NaN'");
    db.script("UPDATE ARRAY sparse SET REGION [500000:500010, 7] = 2.5");
    assert_eq!(db.value("SELECT count(*) FROM chunks('sparse')"), "1");
    assert_eq!(db.value("SELECT array_region('sparse', [500008:500012, 7])"), "[2.5, 2.5, NaN, NaN]");
    // The fill is greater than every number, so that only chunks with cells are looked at.
    assert_eq!(db.value("SELECT count(*) FROM sparse WHERE value < 3"), "10");
    assert_eq!(db.value("SELECT sum(value) FROM region('sparse', [499990:500005, 7]) WHERE value = value AND value < 10"), "12.5");
    assert_eq!(db.value("SELECT count(*) FROM region('sparse', [0:200, 0:200]) WHERE value = 'NaN'"), "40000");
}

#[test]
fn a_dimension_without_limit_grows_with_what_is_written() {
    let db = Db::new();
    db.script("CREATE ARRAY log (t UNLIMITED, channel 3) OF SMALLINT CHUNK (4, 3)");
    assert_eq!(db.value("SELECT count(*) FROM log"), "0");
    db.script("UPDATE ARRAY log SET REGION [0:2, :] = [1, 2, 3, 4, 5, 6]; UPDATE ARRAY log SET REGION [6, 1] = 9");
    assert_eq!(db.value("SELECT length FROM system.arrays WHERE name = 'log' AND dimension = 't'"), "7");
    assert_eq!(db.value("SELECT array_region('log', [:, 1])"), "[2, 5, 0, 0, 0, 0, 9]");
    assert_eq!(db.value("SELECT array_region('log', [-1])"), "[0, 9, 0]");
    db.script("UPDATE ARRAY log SET REGION [-1, :] = 7");
    assert_eq!(db.value("SELECT array_region('log', [6])"), "[7, 7, 7]");
    assert_eq!(db.value("SELECT array_region('log', [5:200])"), "[0, 0, 0, 7, 7, 7]");
}

/// RESTORE marks the chunks as deleted that have made the array longer.
#[test]
fn an_array_that_is_set_back_has_its_earlier_length() {
    let db = Db::new();
    db.script("CREATE ARRAY log (t UNLIMITED) OF INTEGER CHUNK (2); UPDATE ARRAY log SET REGION [0:4] = 1; CREATE SNAPSHOT earlier");
    db.script("UPDATE ARRAY log SET REGION [4:9] = 2; RESTORE TABLE log TO SNAPSHOT earlier");
    assert_eq!(db.value("SELECT count(*) FROM log"), "4");
    db.script("UPDATE ARRAY log SET REGION [4] = 3");
    assert_eq!(db.value("SELECT array_region('log')"), "[1, 1, 1, 1, 3]");
}

#[test]
fn writes_are_in_the_transaction_they_stand_in() {
    let db = with_grid();
    db.script("CREATE SNAPSHOT before");
    let other = db.engine.session().unwrap();
    let seen_by_other = || wait(run(&other, "SELECT array_region('grid', [0, 0:2])")).unwrap().rows();
    db.script("BEGIN; UPDATE ARRAY grid SET REGION [0, 0] = 100");
    assert_eq!(db.value("SELECT array_region('grid', [0, 0:2])"), "[100, 1]");
    assert_eq!(seen_by_other(), ["[0, 1]"]);
    db.script("ROLLBACK");
    assert_eq!(db.value("SELECT array_region('grid', [0, 0:2])"), "[0, 1]");
    db.script("UPDATE ARRAY grid SET REGION [0, 0] = 100");
    assert_eq!(db.value("SELECT value FROM grid WHERE y = 0 AND x = 0"), "100");
    assert_eq!(db.value("SELECT value FROM grid FOR VERSION AS OF 'before' WHERE y = 0 AND x = 0"), "0");
}

/// Each statement writes a segment of its own, so that several partitions read the chunks.
#[test]
fn a_cell_is_counted_once_however_many_segments_there_are() {
    let db = Db::new();
    db.script("CREATE ARRAY wide (y 1024, x 1536) OF DOUBLE CHUNK (512, 512)");
    for (at, slices) in
        ["0:512, 0:512", "0:512, 512:1024", "0:512, 1024:1536", "512:1024, 0:512", "512:1024, 512:1024"].into_iter().enumerate()
    {
        db.script(&format!("UPDATE ARRAY wide SET REGION [{slices}] = {}", at + 1));
    }
    assert_eq!(db.value("SELECT sum(value) / 512 / 512 FROM wide"), "15.0");
    assert_eq!(db.value("SELECT count(value) / 512 / 512 FROM wide WHERE value >= 0"), "6");
    assert_eq!(db.value("SELECT count(*) FROM region('wide', [500:600, 500:600]) WHERE value = 5"), (88 * 88).to_string());
    assert_eq!(db.value("SELECT array_region('wide', [511:513, 1023])"), "[2.0, 5.0]");
}

#[test]
fn chunks_are_pruned_by_the_region_and_by_their_values() {
    let db = with_grid();
    let plan = db.rows("EXPLAIN SELECT sum(value) FROM region('grid', [0:2, :])").join("\n");
    assert!(plan.contains("region=[0:2, 0:6], chunks=2 of 4"), "{plan}");
    let analyzed = db.rows("EXPLAIN ANALYZE SELECT count(value) FROM grid WHERE value > 21").join("\n");
    assert!(analyzed.contains("chunks_read=1"), "{analyzed}");
    let analyzed = db.rows("EXPLAIN ANALYZE SELECT sum(value) FROM grid WHERE x < 3 AND y >= 2").join("\n");
    assert!(analyzed.contains("chunks_read=1"), "{analyzed}");
    let analyzed = db.rows("EXPLAIN ANALYZE SELECT sum(value) FROM grid WHERE x < 0").join("\n");
    assert!(analyzed.contains("chunks_read=0"), "{analyzed}");
    // The cast fails for a cell outside of the region, at which the query does not look.
    db.script("UPDATE ARRAY grid SET REGION [1, 3] = 1000");
    assert_eq!(db.value("SELECT count(*) FROM region('grid', [0:2, 0:3]) WHERE CAST(value AS TINYINT) > 5"), "3");
}

#[test]
fn an_array_is_an_object_with_tags_and_a_place_in_groups() {
    let db = with_grid();
    db.script(
        "CREATE ARRAY tagged (x 2 UNIT 'm') OF REAL WITH TAGS (run = 7); CREATE GROUP level0;
         ALTER GROUP level0 ADD ARRAY grid, tagged; TAG ARRAY grid SET (run = 8); COMMENT ON ARRAY grid IS 'numbers'",
    );
    let found = |rest: &str| db.rows(&format!("FIND {rest} ORDER BY name")).len();
    assert_eq!((found("ARRAYS"), found("ARRAYS WHERE run = 7"), found("TABLES"), found("OBJECTS IN GROUP level0")), (2, 1, 0, 2));
    assert_eq!(db.value("SELECT unit FROM system.arrays WHERE name = 'tagged'"), "m");
    assert_eq!(db.rows("SELECT kind, name FROM system.group_members ORDER BY name"), ["array|grid", "array|tagged"]);
    let definition = db.value("SELECT definition FROM system.tables WHERE table_name = 'grid'");
    assert_eq!(definition, "CREATE ARRAY grid (y 4, x 6) OF INTEGER CHUNK (2, 4) FILL -1");
    db.script("ALTER ARRAY tagged RENAME TO renamed; DROP ARRAY grid");
    assert_eq!(
        db.rows("SELECT name, run FROM (SELECT name, tags AS run FROM system.objects WHERE kind = 'array')"),
        ["renamed|{\"run\":7}"]
    );
    db.script(&definition);
    assert_eq!(db.value("SELECT min(value) FROM grid"), "-1");
}

/// The middle of the coarse level is refined, and a corner of that once more.
#[test]
fn a_region_of_several_levels_has_the_finest_cells_there_are() {
    let db = Db::new();
    db.script(
        "CREATE GROUP mesh WITH TAGS (refinement = 2);
         CREATE ARRAY coarse (y 4, x 4) OF INTEGER CHUNK (2, 2) WITH TAGS (level = 0);
         CREATE ARRAY medium (y 8, x 8) OF INTEGER CHUNK (2, 2) WITH TAGS (level = 1);
         CREATE ARRAY fine (y 16, x 16) OF INTEGER CHUNK (2, 2) WITH TAGS (level = 2);
         CREATE ARRAY other (y 16) OF INTEGER; ALTER GROUP mesh ADD ARRAY coarse, medium, fine, other;
         UPDATE ARRAY coarse SET REGION [...] = (SELECT i FROM generate_series(0, 15) AS t(i) ORDER BY i);
         UPDATE ARRAY medium SET REGION [2:4, 2:4] = [100, 101, 102, 103];
         UPDATE ARRAY fine SET REGION [4:6, 4:6] = [200, 201, 202, 203]",
    );
    let row = |slices: &str| db.rows(&format!("SELECT * FROM finest_region('mesh', {slices})"));
    assert_eq!(row("[5, 2:9]"), ["[4, 4, 202, 203, 101, 101, 6]|[0, 0, 2, 2, 1, 1, 0]"]);
    assert_eq!(row("[7:3:-1, 4]"), ["[102, 102, 202, 200]|[1, 1, 2, 2]"]);
    assert_eq!(db.value("SELECT level FROM finest_region('mesh', [15, ::5])"), "[0, 0, 0, 0]");
    let plan = db.rows("EXPLAIN SELECT region FROM finest_region('mesh', [0:4, 0:4])").join("\n");
    assert!(plan.contains("LevelsExec: group=mesh, region=[0:4, 0:4], levels=3"), "{plan}");
    for (sql, message) in [
        ("SELECT * FROM finest_region('nope')", "does not exist"),
        ("SELECT * FROM finest_region('mesh', [16, 0])", "index 16 is out of bounds for dimension y of length 16"),
        ("SELECT * FROM finest_region('mesh', 'x')", "is no slice"),
    ] {
        let error = db.error(sql);
        assert!(error.to_string().contains(message), "{sql}: {error}");
    }
    // The end of a chunk that is behind the end of its array is nobody's cell.
    db.script(
        "CREATE GROUP lines; CREATE ARRAY l0 (x UNLIMITED) OF INTEGER CHUNK (16) WITH TAGS (level = 0);
         CREATE ARRAY l1 (x UNLIMITED) OF INTEGER CHUNK (16) WITH TAGS (level = 1); ALTER GROUP lines ADD ARRAY l0, l1;
         UPDATE ARRAY l0 SET REGION [0:16] = 5; UPDATE ARRAY l1 SET REGION [0:4] = 9",
    );
    assert_eq!(db.value("SELECT region FROM finest_region('lines', [2:7])"), "[9, 9, 5, 5, 5]");
    db.script("TAG ARRAY medium SET (level = 0)");
    assert!(db.error("SELECT * FROM finest_region('mesh')").to_string().contains("two arrays of the group mesh are level 0"));
    db.script("UNTAG ARRAY coarse, medium, fine (level)");
    assert!(db.error("SELECT * FROM finest_region('mesh')").to_string().contains("no array of the group mesh has a tag \"level\""));
}

#[test]
fn the_statement_that_is_shown_makes_an_array_again_with_its_options() {
    let db = Db::new();
    let directory = db.file("disk");
    std::fs::create_dir(&directory).unwrap();
    db.run(&format!("ALTER SYSTEM SET disk_tier = '{directory}'"));
    let shown = || db.value("SELECT definition FROM system.tables WHERE table_name = 'a'");
    let made_again = |options: &str| {
        let statement = shown();
        assert!(statement.ends_with(options), "{statement}");
        db.script("ALTER ARRAY a SET (read_only = false); DROP ARRAY a");
        db.run(&statement);
        assert_eq!(shown(), statement);
    };
    for clauses in ["WITH (tier = 'disk') WITH TAGS (run = 7)", "WITH TAGS (run = 7) WITH (tier = 'disk')", "WITH (tier = 'disk')"] {
        db.run(&format!("CREATE OR REPLACE ARRAY a (y 4 UNIT 'km', t UNLIMITED) OF REAL CHUNK (2, 8) FILL -1 {clauses}"));
        let tags = db.rows("FIND ARRAYS WHERE run = 7").len();
        assert_eq!((tags == 1, shown().ends_with(" WITH (tier = 'disk')")), (clauses.contains("TAGS"), true), "{clauses}: {}", shown());
    }
    made_again(" WITH (tier = 'disk')");
    db.script("ALTER ARRAY a SET TIER POLICY 'disk after 30 days, back on use'; ALTER ARRAY a SET (read_only)");
    made_again(" WITH (read_only = 'true', tier = 'disk', tier_policy = 'disk after 30 days, back on use')");
    assert!(db.error("UPDATE ARRAY a SET REGION [0, 0] = 1").to_string().contains("read-only"));
    db.script("ALTER ARRAY a SET (read_only = false); UPDATE ARRAY a SET REGION [0, 0] = 1");
    made_again(" WITH (read_only = 'false', tier = 'disk', tier_policy = 'disk after 30 days, back on use')");
    db.script("CREATE TABLE t (a INT) WITH (read_only = false); CREATE ARRAY plain (x 2) OF REAL");
    let plain = db.value("SELECT definition FROM system.tables WHERE table_name = 'plain'");
    assert!(!plain.contains("WITH"), "{plain}");
}

#[test]
fn what_is_no_array_and_no_region_is_refused() {
    let db = with_grid();
    db.script("CREATE TABLE t (a INT); CREATE ARRAY IF NOT EXISTS grid (x 1) OF REAL; CREATE ARRAY log (t UNLIMITED) OF REAL");
    assert_eq!(db.rows("UPDATE ARRAY grid SET REGION [0:0, 0] = (SELECT 1 WHERE false)"), ["0"]);
    for (sql, message) in [
        ("SELECT * FROM region('t', [0])", "\"t\" is no array"),
        ("SELECT * FROM region('nope', [0])", "\"nope\" does not exist"),
        ("SELECT * FROM region('grid', [4, 0])", "index 4 is out of bounds for dimension y of length 4"),
        ("SELECT * FROM region('grid', [0, 0, 0])", "a region of 3 slices is asked of an array of 2 dimensions"),
        ("SELECT * FROM region('grid', [a, 0])", "\"a\" is no slice"),
        ("SELECT * FROM region('grid', [::0])", "the step of a slice cannot be 0"),
        ("SELECT * FROM region('grid', [..., ...])", "a region has ... twice"),
        ("SELECT array_region('grid', [1:1])", "has no cells"),
        ("SELECT region FROM array_region('grid', [0:1], 0)", "was replaced by another one"),
        ("SELECT * FROM region('grid', [0:1], 'grid')", "argument 3 of region must be the id of an array"),
        ("CREATE ARRAY a (x 0) OF REAL", "dimension x has length 0"),
        ("CREATE ARRAY a (x 10) OF REAL CHUNK (0)", "the chunks have size 0 along x"),
        ("CREATE ARRAY a (x 10) OF REAL CHUNK (11)", "the chunks have size 11 along x, whose length is 10"),
        ("CREATE ARRAY a (x 2000000000000) OF REAL CHUNK (1099511627776)", "are larger than 128 MiB"),
        ("CREATE ARRAY a (x 10) OF REAL CHUNK (1, 1)", "CHUNK has 2 sizes and the array 1 dimension"),
        ("CREATE ARRAY a (x 10, x 10) OF REAL", "a dimension cannot be called x"),
        ("CREATE ARRAY a (value 10) OF REAL", "a dimension cannot be called \"value\""),
        ("CREATE ARRAY a (__quiver_row_id 10) OF REAL", "a dimension cannot be called __quiver_row_id"),
        ("UPDATE ARRAY log SET REGION [9223372036854775807] = 1", "out of bounds"),
        ("UPDATE ARRAY grid SET REGION [0, 0] = (SELECT 1 WHERE false)", "has 1 cells, and 0 are given"),
        ("ALTER ARRAY grid RENAME TO other.main.zz", "other"),
        ("TAG TABLE grid SET (a = 1)", "is an array, not a table"),
        ("CREATE ARRAY a (x 10) OF VARCHAR", "an array cannot have cells of type VARCHAR"),
        ("CREATE ARRAY a (x 10) OF TINYINT FILL 300", "300"),
        ("CREATE ARRAY a (x 4000000000, y 4000000000) OF REAL", "more than 9223372036854775807 cells"),
        ("CREATE ARRAY grid (x 10) OF REAL", "already"),
        ("CREATE OR REPLACE ARRAY t (x 10) OF REAL", "already"),
        ("CREATE OR REPLACE TABLE grid (x INT)", "already"),
        ("UPDATE ARRAY grid SET REGION [0, :] = [1, 2]", "the region [0, 0:6] has 6 cells, and 2 are given"),
        ("UPDATE ARRAY grid SET REGION [0, 0] = NULL", "NULL"),
        ("UPDATE ARRAY grid SET REGION [0, 0] = 'a'", "the new cells are"),
        ("UPDATE ARRAY grid SET REGION [0, 0] = 10000000000", "10000000000"),
        ("UPDATE ARRAY t SET REGION [0] = 1", "\"t\" is no array"),
        ("INSERT INTO grid VALUES (1, 2, 3)", "writing rows to the array \"grid\""),
        ("INSERT INTO grid SELECT 1, 2, 3", "writing rows to the array \"grid\""),
        ("UPDATE grid SET value = 1", "writing rows to the array \"grid\""),
        ("DELETE FROM grid", "writing rows to the array \"grid\""),
        ("TRUNCATE grid", "array"),
        ("ALTER TABLE grid ADD COLUMN a INT", "ALTER TABLE of the array \"grid\""),
        ("DROP TABLE grid", "\"grid\" is an array, not a table"),
        ("DROP ARRAY t", "\"t\" is a table, not an array"),
    ] {
        let error = db.error(sql);
        assert!(error.to_string().contains(message), "{sql}: {error}");
        assert_ne!(error.kind(), ErrorKind::Internal, "{sql}: {error}");
    }
    // The word is quoted in statements, and between the quotes of a message it is not.
    db.run("CREATE ARRAY temp (x 1) OF REAL");
    let error = db.error("TAG TABLE temp SET (a = 1)");
    assert_eq!((error.to_string().as_str(), error.hint()), ("\"temp\" is an array, not a table", Some("write TAG ARRAY \"temp\"")));
    let dimensions: Vec<String> = (0..64).map(|at| format!("d{at} 1")).collect();
    let error = db.error(&format!("CREATE ARRAY a ({}) OF REAL", dimensions.join(", ")));
    assert!(error.to_string().contains("an array has 1 to 32 dimensions, and this one has 64"), "{error}");
    assert_eq!(db.value("SELECT sum(value) FROM grid"), "276");
}

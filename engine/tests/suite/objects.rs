//! Objects: tags and how they are found, groups, comments.

use std::ops::ControlFlow;

use arrow::array::AsArray;
use engine::{ErrorKind, StatementKind};

use super::helpers::{Db, wait};

/// Three tables with tags.
fn with_stars() -> Db {
    let db = Db::new();
    db.script(
        "CREATE TABLE gal1 AS SELECT 1 AS a; CREATE TABLE gal2 AS SELECT 2 AS a; CREATE VIEW star AS SELECT 3 AS a; CREATE TABLE plain (a INT);
         TAG TABLE gal1 SET (plate = 4055, mjd = 55359.5, survey = 'boss', reviewed = true, bands = ['u', 'g'], seen = TIMESTAMP '2020-01-02 03:04:05');
         TAG TABLE gal2 SET (plate = 4056, mjd = 55360, survey = 'boss', bands = ['g']); TAG VIEW star SET (plate = 4055, survey = 'eboss')",
    );
    db
}

fn found(db: &Db, rest: &str) -> String {
    let rows = db.rows(&format!("FIND OBJECTS {rest}"));
    rows.iter().map(|row| row.split('|').nth(3).unwrap().to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn objects_are_found_by_their_ids() {
    let db = with_stars();
    let ids = db.rows("SELECT object_id FROM system.objects ORDER BY name").join(", ");
    let names = |condition: &str| db.rows(&format!("SELECT name FROM system.objects WHERE {condition} ORDER BY name")).join(" ");
    assert_eq!(names(&format!("object_id IN ({ids}, 999, -1)")), "gal1 gal2 plain star");
    assert_eq!(names(&format!("object_id IN ({ids}) AND kind = 'view'")), "star");
    assert_eq!(names("object_id = 999 OR object_id = -1"), "");
    assert_eq!(names("object_id IN (SELECT object_id FROM system.tags WHERE tag = 'plate')"), "gal1 gal2 star");
}

#[test]
fn what_is_read_of_a_table_is_counted() {
    let db = Db::new();
    db.script("CREATE TABLE a AS SELECT i FROM range(1000) AS r(i); CREATE TABLE b (x INT)");
    let touched = || db.rows("SELECT bytes_touched, last_touched_at IS NULL FROM system.objects WHERE kind = 'table' ORDER BY name");
    assert_eq!(touched(), ["0|true", "0|true"]);
    db.run("SELECT sum(i) FROM a");
    assert_eq!(touched(), ["8000|false", "0|true"]);
    db.run("SELECT sum(i) FROM a WHERE i > 10");
    assert_eq!(touched(), ["16000|false", "0|true"]);
}

#[test]
fn a_table_is_made_with_its_tags() {
    let db = Db::new();
    db.script(
        "CREATE TABLE a (x INT) WITH TAGS (plate = 4055, bands = ['u', 'g']);
         CREATE OR REPLACE TABLE b WITH TAGS (plate = 4056) ORDER BY (x) AS WITH tags (x) AS (SELECT 1) SELECT x FROM tags;
         CREATE TABLE c AS WITH tags (plate) AS (SELECT 1) SELECT plate FROM tags",
    );
    assert_eq!((found(&db, "WHERE plate > 0"), found(&db, "WHERE bands = 'g'")), ("a b".into(), "a".into()));
    db.script("CREATE OR REPLACE TABLE a (x INT) WITH TAGS (plate = 1)");
    assert_eq!(found(&db, "WHERE plate = 1"), "a");
    assert!(db.error("CREATE TABLE d (x INT) WITH TAGS (plate)").to_string().contains("="));
    assert!(db.error("CREATE VOLATILE TABLE d (x INT) WITH TAGS (plate = 1)").to_string().contains("TAGS"));
}

#[test]
fn objects_are_found_by_their_tags() {
    let db = with_stars();
    for (condition, expected) in [
        ("plate = 4055", "gal1 star"),
        ("4055.0 = plate", "gal1 star"),
        ("plate <> 4055", "gal2"),
        ("plate = 4055 AND survey = 'boss'", "gal1"),
        ("plate BETWEEN 4056 AND 5000 OR survey LIKE 'e%'", "gal2 star"),
        ("plate IN (4056, 7)", "gal2"),
        ("plate NOT IN (4056, 7)", "gal1 star"),
        ("mjd > 55359.4 AND mjd <= 55359.5", "gal1"),
        ("mjd IS NOT NULL", "gal1 gal2"),
        ("mjd IS NULL", "star plain"),
        ("NOT (mjd = 55360)", "gal1"),
        ("reviewed", "gal1"),
        ("bands = 'u'", "gal1"),
        ("bands = 'g'", "gal1 gal2"),
        ("seen < TIMESTAMP '2021-01-01'", "gal1"),
        ("name LIKE 'gal%'", "gal1 gal2"),
        ("kind = 'view' OR kind = 'table' AND name ILIKE 'P%'", "star plain"),
        ("tags.name = 'x'", ""),
        ("survey = 5", ""),
        ("true", "gal1 gal2 star plain"),
        ("size_bytes > 0", "gal1 gal2"),
        ("created_at > '2020-01-01' AND plate = 4056", "gal2"),
    ] {
        assert_eq!(found(&db, &format!("WHERE {condition}")), expected, "{condition}");
    }
    assert_eq!(found(&db, "WHERE survey IS NOT NULL ORDER BY plate DESC, name LIMIT 2"), "gal2 gal1");
    assert_eq!(found(&db, "ORDER BY mjd DESC"), "star plain gal2 gal1");
    assert_eq!(found(&db, "ORDER BY mjd NULLS FIRST OFFSET 2"), "gal1 gal2");
    assert_eq!(db.rows("FIND VIEWS WHERE plate = 4055").len(), 1);
    let row = db.value("FIND OBJECTS WHERE reviewed");
    assert!(
        row.ends_with(r#"{"bands":["u","g"],"mjd":55359.5,"plate":4055,"reviewed":true,"seen":"2020-01-02 03:04:05Z","survey":"boss"}"#)
    );
    let db = db.reopened();
    assert_eq!(found(&db, "WHERE plate = 4055"), "gal1 star");
}

/// A table with a column for each tag is the model: a tag that an object lacks is NULL there.
#[test]
fn conditions_have_the_answers_of_a_table_with_a_column_for_each_tag() {
    let db = Db::new();
    db.run("CREATE TABLE wide (name VARCHAR, i BIGINT, d DOUBLE, t VARCHAR, b BOOLEAN)");
    let mut script = String::from("BEGIN;");
    let mut state = 7u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for at in 0..60 {
        let values = [
            ("i", next(6).to_string()),
            ("d", format!("{}.5", next(4))),
            ("t", format!("'{}'", ["ab", "abc", "b", "", "%"][next(5) as usize])),
            ("b", ["true", "false"][next(2) as usize].to_string()),
        ];
        let given: Vec<bool> = values.iter().map(|_| next(3) > 0).collect();
        let tags: Vec<String> =
            values.iter().zip(&given).filter(|(_, given)| **given).map(|((key, value), _)| format!("{key} = {value}")).collect();
        let columns: Vec<&str> =
            values.iter().zip(&given).map(|((_, value), given)| if *given { value.as_str() } else { "NULL" }).collect();
        let tags = if tags.is_empty() { String::new() } else { format!(" WITH TAGS ({})", tags.join(", ")) };
        script += &format!("CREATE GROUP g{at}{tags}; INSERT INTO wide VALUES ('g{at}', {});", columns.join(", "));
    }
    db.script(&(script + "COMMIT"));
    let simple = |next: &mut dyn FnMut(u64) -> u64| match next(9) {
        0 => format!("i {} {}", ["=", "<>", "<", ">="][next(4) as usize], next(6)),
        1 => format!("d {} {}", ["<=", ">", "="][next(3) as usize], next(4)),
        2 => format!("i > {}.5", next(5)),
        3 => format!("t LIKE '{}'", ["a%", "%b%", "_", "ab_", "", "\\%"][next(6) as usize]),
        4 => format!("t IN ('ab', '{}')", ["b", ""][next(2) as usize]),
        5 => ["i", "d", "t", "b"][next(4) as usize].to_string() + [" IS NULL", " IS NOT NULL"][next(2) as usize],
        6 => ["b", "NOT b", "b = false"][next(3) as usize].to_string(),
        7 => format!("i NOT BETWEEN {} AND {}", next(4), next(6)),
        _ => format!("name < 'g{}'", next(60)),
    };
    for at in 0..300 {
        match at {
            // Rows of a log until now, and of a segment with an index from here on.
            100 => db.script("CHECKPOINT"),
            // Some of either, and some deleted.
            200 => {
                db.script("TAG GROUP g7, g8, g9 SET (i = 3, t = 'ab'); UPDATE wide SET i = 3, t = 'ab' WHERE name IN ('g7', 'g8', 'g9')")
            }
            _ => {}
        }
        let parts: Vec<String> = (0..1 + next(3)).map(|_| simple(&mut next)).collect();
        let joined = parts.join([" AND ", " OR "][next(2) as usize]);
        let condition = if next(3) == 0 { format!("NOT ({joined})") } else { joined };
        let expected = db.sorted_rows(&format!("SELECT name FROM wide WHERE {condition}"));
        let rows = db.rows(&format!("FIND GROUPS WHERE {condition}"));
        let mut names: Vec<&str> = rows.iter().map(|row| row.split('|').nth(3).unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{condition}");
    }
}

#[test]
fn tags_are_a_relation_with_a_row_for_each_value() {
    let db = with_stars();
    let rows = db
        .rows("SELECT tag, type, position, value, integer_value, double_value FROM system.tags WHERE name = 'gal1' ORDER BY tag, position");
    assert_eq!(
        rows,
        [
            "bands|text|1|u|NULL|NULL",
            "bands|text|2|g|NULL|NULL",
            "mjd|double|NULL|55359.5|NULL|55359.5",
            "plate|integer|NULL|4055|4055|NULL",
            "reviewed|boolean|NULL|true|NULL|NULL",
            "seen|timestamp|NULL|2020-01-02 03:04:05Z|NULL|NULL",
            "survey|text|NULL|boss|NULL|NULL",
        ]
    );
    let joined =
        "SELECT o.name FROM system.objects o JOIN system.tags t ON t.object_id = o.object_id WHERE tag = 'plate' AND integer_value = 4056";
    assert_eq!(db.rows(joined), ["gal2"]);
}

#[test]
fn tags_change_in_bulk_and_one_by_one() {
    let db = with_stars();
    let ran = db.run("TAG OBJECTS WHERE plate = 4055 SET (reviewed = false, note = 'again')");
    assert_eq!((ran.kind, ran.rows()), (StatementKind::Write, vec!["2".to_string()]));
    assert_eq!(found(&db, "WHERE reviewed = false AND note = 'again'"), "gal1 star");
    assert_eq!(db.rows("UNTAG OBJECTS WHERE note IS NOT NULL (note, mjd)"), ["2"]);
    assert_eq!((found(&db, "WHERE note IS NOT NULL"), found(&db, "WHERE mjd IS NOT NULL")), (String::new(), "gal2".to_string()));
    db.run("UNTAG TABLE gal1, gal2, VIEW star ALL");
    assert_eq!(db.rows("SELECT count(*) FROM system.tags"), ["0"]);
    assert_eq!(db.error("UNTAG TABLE gal1 (plate)").to_string(), "table \"gal1\" has no tag \"plate\"");
}

#[test]
fn tags_come_from_the_rows_of_a_query() {
    let db = with_stars();
    db.run("CREATE TABLE meta AS SELECT * FROM (VALUES ('gal1', 1, 'x', NULL), ('gal2', 2, NULL, 5.5), ('plain', 3, 'z', NULL)) AS v (name, n, t, d)");
    assert_eq!(db.rows("TAG OBJECTS FROM (SELECT 'table' AS kind, * FROM meta)"), ["3"]);
    assert_eq!(found(&db, "WHERE n >= 2 AND t = 'z' OR d = 5.5"), "gal2 plain");
    assert_eq!(found(&db, "WHERE plate = 4055 AND n = 1"), "gal1");
    assert_eq!(
        db.rows("TAG OBJECTS FROM (SELECT object_id, MAP {'a': object_id, 'b': 7} AS tags FROM system.objects WHERE name LIKE 'gal%')"),
        ["2"]
    );
    assert_eq!(found(&db, "WHERE b = 7 AND a IS NOT NULL"), "gal1 gal2");
    for (sql, message) in [
        ("TAG OBJECTS FROM meta", "the rows do not say which objects they are about"),
        ("TAG OBJECTS FROM (SELECT 99999 AS object_id, 1 AS a)", "object \"99999\" does not exist"),
        ("TAG OBJECTS FROM (SELECT 'table' AS kind, 'gone' AS name, 1 AS a)", "table \"gone\" does not exist"),
        ("TAG OBJECTS FROM (SELECT 'sun' AS kind, 'gone' AS name, 1 AS a)", "objects of kind \"sun\""),
        ("TAG OBJECTS FROM (SELECT CAST(NULL AS BIGINT) AS object_id, 1 AS a)", "column object_id is NULL"),
        ("TAG OBJECTS FROM gone", "table \"gone\" does not exist"),
        ("TAG OBJECTS FROM (SELECT object_id, {'x': 1} AS s FROM system.objects)", "STRUCT"),
        (
            "TAG OBJECTS FROM (SELECT object_id, CAST(NULL AS INT) AS \":x\" FROM system.objects)",
            "the name of a tag cannot begin with a colon",
        ),
    ] {
        assert!(db.error(sql).to_string().starts_with(message), "{sql}: {}", db.error(sql));
    }
}

#[test]
fn of_columns_maps_and_rows_that_give_a_tag_twice_the_last_one_counts() {
    let db = with_stars();
    let tag = |columns: &str| db.rows(&format!("TAG OBJECTS FROM (SELECT object_id, {columns} FROM system.objects WHERE name = 'gal1')"));
    for (columns, a) in [("MAP {'a': 1} AS m, 2 AS a", 2), ("4 AS a, MAP {'a': 3} AS m", 3), ("NULL AS a, MAP {'a': NULL} AS m", 3)] {
        assert_eq!(tag(columns), ["1"]);
        assert_eq!(found(&db, &format!("WHERE a = {a}")), "gal1", "{columns}");
    }
    db.script(
        "COPY BLOBS FROM (SELECT 'b' AS name, repeat('x', n) AS content, n AS last, MAP {'t' || n: n} AS m
                          FROM (VALUES (1), (2), (3)) AS v (n) ORDER BY n)",
    );
    assert_eq!(found(&db, "WHERE last = 3 AND t1 = 1 AND t2 = 2 AND t3 = 3"), "b");
    assert_eq!(db.rows("SELECT size_bytes FROM system.blobs"), ["3"]);
}

#[test]
fn tags_of_maps_are_those_of_the_rows_of_a_part() {
    let db = Db::new();
    db.script(
        "CREATE TABLE maps AS SELECT i, MAP {'n': i, 'k' || (i % 3): i * 2} AS tags FROM range(20000) AS r (i);
         COPY BLOBS FROM (SELECT 'b' || i AS name, '' AS content, tags FROM (SELECT * FROM maps ORDER BY i LIMIT 9000 OFFSET 5000))",
    );
    assert_eq!(found(&db, "WHERE n = 13999 AND k1 = 27998"), "b13999");
    assert_eq!(db.rows("SELECT count(*) FROM system.tags WHERE tag = 'n' AND integer_value = CAST(substr(name, 2) AS INT)"), ["9000"]);
}

#[test]
fn tags_stay_with_a_renamed_table_and_go_with_a_dropped_one() {
    let db = with_stars();
    db.script(
        "ALTER TABLE gal1 RENAME TO milky; DROP TABLE gal2; CREATE TABLE gal2 (a INT); DROP VIEW star; CREATE VIEW star AS SELECT 1 AS a",
    );
    assert_eq!(found(&db, "WHERE survey IS NOT NULL"), "milky");
    db.script("CREATE SCHEMA s; CREATE GROUP s.g");
    assert!(db.error("DROP SCHEMA s").to_string().contains("not empty"));
    db.script("DROP SCHEMA s CASCADE; CREATE SCHEMA s");
    assert_eq!(db.rows("FIND GROUPS").len(), 0);
}

#[test]
fn a_transaction_takes_its_tags_and_groups_back() {
    let db = with_stars();
    db.script("BEGIN; CREATE GROUP g; ALTER GROUP g ADD TABLE gal1; TAG TABLE plain SET (plate = 1); COMMENT ON TABLE plain IS 'x'");
    assert_eq!((found(&db, "WHERE plate = 1"), found(&db, "IN GROUP g")), ("plain".to_string(), "gal1".to_string()));
    let other = db.engine.session().unwrap();
    assert!(wait(super::helpers::run(&other, "FIND OBJECTS WHERE plate = 1")).unwrap().rows().is_empty());
    db.run("ROLLBACK");
    assert_eq!(found(&db, "WHERE plate = 1 OR kind = 'group'"), "");
    assert_eq!(db.rows("SELECT comment FROM system.objects WHERE name = 'plain'"), ["NULL"]);
}

#[test]
fn two_sessions_that_tag_one_object_both_succeed_and_two_transactions_do_not() {
    let db = with_stars();
    let other = db.engine.session().unwrap();
    let run = |sql: &str| wait(super::helpers::run(&other, sql));
    db.run("BEGIN");
    db.run("TAG TABLE plain SET (a = 1)");
    run("TAG TABLE plain SET (b = 2)").unwrap();
    assert_eq!(db.error("COMMIT").kind(), ErrorKind::Conflict);
    db.run("TAG TABLE plain SET (a = 1)");
    assert_eq!(db.rows("SELECT tags FROM system.objects WHERE name = 'plain'"), [r#"{"a":1,"b":2}"#]);
}

#[test]
fn groups_hold_objects_and_groups_and_are_searched_at_any_depth() {
    let db = with_stars();
    db.script(
        "CREATE GROUP sky WITH TAGS (year = 2020); CREATE GROUP IF NOT EXISTS sky; CREATE GROUP north IN sky; CREATE GROUP deep IN north;
         ALTER GROUP deep ADD TABLE gal1, gal2, VIEW star; ALTER GROUP sky ADD TABLE plain, gal1",
    );
    assert_eq!(found(&db, "IN GROUP sky"), "gal1 gal2 star plain north deep");
    assert_eq!(found(&db, "IN GROUP sky WHERE plate = 4055"), "gal1 star");
    assert_eq!(
        db.rows("SELECT group_name, kind, name FROM system.group_members ORDER BY 1, 2, 3"),
        [
            "deep|table|gal1",
            "deep|table|gal2",
            "deep|view|star",
            "north|group|deep",
            "sky|group|north",
            "sky|table|gal1",
            "sky|table|plain"
        ]
    );
    assert_eq!(db.error("ALTER GROUP deep ADD GROUP sky").to_string(), "group sky cannot be in group deep, which is below it");
    assert_eq!(db.error("ALTER GROUP deep ADD GROUP deep").to_string(), "group deep cannot be in itself");
    assert_eq!(db.error("ALTER GROUP north REMOVE TABLE gal1").to_string(), "gal1 is not in group north");
    db.run("ALTER GROUP deep REMOVE TABLE gal2, VIEW star");
    assert_eq!(found(&db, "IN GROUP north"), "gal1 deep");
    assert_eq!(db.error("CREATE GROUP sky").to_string(), "group \"sky\" already exists");
    db.run("ALTER GROUP north RENAME TO south");
    assert!(db.error("DROP GROUP south").to_string().starts_with("group south has 1 object"));
    db.run("DROP GROUP sky CASCADE");
    assert_eq!(db.rows("FIND GROUPS").len(), 0);
    assert_eq!(found(&db, ""), "gal1 gal2 star plain");
    db.script(
        "DROP GROUP IF EXISTS sky; CREATE GROUP a; CREATE GROUP b; CREATE GROUP c IN a; ALTER GROUP b ADD GROUP c; DROP GROUP a CASCADE",
    );
    assert_eq!(found(&db, "IN GROUP b"), "c");
}

#[test]
fn what_is_found_goes_into_a_group() {
    let db = with_stars();
    assert_eq!(db.rows("FIND OBJECTS WHERE plate = 4055 INTO GROUP p4055"), ["2"]);
    assert_eq!(db.rows("FIND TABLES WHERE plate = 4056 INTO GROUP p4055"), ["1"]);
    assert_eq!(found(&db, "IN GROUP p4055"), "gal1 gal2 star");
}

#[test]
fn comments_are_kept_until_they_are_null() {
    let db = with_stars();
    db.script("CREATE GROUP g; COMMENT ON TABLE gal1 IS 'the first''s'; COMMENT ON VIEW star IS 'x'; COMMENT ON GROUP g IS 'of all'");
    let comments = "SELECT name, comment FROM system.objects WHERE comment IS NOT NULL ORDER BY name";
    assert_eq!(db.rows(comments), ["g|of all", "gal1|the first's", "star|x"]);
    assert_eq!(found(&db, "WHERE comment LIKE '%all'"), "g");
    db.script("COMMENT ON TABLE gal1 IS NULL; COMMENT ON VIEW star IS ''");
    assert_eq!(db.rows(comments), ["g|of all"]);
    assert!(db.error(&format!("COMMENT ON TABLE gal1 IS '{}'", "x".repeat(1 << 20))).to_string().contains("at most"));
}

#[test]
fn a_view_that_is_replaced_keeps_what_is_said_of_it() {
    let db = with_stars();
    db.run("CREATE OR REPLACE VIEW star AS SELECT 4 AS a");
    assert_eq!(found(&db, "WHERE survey = 'eboss'"), "star");
}

#[test]
fn an_older_version_has_the_tags_of_its_time_after_a_backup_too() {
    let db = with_stars();
    let backup = db.file("backup");
    db.run(&format!("BACKUP TO '{backup}'"));
    let restored = db.file("restored");
    engine::backup::restore(backup.as_ref(), restored.as_ref(), false, &mut |_| ControlFlow::Continue(())).unwrap();
    let engine = engine::Engine::open(restored.as_ref(), super::helpers::options()).unwrap();
    let session = engine.session().unwrap();
    assert_eq!(wait(super::helpers::run(&session, "FIND OBJECTS WHERE plate = 4055")).unwrap().rows().len(), 2);
}

#[test]
fn wrong_statements_about_objects_say_what_is_wrong() {
    let db = with_stars();
    for (sql, message) in [
        ("TAG TABLE gone SET (a = 1)", "table \"gone\" does not exist"),
        ("TAG TABLE star SET (a = 1)", "\"star\" is a view, not a table"),
        ("TAG TABLE gal1 SET (a = NULL)", "tag \"a\" cannot be NULL"),
        ("TAG TABLE gal1 SET (a = b)", "b is not a constant"),
        ("TAG TABLE gal1 SET (a = [1, [2]])", ""),
        ("TAG TABLE gal1 SET (a = {'x': 1})", "{'x': 1} cannot be the value of a tag"),
        ("TAG TABLE gal1 SET (\":group\" = 1)", "the name of a tag cannot begin with a colon, as \":group\" does; choose another one"),
        ("TAG TABLE gal1 SET a = 1", "syntax error"),
        ("TAG TABLE gal1 SET ()", "syntax error"),
        ("TAG OBJECTS SET (a = 1)", "syntax error"),
        ("TAG TABLE system.tables SET (a = 1)", ""),
        ("UNTAG TABLE gal1", "syntax error"),
        ("FIND", "syntax error"),
        ("FIND OBJECTS WHERE", "syntax error"),
        ("FIND OBJECTS WHERE plate + 1 = 2", "the condition plate + 1 = 2 in FIND is not supported"),
        ("FIND OBJECTS WHERE plate = mjd", "comparing with another tag, mjd, in FIND is not supported"),
        ("FIND OBJECTS WHERE plate", ""),
        ("FIND OBJECTS LIMIT -1", "syntax error"),
        ("FIND OBJECTS IN GROUP gone", "group \"gone\" does not exist"),
        ("CREATE GROUP nowhere.g", "schema \"nowhere\" does not exist"),
        ("ALTER GROUP gone ADD TABLE gal1", "group \"gone\" does not exist"),
        ("DROP GROUP gone", "group \"gone\" does not exist"),
        ("COMMENT ON TABLE gal1 IS 5", "syntax error"),
        ("COMMENT ON COLUMN gal1.a IS 'x'", "syntax error"),
        ("FIND OBJECTS WHERE \":group\" = 1", "the name of a tag cannot begin with a colon"),
        ("DROP TABLE system.objects", ""),
        ("DELETE FROM system.objects", ""),
        ("INSERT INTO system.objects VALUES (1)", ""),
    ] {
        match db.try_run(sql) {
            Err(error) => assert!(error.to_string().starts_with(message), "{sql}: {error}"),
            // A number is no boolean, so the condition is NULL.
            Ok(ran) => assert!(sql == "FIND OBJECTS WHERE plate" && ran.rows().is_empty(), "{sql}"),
        }
    }
    let long = format!("TAG TABLE gal1 SET (a = '{}')", "x".repeat(10 << 20));
    assert!(db.error(&long).to_string().starts_with("the value of tag \"a\" has 10485760 bytes"));
}

fn blob_bytes(db: &Db, name: &str) -> Vec<u8> {
    let ran = db.run(&format!("SELECT content FROM system.blobs WHERE name = '{name}'"));
    assert_eq!(ran.row_count(), 1, "{name}");
    ran.batches[0].column(0).as_binary_view().value(0).to_vec()
}

#[test]
fn a_blob_is_copied_from_a_file_and_back() {
    let db = Db::new();
    let (file, copy, empty) = (db.file("in.bin"), db.file("out.bin"), db.file("empty"));
    let content: Vec<u8> = (0..3_000_000u32).map(|at| (at * 31 % 251) as u8).collect();
    std::fs::write(&file, &content).unwrap();
    std::fs::write(&empty, b"").unwrap();
    db.run(&format!("COPY BLOB b FROM '{file}' WITH TAGS (plate = 4055)"));
    db.run(&format!("COPY BLOB none FROM '{empty}'"));
    let db = db.reopened();
    assert_eq!(blob_bytes(&db, "b"), content);
    assert!(blob_bytes(&db, "none").is_empty());
    db.run(&format!("COPY BLOB b TO '{copy}'"));
    assert_eq!(std::fs::read(&copy).unwrap(), content);
    assert_eq!(
        db.rows("SELECT name, size_bytes, octet_length(substr(content, 5, 10)) FROM system.blobs ORDER BY name"),
        ["b|3000000|10", "none|0|0"]
    );
    assert_eq!(found(&db, "WHERE plate = 4055 AND size_bytes > 1000"), "b");
    std::fs::write(&file, b"new").unwrap();
    let before = db.value("SELECT object_id FROM system.objects WHERE name = 'b'");
    db.run(&format!("COPY BLOB b FROM '{file}'"));
    assert_eq!(blob_bytes(&db, "b"), b"new");
    assert_eq!(db.value("SELECT object_id FROM system.objects WHERE name = 'b' AND size_bytes = 3 AND tags IS NOT NULL"), before);
}

#[test]
fn many_blobs_come_from_rows_and_share_segments() {
    let db = Db::new();
    let made = "COPY BLOBS FROM (SELECT 'blob_' || i AS name, CAST(repeat('x', i) AS BYTEA) AS content, i AS n FROM range(2000) AS r(i))";
    assert_eq!(db.rows(made), ["2000"]);
    assert_eq!(db.rows("SELECT count(*), sum(octet_length(content)), sum(size_bytes) FROM system.blobs"), ["2000|1999000|1999000"]);
    assert_eq!(blob_bytes(&db, "blob_7"), b"xxxxxxx");
    assert_eq!(db.rows("FIND BLOBS WHERE n BETWEEN 10 AND 19").len(), 10);
    db.script("ALTER BLOB blob_7 RENAME TO seven; DROP BLOB blob_8; DROP BLOB IF EXISTS blob_8; CREATE GROUP g; ALTER GROUP g ADD BLOB seven, blob_9");
    assert_eq!(found(&db, "IN GROUP g"), "seven blob_9");
    assert_eq!(db.rows("SELECT count(*) FROM system.blobs"), ["1999"]);
    db.script("BEGIN; DROP BLOB seven; ROLLBACK");
    let db = db.reopened();
    assert_eq!(blob_bytes(&db, "seven"), b"xxxxxxx");
}

#[test]
fn wrong_statements_about_blobs_say_what_is_wrong() {
    let db = Db::new();
    let file = db.file("b.bin");
    std::fs::write(&file, b"abc").unwrap();
    db.run(&format!("COPY BLOB b FROM '{file}'"));
    for (sql, message) in [
        ("COPY BLOB gone TO 'x'".to_string(), "blob \"gone\" does not exist"),
        (format!("COPY BLOB b FROM '{}'", db.file("gone")), "cannot open"),
        (format!("COPY BLOB b FROM '{}'", db.file("store")), ""),
        (format!("COPY BLOB b TO '{}/no/such'", db.file("")), "cannot write"),
        ("COPY BLOB b TO STDOUT".to_string(), "syntax error"),
        (format!("COPY BLOB nowhere.b FROM '{file}'"), "schema \"nowhere\" does not exist"),
        ("COPY BLOBS FROM (SELECT 1 AS a)".to_string(), "the rows are no blobs"),
        ("COPY BLOBS FROM (SELECT NULL AS name, 'x' AS content)".to_string(), "a row has no name or no content"),
        ("COPY BLOBS FROM (SELECT 'b' AS name, 5 AS content)".to_string(), "BIGINT as the content of a blob is not supported"),
        ("ALTER BLOB b RENAME TO b".to_string(), "blob \"b\" already exists"),
        ("DROP BLOB gone".to_string(), "blob \"gone\" does not exist"),
        ("DELETE FROM system.blobs".to_string(), ""),
    ] {
        assert!(db.error(&sql).to_string().starts_with(message), "{sql}: {}", db.error(&sql));
    }
    assert_eq!(blob_bytes(&db, "b"), b"abc");
    db.run("CREATE TABLE blob (a INT)");
    std::fs::write(db.file("rows.csv"), "a\n1\n").unwrap();
    assert_eq!(db.rows(&format!("COPY blob FROM '{}'", db.file("rows.csv"))), ["1"]);
}

#[test]
fn what_is_read_only_is_changed_by_nobody_until_it_may_be() {
    let db = with_stars();
    let file = db.file("b.bin");
    std::fs::write(&file, b"abc").unwrap();
    db.run(&format!("COPY BLOB b FROM '{file}'"));
    db.script("CREATE GROUP g; ALTER GROUP g ADD TABLE gal1; ALTER TABLE gal1 SET (read_only = true)");
    db.script("ALTER GROUP g SET (read_only = true); ALTER BLOB b SET (read_only)");
    assert_eq!(db.rows("SELECT name FROM system.objects WHERE is_read_only ORDER BY name"), ["b", "g", "gal1"]);
    let db = db.reopened();
    for sql in [
        "INSERT INTO gal1 VALUES (5)".to_string(),
        "INSERT INTO gal1 SELECT a FROM gal2".to_string(),
        "DELETE FROM gal1".to_string(),
        "UPDATE gal1 SET a = 3".to_string(),
        "TRUNCATE TABLE gal1".to_string(),
        "DROP TABLE gal1".to_string(),
        "CREATE OR REPLACE TABLE gal1 AS SELECT 2 AS a".to_string(),
        "ALTER TABLE gal1 ADD COLUMN b INT".to_string(),
        "ALTER TABLE gal1 RENAME TO other".to_string(),
        "DROP GROUP g CASCADE".to_string(),
        "ALTER GROUP g REMOVE TABLE gal1".to_string(),
        "ALTER GROUP g ADD TABLE gal2".to_string(),
        "ALTER GROUP g RENAME TO h".to_string(),
        "DROP BLOB b".to_string(),
        "ALTER BLOB b RENAME TO c".to_string(),
        format!("COPY BLOB b FROM '{file}'"),
    ] {
        let error = db.error(&sql).to_string();
        assert!(error.contains("read-only"), "{sql}: {error}");
    }
    assert_eq!(db.rows("SELECT a FROM gal1"), ["1"]);
    db.run("TAG TABLE gal1, GROUP g, BLOB b SET (k = 1)");
    db.script("ALTER TABLE gal1 SET (read_only = false); ALTER GROUP g SET (read_only = false); ALTER BLOB b SET (read_only = false)");
    db.script("INSERT INTO gal1 VALUES (5); DROP GROUP g CASCADE; DROP BLOB b; DROP TABLE gal1");
    assert!(db.error("CREATE TABLE x WITH (read_only = true) AS SELECT 1 AS a").to_string().contains("not supported"));
}

//! Tiers in SQL: which tables lie where, the moves in the background, and what queries say of them.

use std::ops::ControlFlow;

use super::helpers::{Db, options, run, soon, wait};
use engine::{Engine, EngineOptions, MaintenanceOptions, backup};

fn moving() -> EngineOptions {
    let maintenance = MaintenanceOptions { enabled: true, delay_ms: 1, ..MaintenanceOptions::default() };
    EngineOptions { maintenance, ..options() }
}

/// An engine that moves segments soon, with directories for its tiers on disk and of objects.
fn with_tiers() -> Db {
    let db = Db::with(moving());
    let directory = db.file("disk");
    std::fs::create_dir(&directory).unwrap();
    db.run(&format!("ALTER SYSTEM SET disk_tier = '{directory}'"));
    let bucket = format!("{}/bucket", db.file("objects"));
    std::fs::create_dir_all(&bucket).unwrap();
    db.run(&format!("ALTER SYSTEM SET object_tier = 'file://{bucket}'"));
    db.script("CREATE TABLE t AS SELECT i AS a FROM range(100000) AS r(i); CREATE ARRAY grid (y 200, x 300) OF DOUBLE; CREATE GROUP g");
    db.script("UPDATE ARRAY grid SET REGION [...] = 2; ALTER GROUP g ADD TABLE t, ARRAY grid");
    db
}

fn tiers(db: &Db) -> Vec<String> {
    db.rows("SELECT table_name, tier FROM system.segments WHERE kind = 'segment' AND table_name IN ('t', 'grid') ORDER BY table_name, tier")
}

#[test]
fn a_table_is_moved_to_its_tier_in_the_background() {
    let db = with_tiers();
    let before = tiers(&db);
    db.script("ALTER TABLE t SET TIER disk");
    assert!(soon(|| tiers(&db).contains(&"t|disk".to_string())), "{:?}", db.rows("SELECT * FROM system.moves"));
    assert_eq!(db.value("SELECT sum(a) FROM t"), "4999950000");
    assert_eq!(db.rows("SELECT name, tier FROM system.objects WHERE kind IN ('table', 'array') ORDER BY name"), ["grid|NULL", "t|disk"]);
    let analyzed = db.rows("EXPLAIN ANALYZE SELECT sum(a) FROM t").join("\n");
    assert!(analyzed.contains("disk_tier_bytes=400.0 K"), "{analyzed}");
    assert_eq!(db.rows("SELECT from_tier, to_tier, state FROM system.moves WHERE table_name = 't'"), ["pmem|disk|done"]);
    assert!(db.value("SELECT definition FROM system.tables WHERE table_name = 't'").ends_with("WITH (tier = 'disk')"));
    db.script("ALTER TABLE t SET TIER pmem");
    assert!(soon(|| tiers(&db) == before), "{:?}", tiers(&db));
}

#[test]
fn a_group_takes_what_is_in_it_along_and_new_segments_follow() {
    let db = with_tiers();
    db.script("OPTIMIZE TABLE grid; ALTER GROUP g SET TIER disk");
    assert!(soon(|| tiers(&db).iter().all(|row| row.ends_with("|disk"))), "{:?}", tiers(&db));
    db.script("INSERT INTO t SELECT i FROM range(200000) AS r(i)");
    assert!(soon(|| tiers(&db).len() > 1 && tiers(&db).iter().all(|row| row.ends_with("|disk"))), "{:?}", tiers(&db));
    assert_eq!((db.value("SELECT count(*) FROM t"), db.value("SELECT sum(value) FROM grid")), ("300000".into(), "120000.0".into()));
    // The rows of an earlier version come back from where they lie.
    db.script("CREATE SNAPSHOT full; TRUNCATE t; RESTORE TABLE t TO SNAPSHOT full");
    assert_eq!(db.value("SELECT count(*) FROM t"), "300000");
    let db = db.reopened();
    assert_eq!(db.value("SELECT sum(value) FROM grid"), "120000.0");
    db.script("DROP SNAPSHOT full; DROP TABLE t; DROP ARRAY grid");
}

/// A metric of all scans of a statement, summed.
fn metric(db: &Db, name: &str, sql: &str) -> Vec<String> {
    let analyzed = db.rows(&format!("EXPLAIN ANALYZE {sql}")).join(" ");
    let key = format!("{name}=");
    let values = analyzed.split(&key).skip(1);
    values.map(|rest| rest.split([',', ']']).next().unwrap_or_default().to_string()).collect()
}

#[test]
fn a_query_fetches_the_columns_and_zones_that_it_needs_from_the_object_tier() {
    let db = with_tiers();
    db.script("CREATE TABLE u AS SELECT i AS a, i % 10 AS b, 'a text of some length ' || i AS c FROM range(300000) AS r(i)");
    let sums = "SELECT count(*), sum(a), sum(b), max(c), min(c) FILTER (WHERE b = 3) FROM u";
    let expected = db.rows(sums);
    db.script("ALTER TABLE u SET TIER object");
    assert!(soon(|| db.rows("SELECT DISTINCT tier FROM system.segments WHERE table_name = 'u'") == ["object"]));
    // A new process has nothing of it in memory.
    let db = db.reopened();
    assert_eq!(metric(&db, "fetched_bytes", "SELECT count(*) FROM u"), [""; 0]);
    assert_eq!(metric(&db, "fetched_bytes", "SELECT * FROM u WHERE a > 400000"), [""; 0]);
    assert_eq!(metric(&db, "fetch_requests", "SELECT sum(b) FROM u WHERE a = 5"), ["2"]);
    assert_eq!(metric(&db, "fetched_bytes", "SELECT sum(b) FROM u WHERE a = 5"), [""; 0]);
    assert_eq!(db.rows("SELECT c FROM u WHERE a IN (7, 299999) ORDER BY a"), ["a text of some length 7", "a text of some length 299999"]);
    for _ in 0..2 {
        assert_eq!(db.rows(sums), expected);
    }
    // Once all of it was read, it is read from memory.
    assert_eq!(db.rows("SELECT DISTINCT tier FROM system.segments WHERE table_name = 'u'"), ["memory"]);
}

#[test]
fn rows_in_the_object_tier_are_changed_joined_and_compacted() {
    let db = with_tiers();
    let oracle = "SELECT count(*), sum(a) FROM t";
    db.script("ALTER TABLE t SET TIER object; ALTER ARRAY grid SET TIER object; OPTIMIZE TABLE grid");
    assert!(soon(|| tiers(&db).iter().all(|row| row.ends_with("|object"))), "{:?}", db.rows("SELECT * FROM system.moves"));
    let db = db.reopened();
    assert_eq!(db.value("SELECT count(*) FROM t AS x JOIN t AS y ON x.a = y.a + 1 WHERE x.a < 1000"), "999");
    assert_eq!(db.value("SELECT sum(value) FROM region('grid', [0:10, 0:10])"), "200.0");
    db.script("DELETE FROM t WHERE a % 2 = 0; UPDATE t SET a = a + 1 WHERE a < 100; INSERT INTO t VALUES (-1)");
    let rows = db.rows(oracle);
    assert_eq!(rows, ["50001|2500000049"]);
    db.script("OPTIMIZE TABLE t");
    assert_eq!(db.rows(oracle), rows);
    db.script("ALTER TABLE t SET TIER pmem");
    assert!(soon(|| tiers(&db).contains(&"t|pmem".to_string())), "{:?}", tiers(&db));
    assert_eq!(db.rows(oracle), rows);
}

#[test]
fn a_table_of_the_memory_tier_is_read_from_a_copy_as_long_as_there_is_room() {
    let db = with_tiers();
    db.script("ALTER TABLE t SET TIER memory");
    assert!(soon(|| tiers(&db).contains(&"t|memory".to_string())), "{:?}", db.rows("SELECT * FROM system.moves"));
    assert_eq!(metric(&db, "memory_tier_bytes", "SELECT sum(a) FROM t"), ["400.0 K"]);
    db.script("ALTER TABLE t SET TIER pmem");
    assert!(soon(|| tiers(&db).contains(&"t|pmem".to_string())), "{:?}", tiers(&db));
    db.script("ALTER SYSTEM SET disk_tier_limit = '100 kB'; ALTER TABLE t SET TIER disk");
    let failed = "SELECT message FROM system.moves WHERE state = 'failed'";
    assert!(soon(|| !db.rows(failed).is_empty()));
    assert!(db.value(failed).contains("is full"), "{}", db.value(failed));
    assert_eq!(db.value("SELECT sum(a) FROM t"), "4999950000");
    let settings = "SELECT name, value FROM system.settings WHERE name LIKE '%tier_limit' ORDER BY name";
    assert_eq!(db.rows(settings), ["disk_tier_limit|102400", "memory_tier_limit|1073741824", "object_tier_limit|NULL"]);
}

#[test]
fn a_blob_has_a_tier_and_keeps_it_when_it_is_written_again() {
    let db = with_tiers();
    db.script("COPY BLOBS FROM (SELECT 'b' || i AS name, repeat('x', 400000 + i)::BYTEA AS content FROM range(6) AS r(i)); CREATE GROUP h");
    db.script("ALTER GROUP h ADD BLOB b1, BLOB b2, TABLE t; ALTER BLOB b0 SET TIER disk; ALTER GROUP h SET TIER object");
    let tiers = "SELECT name, tier FROM system.objects WHERE tier IS NOT NULL ORDER BY name";
    assert_eq!(db.rows(tiers), ["b0|disk", "b1|object", "b2|object", "t|object"]);
    let files = |dir: &str| std::process::Command::new("find").args([&db.file(dir), "-name", "*.arrow*"]).output().unwrap().stdout;
    let count = |dir: &str| String::from_utf8(files(dir)).unwrap().lines().count();
    assert!(soon(|| (count("disk"), count("objects")) == (1, 2)), "{} {}", count("disk"), count("objects"));
    let lengths = "SELECT name, octet_length(content) FROM system.blobs ORDER BY name";
    let expected: Vec<String> = (0..6).map(|i| format!("b{i}|{}", 400_000 + i)).collect();
    assert_eq!(db.rows(lengths), expected);
    db.script("COPY BLOBS FROM (SELECT 'b1' AS name, repeat('y', 500000)::BYTEA AS content); ALTER BLOB b2 SET TIER pmem; DROP BLOB b0");
    assert_eq!(db.rows(tiers), ["b1|object", "b2|pmem", "t|object"]);
    let db = db.reopened();
    assert_eq!(db.rows(lengths), ["b1|500000", "b2|400002", "b3|400003", "b4|400004", "b5|400005"]);
}

/// The ids of the blobs of a tier were read from there, also to find others.
#[test]
fn blobs_that_cannot_be_fetched_are_dropped_and_replaced_and_others_read() {
    let db = with_tiers();
    db.script("COPY BLOBS FROM (SELECT 'b' || i AS name, repeat('x', 400000 + i)::BYTEA AS content FROM range(6) AS r(i))");
    db.script("ALTER BLOB b0 SET TIER object; ALTER BLOB b1 SET TIER object; ALTER BLOB b2 SET TIER object");
    let tiers_of_blobs = "SELECT DISTINCT tier FROM system.segments WHERE table_name = 'blobs_object'";
    assert!(soon(|| db.rows(tiers_of_blobs) == ["object"]), "{:?}", db.rows("SELECT * FROM system.segments"));
    let objects = db.file("objects");
    let db = db.reopened();
    std::fs::rename(&objects, format!("{objects}.away")).unwrap();
    let length = |name: &str| format!("SELECT octet_length(content) FROM system.blobs WHERE name = '{name}'");
    assert_eq!(db.value(&length("b4")), "400004");
    assert!(db.error(&length("b1")).to_string().contains("the object store has no"), "{}", db.error(&length("b1")));
    db.script("COPY BLOBS FROM (SELECT 'b5' AS name, 'new'::BYTEA AS content); DROP BLOB b3; DROP BLOB b0");
    db.script("COPY BLOBS FROM (SELECT 'b1' AS name, 'again'::BYTEA AS content)");
    assert_eq!((db.value(&length("b5")), db.value(&length("b1"))), ("3".into(), "5".into()));
    assert_eq!(db.rows("SELECT name FROM system.objects WHERE kind = 'blob' ORDER BY name"), ["b1", "b2", "b4", "b5"]);
    std::fs::rename(format!("{objects}.away"), &objects).unwrap();
    assert_eq!(db.value(&length("b2")), "400002");
}

/// Where the segments of these tables are read from, by table.
fn tiers_of(db: &Db, names: &str) -> Vec<String> {
    db.rows(&format!(
        "SELECT DISTINCT table_name, tier FROM system.segments WHERE kind = 'segment' AND table_name IN ({names}) ORDER BY table_name"
    ))
}

#[test]
fn a_table_that_is_not_used_moves_down_and_comes_back_on_use() {
    let db = with_tiers();
    db.script("ALTER TABLE t SET TIER POLICY 'disk after 1 second, object after 1 day, back on use'");
    assert!(db.value("SELECT definition FROM system.tables WHERE table_name = 't'").contains("tier_policy = 'disk after 1 second"));
    assert_eq!(tiers_of(&db, "'t'"), ["t|pmem"]);
    assert!(soon(|| tiers_of(&db, "'t'") == ["t|disk"]), "{:?}", tiers(&db));
    // The thread looks for uses after each commit.
    let come_back = || {
        db.value("SELECT sum(a) FROM t");
        db.script("CREATE TABLE u (a INT); DROP TABLE u");
        tiers_of(&db, "'t'") == ["t|pmem"]
    };
    assert!(soon(come_back), "{:?}", tiers(&db));
    db.script("ALTER GROUP g SET TIER POLICY ''");
    assert!(!db.value("SELECT definition FROM system.tables WHERE table_name = 't'").contains("tier_policy"));
    db.script("ALTER TABLE t SET TIER POLICY 'object after 0 seconds'");
    assert!(soon(|| tiers_of(&db, "'t'") == ["t|object"]), "{:?}", tiers(&db));
    db.script("ALTER TABLE t SET TIER pmem");
    assert!(soon(|| tiers_of(&db, "'t'") == ["t|pmem"]), "{:?}", tiers(&db));
}

#[test]
fn what_was_read_of_a_table_is_known_in_the_next_process() {
    let db = with_tiers();
    let touched = "SELECT bytes_touched, last_touched_at FROM system.objects WHERE name = 't'";
    db.value("SELECT sum(a) FROM t");
    db.script("OPTIMIZE TABLE t");
    let before = db.rows(touched);
    assert!(before[0].starts_with("400000|"), "{before:?}");
    assert_eq!(db.reopened().rows(touched), before);
}

#[test]
fn eventual_consistency_reads_the_last_version_that_is_near_and_says_how_old_it_is() {
    let db = with_tiers();
    // What only older versions need stays in the store's directory.
    db.script("UPDATE t SET a = a + 1; OPTIMIZE TABLE t; ALTER TABLE t SET TIER object");
    assert!(
        soon(|| !tiers(&db).is_empty() && tiers(&db).iter().all(|row| !row.starts_with("t|") || row == "t|object")),
        "{:?}",
        tiers(&db)
    );
    // Nothing is in memory in a new process.
    let db = db.reopened_with(options());
    let sum = |db: &Db| {
        let ran = db.run("SELECT sum(a) FROM t");
        (ran.rows().remove(0), ran.report.staleness_ms > 0)
    };
    db.run("SET consistency = 'eventual'");
    assert_eq!(sum(&db), ("4999950000".into(), true));
    assert!(db.rows("EXPLAIN SELECT a FROM t").join(" ").contains(", staleness_ms="));
    db.script("PREPARE total AS SELECT sum(a) FROM t WHERE a >= $1");
    assert_eq!(db.value("EXECUTE total(0)"), "4999950000");
    let joined = "SELECT count(*) FROM t JOIN (SELECT a FROM t) AS u ON t.a = u.a WHERE u.a = 0";
    assert_eq!(db.value(joined), "1", "both names are of one version");
    // Statements that write read the last commit, also in their queries.
    db.script("CREATE ARRAY sums (x 2) OF BIGINT; UPDATE ARRAY sums SET REGION [0] = (SELECT sum(a) FROM t)");
    db.script("CREATE TABLE copied AS SELECT sum(a) AS a FROM t; UPDATE copied SET a = (SELECT sum(a) FROM t)");
    assert_eq!(
        (db.value("SELECT value FROM sums WHERE x = 0"), db.value("SELECT a FROM copied")),
        ("5000050000".into(), "5000050000".into())
    );
    let db = db.reopened_with(options());
    db.run("SET consistency = 'eventual'");
    db.script("BEGIN");
    assert_eq!(sum(&db), ("5000050000".into(), false), "a transaction reads one version");
    db.script("ROLLBACK");
    // That has brought it near.
    assert_eq!(sum(&db), ("5000050000".into(), false));
    let db = db.reopened_with(options());
    db.run("SET consistency = 'eventual'");
    db.script("UPDATE t SET a = a + 1 WHERE a < 10");
    db.run("RESET consistency");
    assert_eq!(sum(&db), ("5000050009".into(), false), "a statement that writes reads the last commit");
    let db = db.reopened_with(options());
    db.script("ALTER TABLE t ADD COLUMN b INT; SET consistency = 'eventual'");
    assert_eq!(db.value("SELECT count(b) FROM t"), "0", "an older version has other columns");
    assert!(db.error("SET consistency = 'strong'").hint().unwrap().contains("'eventual'"));
}

/// Three tables on disk, of which most will be read.
fn with_relatives() -> Db {
    let db = with_tiers();
    for name in ["a", "b", "c", "d"] {
        db.script(&format!("CREATE TABLE {name} AS SELECT i AS x FROM range(20000) AS r(i); ALTER TABLE {name} SET TIER disk"));
    }
    assert!(soon(|| tiers_of(&db, "'a', 'b', 'c', 'd'") == ["a|disk", "b|disk", "c|disk", "d|disk"]), "{:?}", tiers(&db));
    db
}

#[test]
fn the_rest_of_a_group_comes_to_memory_when_most_of_it_was_read() {
    let db = with_relatives();
    db.script("CREATE GROUP near; CREATE GROUP far; ALTER GROUP near ADD TABLE a, TABLE b, TABLE c; ALTER GROUP far ADD GROUP near");
    db.script("ALTER GROUP far ADD TABLE d; ALTER SYSTEM SET prefetch_window = '1 hour'");
    db.value("SELECT sum(x) FROM a");
    db.value("SELECT sum(x) FROM b");
    assert!(soon(|| tiers_of(&db, "'c', 'd'") == ["c|memory", "d|disk"]), "{:?}", db.rows("SELECT * FROM system.prefetches"));
    let decided = "SELECT relation, name, members, touched_members, objects, segments, used_bytes, state FROM system.prefetches";
    assert_eq!(db.rows(decided), ["group|near|3|2|1|1|0|done"]);
    db.value("SELECT sum(x) FROM c");
    assert!(soon(|| tiers_of(&db, "'c', 'd'") == ["c|memory", "d|memory"]));
    assert_eq!(db.rows(decided), ["group|near|3|2|1|1|80000|done", "group|far|4|3|1|1|0|done"]);
}

#[test]
fn what_has_the_same_tag_comes_to_memory_unless_it_is_switched_off() {
    let db = with_relatives();
    db.script("ALTER SYSTEM SET prefetch = 'off'; ALTER SYSTEM SET prefetch_share = 0.3; ALTER SYSTEM SET prefetch_window = '1 hour'");
    db.script("TAG TABLE a SET (plate = 7); TAG TABLE b SET (plate = 7); TAG TABLE c SET (plate = 8); TAG TABLE d SET (plate = 7)");
    db.value("SELECT sum(x) FROM a");
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert_eq!(db.rows("SELECT * FROM system.prefetches"), [""; 0]);
    db.script("ALTER SYSTEM SET prefetch = 'on'");
    assert!(soon(|| tiers_of(&db, "'b', 'c', 'd'") == ["b|memory", "c|disk", "d|memory"]));
    assert_eq!(db.rows("SELECT relation, name, members, objects FROM system.prefetches"), ["tag|plate = 7|3|2"]);
}

#[test]
fn the_rest_of_a_group_of_blobs_comes_to_memory_when_most_of_it_was_read() {
    let db = with_tiers();
    db.script("CREATE GROUP plate; ALTER SYSTEM SET prefetch_window = '1 hour'");
    for name in ["s1", "s2", "s3", "other"] {
        db.script(&format!("COPY BLOBS FROM (SELECT '{name}' AS name, repeat('x', 400000)::BYTEA AS content)"));
    }
    db.script("ALTER GROUP plate ADD BLOB s1, BLOB s2, BLOB s3; ALTER BLOB other SET TIER object; ALTER GROUP plate SET TIER object");
    let far = "SELECT DISTINCT tier FROM system.segments WHERE table_name = 'blobs_object'";
    assert!(soon(|| db.rows(far) == ["object"]), "{:?}", db.rows("SELECT * FROM system.moves"));
    let read =
        |name: &str| assert_eq!(db.value(&format!("SELECT octet_length(content) FROM system.blobs WHERE name = '{name}'")), "400000");
    read("other");
    read("s1");
    read("s2");
    let decided = "SELECT relation, name, members, touched_members, objects, used_bytes, state, message FROM system.prefetches";
    assert!(soon(|| db.rows(decided) == ["group|plate|3|2|1|0|done|NULL"]), "{:?}", db.rows(decided));
    read("s3");
    assert_eq!(db.rows(decided), ["group|plate|3|2|1|400000|done|NULL"]);
}

/// It was given no tier, and so nothing can be moved; no move is tried and fails.
#[test]
fn a_restored_store_has_its_tables_where_they_are_until_it_gets_their_tier() {
    let db = with_tiers();
    db.script("ALTER TABLE t SET TIER disk; CREATE TABLE u AS SELECT i AS a FROM range(100000) AS r(i)");
    assert!(soon(|| tiers(&db).contains(&"t|disk".to_string())), "{:?}", tiers(&db));
    let (from, to) = (db.file("backup"), db.file("restored"));
    db.run(&format!("BACKUP TO '{from}'"));
    backup::restore(from.as_ref(), to.as_ref(), false, &mut |_| ControlFlow::Continue(())).unwrap();
    let engine = Engine::open(to.as_ref(), moving()).unwrap();
    let session = engine.session().unwrap();
    let rows = |sql: &str| wait(run(&session, sql)).unwrap_or_else(|error| panic!("{sql}: {error}")).rows();
    let tier = |table: &str| rows(&format!("SELECT DISTINCT tier FROM system.segments WHERE kind = 'segment' AND table_name = '{table}'"));
    let moves = "SELECT DISTINCT table_name, state FROM system.moves ORDER BY table_name";
    let definition = "SELECT definition FROM system.tables WHERE table_name = 't'";
    assert!(rows(definition)[0].ends_with("WITH (tier = 'disk')"), "{:?}", rows(definition));
    // Another move, so that the thread has looked at both tables.
    let directory = |name: &str| {
        let directory = db.file(name);
        std::fs::create_dir(&directory).unwrap();
        directory
    };
    rows(&format!("ALTER SYSTEM SET object_tier = 'file://{}'", directory("again")));
    rows("ALTER TABLE u SET TIER object");
    assert!(soon(|| tier("u") == ["object"]), "{:?}", rows("SELECT * FROM system.moves"));
    assert!(soon(|| rows(moves) == ["u|done"]), "{:?}", rows("SELECT * FROM system.moves"));
    assert_eq!(tier("t"), ["pmem"]);
    // Options other than the tier change as ever.
    rows("ALTER TABLE t SET (durability = 'async')");
    rows("ALTER TABLE t SET TIER POLICY ''");
    rows(&format!("ALTER SYSTEM SET disk_tier = '{}'", directory("other")));
    let is_moved = || tier("t") == ["disk"] && rows(moves) == ["t|done", "u|done"];
    assert!(soon(is_moved), "{:?}", rows("SELECT * FROM system.moves"));
}

#[test]
fn show_has_the_settings_of_the_store_and_an_empty_text_takes_a_tier_away() {
    let db = with_tiers();
    let settings = db.rows("SELECT name, value FROM system.settings WHERE changed_by = 'ALTER SYSTEM'");
    assert!(settings.len() >= 10, "{settings:?}");
    for setting in settings {
        let name = setting.split('|').next().unwrap();
        assert_eq!(db.rows(&format!("SHOW {name}")), [setting.as_str()]);
    }
    for name in ["disk_tier", "object_tier"] {
        assert_ne!(db.value(&format!("SELECT value FROM system.settings WHERE name = '{name}'")), "");
        db.run(&format!("ALTER SYSTEM SET {name} = ''"));
        assert_eq!(db.rows(&format!("SHOW {name}")), [format!("{name}|")]);
    }
    assert!(db.error("SET disk_tier = '/mnt'").hint().unwrap().contains("ALTER SYSTEM SET disk_tier"));
    assert_eq!(db.error("SHOW disk_tiers").hint(), Some("did you mean \"disk_tier\"?"));
}

/// Who reads chunks without a statement waits for no object store.
#[test]
fn chunks_that_would_have_to_be_fetched_are_left_to_a_query() {
    let db = with_tiers();
    db.script("OPTIMIZE TABLE grid; ALTER ARRAY grid SET TIER object");
    let of_grid = |db: &Db| db.rows("SELECT tier FROM system.segments WHERE kind = 'segment' AND table_name = 'grid'");
    assert!(soon(|| of_grid(&db) == ["object"]), "{:?}", of_grid(&db));
    let db = db.reopened_with(options());
    let is_here = |db: &Db| {
        let chunks = db.session.read_chunks("main", "grid", &[vec![0, 0], vec![7, 7]]).unwrap();
        chunks.cells.into_iter().map(|cells| cells.map(|cells| cells.bytes.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(is_here(&db), [Some(false), Some(false)], "not even whether there is such a chunk is known");
    assert_eq!(db.value("SELECT sum(value) FROM grid"), "120000.0");
    assert_eq!(is_here(&db), [Some(true), None]);
}

#[test]
fn what_has_no_tier_is_refused() {
    let db = Db::new();
    db.script("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT 1 AS a; COPY BLOBS FROM (SELECT 'b' AS name, 'x'::BYTEA AS content)");
    for (sql, message) in [
        ("ALTER TABLE t SET TIER disk", "ALTER SYSTEM SET disk_tier = '/directory'"),
        ("CREATE TABLE u (a INT) WITH (tier = 'disk')", "ALTER SYSTEM SET disk_tier = '/directory'"),
        ("ALTER TABLE t SET (tier = 'disk')", "ALTER SYSTEM SET disk_tier = '/directory'"),
        ("ALTER TABLE t SET TIER object", "ALTER SYSTEM SET object_tier = 's3://bucket/prefix'"),
        ("ALTER SYSTEM SET object_tier = 'ftp://host/dir'", "write s3://bucket/prefix"),
        ("ALTER SYSTEM SET object_tier = 5", "is no URL of an object store"),
        ("ALTER SYSTEM SET memory_tier_limit = 'much'", "is no size"),
        ("ALTER SYSTEM SET memory_tier_limit = '-1'", "memory_tier_limit must be a size such as '2GiB'"),
        ("ALTER SYSTEM SET object_tier = 'file:///proc/nowhere'", "directory \"/proc/nowhere\" does not exist"),
        ("ALTER SYSTEM SET pmem_tier_limit = '1GiB'", "memory_tier_limit, disk_tier_limit, object_tier_limit"),
        ("ALTER TABLE t SET TIER POLICY 'disk after 1 day'", "ALTER SYSTEM SET disk_tier"),
        ("ALTER TABLE t SET TIER POLICY 'disk after some time'", "is not a duration"),
        ("ALTER TABLE t SET TIER POLICY 'never'", "is no rule of a tier policy"),
        ("ALTER TABLE t SET TIER POLICY 'tape after 1 day'", "there is no tier \"tape\""),
        ("CREATE ARRAY a (x 2) OF REAL WITH (tier = 'disk')", "ALTER SYSTEM SET disk_tier = '/directory'"),
        ("CREATE ARRAY a (x 2) OF REAL WITH (tier = 'tape')", "the table option tier cannot be 'tape'"),
        ("CREATE ARRAY a (x 2) OF REAL WITH (tier_policy = 'disk')", "does not say after what time"),
        ("CREATE ARRAY a (x 2) OF REAL WITH (array = 'a')", "there is no table option \"array\""),
        ("CREATE ARRAY a (x 2) OF REAL WITH (tier = 'pmem') WITH (tier = 'pmem')", "syntax error"),
        ("CREATE TABLE u (a INT) WITH (tier_policy = 'disk')", "is no rule of a tier policy"),
        ("ALTER SYSTEM SET prefetch = 'maybe'", "write 'on' or 'off'"),
        ("ALTER SYSTEM SET prefetch_share = 1", "write a number from 0"),
        ("ALTER SYSTEM SET object_tier_compression = 'gzip'", "write 'zstd' or 'none'"),
        ("ALTER SYSTEM SET prefetch_window = 'long'", "is not a duration"),
        ("ALTER TABLE t SET TIER tape", "the tier \"tape\" is not supported"),
        ("ALTER VIEW v SET TIER pmem", "a tier of the view v"),
        ("ALTER TABLE v SET TIER pmem", "a tier of the view v"),
        ("ALTER TABLE v SET (tier = 'pmem')", "CREATE OR REPLACE VIEW v AS … gives it another query"),
        ("ALTER BLOB b SET TIER POLICY 'disk after 1 day'", "rules for the tier of the blob b"),
        ("ALTER BLOB b SET TIER object", "ALTER SYSTEM SET object_tier"),
        ("ALTER TABLE nope SET TIER pmem", "does not exist"),
        ("ALTER TABLE nope SET TIER object", "does not exist"),
        ("ALTER SYSTEM SET disk_tier = 'relative'", "is no directory"),
        ("ALTER SYSTEM SET disk_tier = '/proc/nowhere'", "directory \"/proc/nowhere\" does not exist"),
    ] {
        let error = db.error(sql);
        let said = format!("{error} {}", error.hint().unwrap_or_default());
        assert!(said.contains(message), "{sql}: {said}");
    }
}

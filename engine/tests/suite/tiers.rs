//! Tiers in SQL: which tables lie where, the moves in the background, and what queries say of them.

use super::helpers::{Db, options, soon};
use engine::{EngineOptions, MaintenanceOptions};

/// An engine that moves segments soon, with a directory for its disk tier.
fn with_disk() -> Db {
    let maintenance = MaintenanceOptions { enabled: true, delay_ms: 1, ..MaintenanceOptions::default() };
    let db = Db::with(EngineOptions { maintenance, ..options() });
    let directory = db.file("disk");
    std::fs::create_dir(&directory).unwrap();
    db.run(&format!("ALTER SYSTEM SET disk_tier = '{directory}'"));
    db.script("CREATE TABLE t AS SELECT i AS a FROM range(100000) AS r(i); CREATE ARRAY grid (y 200, x 300) OF DOUBLE; CREATE GROUP g");
    db.script("UPDATE ARRAY grid SET REGION [...] = 2; ALTER GROUP g ADD TABLE t, ARRAY grid");
    db
}

fn tiers(db: &Db) -> Vec<String> {
    db.rows("SELECT table_name, tier FROM system.segments WHERE kind = 'segment' AND table_name IN ('t', 'grid') ORDER BY table_name, tier")
}

#[test]
fn a_table_is_moved_to_its_tier_in_the_background() {
    let db = with_disk();
    let before = tiers(&db);
    db.script("ALTER TABLE t SET TIER disk");
    assert!(soon(|| tiers(&db).contains(&"t|disk".to_string())), "{:?}", db.rows("SELECT * FROM system.moves"));
    assert_eq!(db.value("SELECT sum(a) FROM t"), "4999950000");
    assert_eq!(db.rows("SELECT name, tier FROM system.objects WHERE kind IN ('table', 'array') ORDER BY name"), ["grid|NULL", "t|disk"]);
    let analyzed = db.rows("EXPLAIN ANALYZE SELECT sum(a) FROM t").join("\n");
    assert!(analyzed.contains("disk_tier_bytes=800.0 K"), "{analyzed}");
    assert_eq!(db.rows("SELECT from_tier, to_tier, state FROM system.moves WHERE table_name = 't'"), ["pmem|disk|done"]);
    assert!(db.value("SELECT definition FROM system.tables WHERE table_name = 't'").ends_with("WITH (tier = 'disk')"));
    db.script("ALTER TABLE t SET TIER pmem");
    assert!(soon(|| tiers(&db) == before), "{:?}", tiers(&db));
}

#[test]
fn a_group_takes_what_is_in_it_along_and_new_segments_follow() {
    let db = with_disk();
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

#[test]
fn what_has_no_tier_is_refused() {
    let db = Db::new();
    db.script("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT 1 AS a; COPY BLOBS FROM (SELECT 'b' AS name, 'x'::BYTEA AS content)");
    for (sql, message) in [
        ("ALTER TABLE t SET TIER disk", "ALTER SYSTEM SET disk_tier = '/directory'"),
        ("CREATE TABLE u (a INT) WITH (tier = 'disk')", "ALTER SYSTEM SET disk_tier = '/directory'"),
        ("ALTER TABLE t SET (tier = 'disk')", "ALTER SYSTEM SET disk_tier = '/directory'"),
        ("ALTER TABLE t SET TIER tape", "the tier \"tape\" is not supported"),
        ("ALTER VIEW v SET TIER pmem", "a tier of the view v"),
        ("ALTER BLOB b SET TIER pmem", "a tier of the blob b"),
        ("ALTER TABLE nope SET TIER pmem", "does not exist"),
        ("ALTER SYSTEM SET disk_tier = 'relative'", "is no directory"),
        ("ALTER SYSTEM SET disk_tier = '/proc/nowhere'", "/proc/nowhere"),
    ] {
        let error = db.error(sql);
        let said = format!("{error} {}", error.hint().unwrap_or_default());
        assert!(said.contains(message), "{sql}: {said}");
    }
}

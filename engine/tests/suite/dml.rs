//! DELETE, UPDATE, MERGE, TRUNCATE and INSERT … ON CONFLICT. Answers are in sqllogictests/slt; here is
//! what those cannot show: files, plans, sessions side by side, refusals.

mod explain;
mod files;
mod model;
mod names;
mod refused;
mod transactions;

use super::helpers::Db;

/// What a statement that writes says it did.
fn count(db: &Db, sql: &str) -> u64 {
    let ran = db.run(sql);
    assert_eq!(ran.kind, engine::StatementKind::Write, "{sql}");
    ran.rows().concat().parse().unwrap()
}

/// `id` from 0 and `v`, ten times as much, in `segments` segments of equal size.
fn in_segments(db: &Db, rows: i64, segments: i64) {
    db.run("CREATE TABLE t (id bigint NOT NULL, v bigint, s varchar)");
    for segment in 0..segments {
        let (from, to) = (segment * rows / segments, (segment + 1) * rows / segments - 1);
        let insert = format!("INSERT INTO t SELECT i, i * 10, 'text of row ' || i FROM generate_series({from}, {to}) AS g(i)");
        assert_eq!(count(db, &insert), (to - from + 1) as u64);
    }
}

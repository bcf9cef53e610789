//! A stream that has begun goes on with the rows there were, whatever happens to the table.

use engine::{EngineOptions, QueryOutput};
use futures::StreamExt;

use super::helpers::{Db, numbers, options, rows_of, run, soon, wait};

const ROWS: i64 = 200_000;

fn one_partition() -> Db {
    let db = Db::with(EngineOptions { threads: Some(1), ..options() });
    db.load("t", &[], &numbers(0, ROWS));
    db
}

/// What is left of a stream: how many rows, and the sum of their first column.
async fn rest(mut output: QueryOutput) -> (u64, i64) {
    let (mut rows, mut sum) = (0, 0);
    while let Some(batch) = output.next().await {
        for row in rows_of(&batch.unwrap()) {
            rows += 1;
            sum += row.split('|').next().unwrap().parse::<i64>().unwrap();
        }
    }
    (rows, sum)
}

/// A stream of all rows, begun, and what was changed then by another session.
fn begun_before(change: &str) -> (Db, (u64, i64)) {
    let db = one_partition();
    let found = wait(async {
        let mut output = db.session.execute("SELECT id, s FROM t").await.unwrap();
        let first = output.next().await.unwrap().unwrap();
        let first_sum: i64 = rows_of(&first).iter().map(|row| row.split('|').next().unwrap().parse::<i64>().unwrap()).sum();
        let other = db.engine.session().unwrap();
        run(&other, change).await.unwrap();
        // What the change removed must stay until the stream has ended.
        run(&other, "SELECT 1").await.unwrap();
        let (rows, sum) = rest(output).await;
        (rows + first.num_rows() as u64, sum + first_sum)
    });
    (db, found)
}

const ALL: (u64, i64) = (ROWS as u64, ROWS * (ROWS - 1) / 2);

#[test]
fn a_stream_begun_before_drop_table_yields_every_row() {
    let (db, found) = begun_before("DROP TABLE t");
    assert_eq!(found, ALL);
    db.error("SELECT * FROM t");
    assert!(soon(|| db.segment_files().is_empty()), "the files go with the last reader: {:?}", db.segment_files());
}

#[test]
fn a_stream_begun_before_an_insert_does_not_see_it() {
    let (db, found) = begun_before("INSERT INTO t SELECT * FROM t");
    assert_eq!(found, ALL);
    assert_eq!(db.value("SELECT count(*) FROM t"), (2 * ROWS).to_string());
}

#[test]
fn a_stream_begun_before_the_table_is_replaced_yields_the_old_rows() {
    let (db, found) = begun_before("CREATE OR REPLACE TABLE t AS SELECT 'new' AS other");
    assert_eq!(found, ALL);
    assert_eq!(db.rows("SELECT * FROM t"), ["new"]);
    let (db, found) = begun_before("INSERT OVERWRITE t SELECT * FROM t WHERE id = 3");
    assert_eq!(found, ALL);
    assert_eq!(db.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn a_statement_planned_but_not_polled_has_its_snapshot_too() {
    let db = one_partition();
    let found = wait(async {
        let output = db.session.execute("SELECT id FROM t").await.unwrap();
        run(&db.session, "DROP TABLE t").await.unwrap();
        run(&db.session, "CREATE TABLE t AS SELECT 1 AS id").await.unwrap();
        rest(output).await
    });
    assert_eq!(found, ALL);
    assert_eq!(db.rows("SELECT id FROM t"), ["1"]);
}

#[test]
fn an_aggregate_over_several_partitions_has_one_snapshot() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, ROWS));
    wait(async {
        let output =
            db.session.execute("SELECT count(*), count(DISTINCT a.id) FROM t a JOIN t b ON a.id = b.id WHERE a.k >= 0").await.unwrap();
        run(&db.session, "INSERT INTO t SELECT * FROM t").await.unwrap();
        let (batches, _) = output.collect().await.unwrap();
        assert_eq!(rows_of(&batches[0]), [format!("{ROWS}|{ROWS}")]);
    });
}

#[test]
fn the_next_statement_sees_what_the_last_one_committed() {
    let db = Db::new();
    let other = db.engine.session().unwrap();
    db.run("CREATE TABLE t (a int)");
    for expected in 1..20 {
        wait(run(&other, "INSERT INTO t VALUES (1)")).unwrap();
        assert_eq!(db.value("SELECT count(*) FROM t"), expected.to_string());
    }
}

#[test]
fn readers_and_writers_at_once_see_whole_commits_only() {
    let db = Db::new();
    db.script("CREATE TABLE t (a bigint); INSERT INTO t SELECT value FROM generate_series(1, 100) AS g(value)");
    let (writer, reader) = (db.engine.session().unwrap(), db.engine.session().unwrap());
    wait(async {
        let writes = async {
            for _ in 0..20 {
                run(&writer, "INSERT INTO t SELECT value FROM generate_series(1, 100) AS g(value)").await.unwrap();
            }
        };
        let reads = async {
            for _ in 0..60 {
                let ran = run(&reader, "SELECT count(*) % 100, sum(a) % 5050, count(*) = count(a) FROM t WHERE a > 0").await.unwrap();
                assert_eq!(ran.rows(), ["0|0|true"]);
                tokio::task::yield_now().await;
            }
        };
        futures::join!(writes, reads);
    });
    assert_eq!(db.value("SELECT count(*) FROM t"), "2100");
}

//! How many rows a second sessions of one process insert, one row a statement: not a test, but what
//! `make bench-writes` runs beside other systems.

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use engine::{Engine, EngineOptions, Session};
use tokio::runtime::Builder;

const TEXT_BYTES: usize = 240;

/// One line of input: `sql`, `planned` or `batch`, `sync` or `async`, the number of sessions, and of rows for each.
struct Run {
    sends: Sends,
    durability: String,
    sessions: usize,
    rows: usize,
}

#[derive(Clone, Copy)]
enum Sends {
    /// Statements as text.
    Sql,
    /// The same, with what makes them quick switched off.
    Planned,
    /// Batches of one row.
    Batch,
}

impl Run {
    fn of_line(line: &str) -> Run {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [sends, durability, sessions, rows] = words[..] else { panic!("a line has four words, not \"{line}\"") };
        Run {
            sends: match sends {
                "sql" => Sends::Sql,
                "planned" => Sends::Planned,
                "batch" => Sends::Batch,
                other => panic!("there is no way of sending called \"{other}\""),
            },
            durability: durability.to_string(),
            sessions: sessions.parse().unwrap(),
            rows: rows.parse().unwrap(),
        }
    }
}

/// Answers each line with the seconds it took. Statements and batches are made before the clock starts.
#[test]
#[ignore = "measures; run by make bench-writes"]
fn insert_single_rows() {
    let store = PathBuf::from(std::env::var_os("BENCH_STORE").expect("BENCH_STORE, where the store is made"));
    let engine = Engine::open(&store, EngineOptions::default()).unwrap();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for line in std::io::stdin().lock().lines() {
        let run = Run::of_line(&line.unwrap());
        let session = engine.session().unwrap();
        runtime.block_on(execute(&session, "CREATE TABLE IF NOT EXISTS t (id BIGINT, v VARCHAR)"));
        let work: Vec<Vec<Put>> = (0..run.sessions).map(|_| puts(run.sends, run.rows)).collect();
        let sessions: Vec<Arc<Session>> = (0..run.sessions).map(|_| Arc::new(engine.session().unwrap())).collect();
        for session in &sessions {
            runtime.block_on(execute(session, &format!("SET quiver.durability = '{}'", run.durability)));
            if matches!(run.sends, Sends::Planned) {
                runtime.block_on(execute(session, "SET quiver.direct_inserts = false"));
            }
            // The first row makes the log.
            runtime.block_on(execute(session, "INSERT INTO t VALUES (0, '')"));
        }
        let started = Instant::now();
        let tasks: Vec<_> = sessions.into_iter().zip(work).map(|(session, puts)| runtime.spawn(put_all(session, puts))).collect();
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        println!("\nseconds {}", started.elapsed().as_secs_f64());
        runtime.block_on(execute(&session, "DROP TABLE t"));
    }
}

enum Put {
    Sql(String),
    Batch(RecordBatch),
}

fn puts(sends: Sends, rows: usize) -> Vec<Put> {
    let text = "x".repeat(TEXT_BYTES);
    let put = |row: usize| match sends {
        Sends::Sql | Sends::Planned => Put::Sql(format!("INSERT INTO t VALUES ({row}, '{text}')")),
        Sends::Batch => {
            let id: ArrayRef = Arc::new(Int64Array::from(vec![row as i64]));
            let v: ArrayRef = Arc::new(StringViewArray::from(vec![text.as_str()]));
            Put::Batch(RecordBatch::try_from_iter_with_nullable([("id", id, true), ("v", v, true)]).unwrap())
        }
    };
    (0..rows).map(put).collect()
}

async fn put_all(session: Arc<Session>, puts: Vec<Put>) {
    for put in puts {
        match put {
            Put::Sql(sql) => execute(&session, &sql).await,
            Put::Batch(batch) => drop(session.append("t", &batch).await.unwrap()),
        }
    }
}

async fn execute(session: &Session, sql: &str) {
    session.execute(sql).await.unwrap().collect().await.unwrap();
}

//! The queries of the SQL tests: each returns the same rows as a plan as without one, or is refused.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use substrait_plans::PlanError;

use super::support::Db;

/// At least this many are not refused, so that new refusals are noticed.
const SHIPPED_MIN: usize = 1_300;

enum Record {
    Statement(String),
    Query(String),
}

/// The statements and queries of a file, without those that are expected to fail.
fn records(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    for block in text.split("\n\n") {
        let lines = block.lines().skip_while(|line| line.starts_with('#') || line.starts_with("onlyif") || line.trim().is_empty());
        let mut lines = lines;
        let Some(header) = lines.next() else { continue };
        let sql = lines.take_while(|line| *line != "----").collect::<Vec<_>>().join("\n");
        let mut words = header.split_whitespace();
        match (words.next(), words.next()) {
            (_, Some("error")) => {}
            (Some("statement"), _) => records.push(Record::Statement(sql)),
            (Some("query"), _) => records.push(Record::Query(sql)),
            _ => {}
        }
    }
    records
}

#[test]
fn every_query_of_the_sql_tests_gives_the_same_as_a_plan_or_is_refused() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sqllogictests/slt");
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "slt"));
    files.sort();
    let (mut shipped, mut wrong) = (0, Vec::new());
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let db = Db::new();
        for record in records(&std::fs::read_to_string(&file).unwrap()) {
            let sql = match record {
                // The SQL tests report a failing statement.
                Record::Statement(sql) => {
                    let _ = db.query(&sql);
                    continue;
                }
                Record::Query(sql) => sql,
            };
            match db.plan(&sql) {
                Err(PlanError::Refused(refusal)) => *refused.entry(refusal.to_string()).or_default() += 1,
                // EXPLAIN, SHOW and the like are not queries.
                Err(_) => {}
                Ok(_) => match catch_unwind(AssertUnwindSafe(|| db.check(&sql))) {
                    Ok(_) => shipped += 1,
                    Err(panic) => {
                        let why = panic.downcast_ref::<String>().cloned().unwrap_or_else(|| sql.clone());
                        wrong.push(format!("{}: {why}", file.file_stem().unwrap().to_string_lossy()));
                    }
                },
            }
        }
    }
    for (why, queries) in &refused {
        println!("{queries:>4} refused: {why}");
    }
    println!("{shipped} shipped, {} refused", refused.values().sum::<usize>());
    assert!(wrong.is_empty(), "{}\n{} of {} are wrong", wrong.join("\n\n"), wrong.len(), wrong.len() + shipped);
    assert!(shipped >= SHIPPED_MIN, "{shipped} are shipped");
}

//! Plans that other producers wrote, from `fixtures/`: which of them run, and whether they return the same as the SQL query.
//!
//! The table of producers and queries is compared with `interop/expected.txt`. `UPDATE_EXPECTED=1` rewrites that file; review the changes
//! before committing it.

mod compare;
mod expressions;
mod fixtures;

use std::fmt::Write;
use std::path::Path;

use compare::{Answer, compared};
use fixtures::{Fixture, fixtures};

use crate::tpch_store::script;

const EXPECTED: &str = "tests/suite/interop/expected.txt";

/// Columns are nullable here, although the producers were told that none of them is.
#[test]
fn plans_of_other_producers_give_what_sql_gives() {
    let db = compare::Db::with(&script().replace(" not null", ""));
    let (mut output, mut counts) = (String::new(), std::collections::BTreeMap::<String, [usize; 3]>::new());
    for Fixture { producer, query, plan, sql, wrong } in fixtures() {
        let answer = compared(&db, &plan, &sql);
        let mark = if wrong { "(wrong) " } else { "" };
        writeln!(output, "{producer:24}{query:24}{mark}{answer}").unwrap();
        let place = match answer {
            Answer::Same(_) => 0,
            Answer::Different(_) => 1,
            Answer::Refused(_) | Answer::NoSql(_) => 2,
        };
        if !wrong {
            counts.entry(producer).or_default()[place] += 1;
        }
    }
    for (producer, [same, different, refused]) in &counts {
        writeln!(output, "= {producer:22}{same} the same, {different} different, {refused} refused").unwrap();
    }
    println!("{output}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXPECTED);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, &output).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<String> = changes(&expected, &output);
    assert!(changed.is_empty(), "{EXPECTED} says otherwise:\n{}", changed.join("\n"));
}

fn changes(expected: &str, output: &str) -> Vec<String> {
    let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    let (expected, output) = (lines(expected), lines(output));
    let old = expected.iter().filter(|line| !output.contains(line)).map(|line| format!("- {line}"));
    let new = output.iter().filter(|line| !expected.contains(line)).map(|line| format!("+ {line}"));
    old.chain(new).collect()
}

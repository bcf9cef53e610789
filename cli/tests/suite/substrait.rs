//! `quiver plan` and `quiver run-plan`, here and on a server.

use crate::quiver::{Output, Place, run};
use crate::served::Served;
use crate::terminal::Terminal;

const TABLE: &str = "create table t as select value as a, 'row ' || value as b from generate_series(1, 1000) as g (value)";
const QUERY: &str = "select b, a * 2 as twice from t where a > 997 order by a";

fn stores() -> (Place, Served) {
    let (place, served) = (Place::new(), Served::new());
    place.quiver(&["-c", TABLE]).ok();
    served.quiver(&["-c", TABLE]).ok();
    (place, served)
}

#[test]
fn a_written_plan_gives_the_same_result_as_its_query() {
    let (place, served) = stores();
    let expected = place.quiver(&["--format", "csv", "-c", QUERY]).ok();
    let ways: [&dyn Fn(&[&str]) -> Output; 2] = [&|args| place.quiver(args), &|args| served.quiver(args)];
    for (number, way) in ways.into_iter().enumerate() {
        for name in ["plan.bin", "plan.json"] {
            let file = place.path(&format!("{number}-{name}")).display().to_string();
            assert_eq!(way(&["plan", "-c", QUERY, "-o", &file]).ok(), "");
            // A plan that one side has made runs on the other.
            for run in ways {
                assert_eq!(run(&["run-plan", &file, "--format", "csv"]).ok(), expected, "{file}");
            }
        }
    }
    let binary = std::fs::read(place.path("0-plan.bin")).expect("the file");
    assert_ne!(binary.first(), Some(&b'{'));
    let result = place.path("result.parquet").display().to_string();
    place.quiver(&["run-plan", &place.path("0-plan.json").display().to_string(), "-o", &result]).ok();
    let table = format!("create external table r stored as parquet location '{result}'");
    assert_eq!(run(&["--format", "csv", "-c", &table, "-c", "select * from r"], "").ok().lines().last(), expected.lines().last());
}

#[test]
fn a_plan_is_shown_as_json_or_text_and_read_from_a_pipe() {
    let (place, served) = stores();
    let json = place.quiver(&["plan", "-c", QUERY]).ok();
    assert!(json.starts_with('{') && json.contains("\"namedTable\"") && json.ends_with("}\n"), "{json}");
    assert_eq!(served.quiver(&["plan", "--format", "json", "-c", QUERY]).ok(), json);
    let text = place.quiver(&["plan", "-c", QUERY, "--format", "text"]).ok();
    assert!(!text.starts_with('{') && text.lines().count() > 2, "{text}");
    let expected = served.quiver(&["-c", QUERY]).ok();
    assert_eq!(served.quiver_with(&["run-plan", "-"], &json).ok(), expected);
    assert_eq!(run(&["--store", &place.store(), "run-plan", "-"], &json).ok(), expected);
}

#[test]
fn a_binary_plan_is_not_written_to_a_terminal() {
    let (place, _) = stores();
    let mut terminal = Terminal::open(&["--store", &place.store(), "plan", "-c", "select 1", "--format", "binary"]);
    terminal.wait_for("add -o FILE, or --format json");
}

#[test]
fn a_file_of_a_plan_whose_name_says_no_format_is_not_written() {
    let (place, _) = stores();
    let file = place.path("plan.xyz").display().to_string();
    let output = place.quiver(&["plan", "-c", QUERY, "-o", &file]);
    assert!(output.status == 2 && output.err.contains("does not say which format") && output.err.contains("--format"), "{}", output.err);
    assert!(!place.path("plan.xyz").exists());
    place.quiver(&["plan", "-c", QUERY, "-o", &file, "--format", "text"]).ok();
    assert!(place.path("plan.xyz").exists());
}

#[test]
fn errors_of_plans_look_like_errors_of_statements() {
    let (place, served) = stores();
    let wrong = "select orign from t";
    let (local, remote) = (place.quiver(&["plan", "-c", wrong]), served.quiver(&["plan", "-c", wrong]));
    assert_eq!((local.status, &local.err), (1, &place.quiver(&["-c", wrong]).err));
    assert_eq!((remote.status, &remote.err), (1, &local.err));
    let written = place.quiver(&["plan", "-c", "delete from t"]);
    assert!(written.status == 1 && written.err.contains("hint: plans are made of queries"), "{}", written.err);
    let file = place.write("no.plan", "select 1");
    let refused = place.quiver(&["run-plan", &file]);
    assert!(refused.status == 1 && refused.err.starts_with(&format!("error: {file}: ")), "{}", refused.err);
    assert_eq!(place.quiver(&["run-plan", "missing.plan"]).status, 1);
    assert_eq!(place.quiver(&["run-plan"]).status, 2);
    assert_eq!(place.quiver(&["plan"]).status, 2);
    let storeless = run(&["plan", "-c", "select 1"], "");
    assert!(storeless.status == 2 && storeless.err.contains("--store DIR"), "{}", storeless.err);
    // A plan of another store: its tables are not here.
    let plan = place.quiver(&["plan", "-c", QUERY]).ok();
    let elsewhere = Place::new();
    elsewhere.quiver(&["-c", "create table u (a int)"]).ok();
    let lost = run(&["--store", &elsewhere.store(), "run-plan", "-"], &plan);
    assert!(lost.status == 1 && lost.err.contains("\"") && lost.err.contains("t\""), "{}", lost.err);
}

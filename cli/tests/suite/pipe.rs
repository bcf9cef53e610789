//! Statements through pipes, `-c` and `-f`.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::quiver::{Place, command, run};

#[test]
fn the_last_statement_of_a_pipe_needs_no_semicolon() {
    let output = run(&["--format", "csv"], "select 1 as a;\nselect 2 as b").ok();
    assert_eq!(output, "a\n1\nb\n2\n");
}

#[test]
fn several_texts_and_files_run_in_the_order_given() {
    let place = Place::new();
    let file = place.write("two.sql", "select 2 as n;");
    let args = ["--format", "csv", "-c", "select 1 as n", "-f", &file, "-c", "select 3 as n; select 4 as n"];
    assert_eq!(place.run(&args).ok(), "n\n1\nn\n2\nn\n3\nn\n4\n");
}

#[test]
fn files_and_stores_are_opened_by_their_paths() {
    let place = Place::new();
    let [towns, rivers] = [place.write("towns.csv", "name,n\nBerlin,4\n"), place.write("rivers.json", "{\"name\":\"Spree\",\"n\":3}\n")];
    let sql = "select t.name || r.name as pair, t.n + r.n as n from towns t, rivers r";
    assert_eq!(place.run(&[&towns, &rivers, "--format", "csv", "-c", sql]).ok(), "pair,n\nBerlinSpree,7\n");
    place.quiver(&["import", &towns]).ok();
    assert_eq!(place.run(&[&place.store(), "--format", "csv", "-c", "select n from towns"]).ok(), "n\n4\n");
    let missing = place.run(&["nowhere.csv", "-c", "select 1"]);
    assert!(missing.status == 1 && missing.err.contains("there is no file nowhere.csv"), "{}", missing.err);
    let refused = place.quiver(&[&towns, "-c", "select 1"]);
    assert!(refused.status == 2 && refused.err.contains("quiver import --store DIR FILE"), "{}", refused.err);
    let misspelt = place.run(&["improt", &towns]);
    assert!(misspelt.status == 2 && misspelt.err.contains("no file 'improt'; did you mean import?"), "{}", misspelt.err);
    for (words, advice) in [
        (vec!["shop.db"], "no file 'shop.db'; quiver --store shop.db makes a store"),
        (vec!["--store", "shop", "select 1"], "no file 'select 1'; a statement is given with -c"),
    ] {
        let refused = place.run(&words);
        assert!(refused.status == 2 && refused.err.contains(advice), "{}", refused.err);
    }
}

#[test]
fn a_dash_as_file_is_standard_input() {
    assert_eq!(run(&["--format", "csv", "-f", "-"], "select 1 as a").ok(), "a\n1\n");
}

#[test]
fn comments_and_blank_lines_alone_are_no_error() {
    assert_eq!(run(&[], "\n-- nothing\n/* at\nall */\n").ok(), "");
}

#[test]
fn quotes_may_hold_semicolons_and_backslash_lines() {
    let output = run(&["--format", "csv"], "select 'a;b' as x;\nselect '\n\\q\n' as y;").ok();
    assert_eq!(output, "x\na;b\ny\n\"\n\\q\n\"\n");
}

#[test]
fn meta_commands_work_in_a_pipe() {
    let output = run(&[], "\\format csv\n\\echo before\nselect 1 as a;\n\\q\nselect 2 as b;\n").ok();
    assert_eq!(output, "before\na\n1\n");
}

#[test]
fn a_reader_that_leaves_early_ends_the_query_without_a_word() {
    let mut child = command(&["--format", "csv", "-c", "select * from generate_series(1, 100000000)"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    assert!(lines.next().is_some() && lines.next().is_some());
    drop(lines);
    let mut err = String::new();
    child.stderr.take().expect("stderr is a pipe").read_to_string(&mut err).expect("text");
    let status = child.wait().expect("the binary ends");
    assert_eq!((err.as_str(), status.code()), ("", Some(141)));
}

#[test]
fn a_program_may_keep_it_running_and_read_a_time_after_each_statement() {
    let mut child = command(&["--format", "csv"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let mut out = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    writeln!(stdin, "\\timing on").expect("a line can be written");
    for number in 0..3 {
        writeln!(stdin, "select {number} as n;").expect("a line can be written");
        let mut lines = [const { String::new() }; 3];
        for line in &mut lines {
            // Blocks for ever if the answer is not flushed before the next statement.
            out.read_line(line).expect("an answer");
        }
        assert_eq!((lines[0].as_str(), lines[1].as_str()), ("n\n", format!("{number}\n").as_str()));
        let time = lines[2].strip_prefix("Time: ").and_then(|line| line.strip_suffix(" ms\n"));
        assert!(time.is_some_and(|time| time.parse::<f64>().is_ok()), "{}", lines[2]);
    }
    drop(stdin);
    assert!(child.wait().expect("the binary ends").success());
}

#[test]
fn the_footer_tells_rows_time_and_bytes_where_it_is_asked_for() {
    let output = run(&["--footer", "--format", "csv", "-c", "select 1 as a"], "").ok();
    let footer = output.lines().last().expect("a footer");
    assert!(footer.starts_with("(1 row, 0.") && footer.contains(" s) "), "{footer}");
    assert!(footer.contains("touched"), "{footer}");
}

#[test]
fn a_signal_to_end_ends_a_running_query() {
    let sql = "select count(*) from generate_series(1, 10000000) a, generate_series(1, 10000000) b where a.value + b.value = 0";
    let mut child = command(&["-c", "\\echo started", "-c", sql])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut started = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    out.read_line(&mut started).expect("a line");
    // SAFETY: kill(2) with the id of a child that was not waited for yet touches no memory.
    // Held by: this test itself; the child is waited for below.
    let sent = unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    assert_eq!(sent, 0);
    assert_eq!(child.wait().expect("the binary ends").code(), Some(143));
}

#[test]
fn an_editor_is_not_opened_without_a_terminal() {
    let refused = run(&["-c", "SELECT 1", "-c", "\\e"], "");
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("\\e opens an editor, and there is no terminal for it"), "{}", refused.err);
}

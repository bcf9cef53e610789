//! The same shell over the network: its output is the same, and its errors are clear.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::quiver::{Output, Place, run};
use crate::served::Served;
use crate::terminal::Terminal;

const PROMPT: &str = "> ";
/// Runs for hours unless it is cancelled.
const ENDLESS: &str = "select count(*) from generate_series(1, 10000000) a, generate_series(1, 10000000) b where a.value + b.value = 0;\r";

/// Every kind of statement, and every kind of value that all formats can write.
const SCRIPT: &str = r#"
create table numbers as select value as n, value % 7 as k, 'text of ' || value as s from generate_series(1, 20000) as t (value);
create view few as select * from numbers where n < 4;
create schema other;
create table other."Mixed Case" (a int primary key, b varchar default 'x' not null, c decimal(10, 2));
select * from few order by n;
select 1 as tiny, 1::smallint as s, 2::bigint as b, 1.5 as d, 2.5::double as f, true as yes, null as nothing;
select date '2026-11-20' as day, timestamp '2026-11-20 10:11:12.5' as at, timestamptz '2026-11-20 10:11:12+02:00' as instant, time '10:11:12' as clock;
select interval '3 days 4 hours' as span, x'00ff' as bytes, '' as empty, 'ü "quoted", and a line
that ends' as words;
select * from numbers where false;
select count(*), sum(n), avg(k) from numbers;
select k, count(*) as c from numbers group by k order by k;
select s from numbers order by n desc limit 3;
insert into other."Mixed Case" values (1, 'one', 1.25), (2, 'two', null);
update other."Mixed Case" set b = 'zwei' where a = 2;
delete from numbers where n > 19000;
select * from other."Mixed Case" order by a;
begin;
delete from numbers;
select count(*) from numbers;
rollback;
select count(*) from numbers;
set threads = 1;
show threads;
reset threads;
prepare three as select n from numbers where n <= $1 order by n;
execute three(3);
describe numbers;
show tables;
explain select n from numbers where n = 5;
\dt
\dv
\dn
\d
\d numbers
\d few
\df abs
\dt system.s*
\dt o*
\echo done
\x on
select * from few order by n;
\x off
\pset null nix
select null as a;
drop view few;
"#;

/// Statements that fail; the tables of the script exist already.
const WRONG: &[&str] = &[
    "select orign from numbers",
    "selec 1",
    "select\n  n,\n  ümlaut,\n  nn\nfrom numbers",
    "select * from numbrs",
    "select 1 / 0",
    "select cast('x' as int)",
    "select cast(s as int) from numbers where n = 5",
    "insert into other.\"Mixed Case\" values (1, 'again', 0)",
    "insert into other.\"Mixed Case\" values (null, null, null)",
    "create table numbers (a int)",
    "drop table nowhere",
    "select no_such_function(1)",
    "select sum(s) from numbers",
    "commit",
    "set nonsense = 1",
    "select n from numbers group by k",
];

fn both(args: &[&str]) -> (Output, Output) {
    let (place, served) = (Place::new(), Served::new());
    // Background work of the store would happen sooner in one of them.
    let local = [&["--no-maintenance"], args].concat();
    (place.quiver(&local), served.quiver(args))
}

/// Replaces times, which differ in each run.
fn timeless(text: &str) -> String {
    let lines = text.lines().map(|line| match line.find(" s)") {
        Some(end) => {
            let start = line[..end].rfind([' ', '(']).map_or(0, |at| at + 1);
            format!("{}…{}", &line[..start], &line[end..])
        }
        None => line.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_script_says_the_same_in_every_format() {
    let scripts = Place::new();
    let script = scripts.write("script.sql", SCRIPT);
    for format in ["table", "box", "csv", "json", "markdown"] {
        let (local, remote) = both(&["--format", format, "-f", &script]);
        assert_eq!(remote.err, local.err, "{format}");
        assert!(remote.out == local.out, "{format}\n--- local\n{}\n--- remote\n{}", local.out, remote.out);
        assert_eq!((local.status, remote.status), (0, 0), "{format}: {}", local.err);
    }
}

/// The files may differ in bytes: buffers of a mapping are laid out differently from received ones.
#[test]
fn arrow_and_parquet_hold_the_same_rows_of_the_same_types() {
    let (place, served) = (Place::new(), Served::new());
    let sql = "select value as n, case when value % 3 = 0 then null else 'a text that is too long for a view ' || value end as s, \
               value::decimal(12, 2) as d, date '2026-11-20' as day, timestamptz '2026-11-20 10:11:12Z' as at, [value, null] as l \
               from generate_series(1, 20000) as t (value)";
    for suffix in ["arrow", "parquet"] {
        let files =
            [place.path(&format!("local.{suffix}")), place.path(&format!("remote.{suffix}"))].map(|path| path.display().to_string());
        place.quiver(&["-o", &files[0], "-c", sql]).ok();
        served.quiver(&["-o", &files[1], "-c", sql]).ok();
        let [local, remote] = files.map(|file| {
            let table = format!("create external table v stored as {suffix} location '{file}'");
            run(&["--format", "json", "-c", &table, "-c", "describe v", "-c", "select * from v order by n"], "").ok()
        });
        assert!(remote == local, "{suffix}");
    }
}

#[test]
fn footers_say_what_the_server_has_touched() {
    let scripts = Place::new();
    // How much the keys of a sort prune depends on which thread is first.
    let script: String = SCRIPT.lines().filter(|line| !line.contains("limit 3")).collect::<Vec<_>>().join("\n");
    let script = scripts.write("script.sql", &format!("set threads = 1;\n{script}"));
    let (local, remote) = both(&["--footer", "-f", &script]);
    assert!(local.out.contains("touched 5.38 kB in place"), "{}", local.out);
    assert_eq!(timeless(&remote.out), timeless(&local.out));
}

#[test]
fn lists_and_structs_are_shown_the_same() {
    let sql = "select [1, 2, null] as l, {'a': 1, 'b': 'two'} as s, ['x', 'y'] as t, map(['k'], [7]) as m";
    for format in ["table", "json", "markdown"] {
        let (local, remote) = both(&["--format", format, "-c", sql]);
        assert_eq!((remote.out, remote.err), (local.out, local.err), "{format}");
    }
}

#[test]
fn errors_are_the_same_with_the_place_marked() {
    let scripts = Place::new();
    let script = scripts.write("script.sql", SCRIPT);
    let (place, served) = (Place::new(), Served::new());
    place.quiver(&["-f", &script]).ok();
    served.quiver(&["-f", &script]).ok();
    for sql in WRONG {
        let (local, remote) = (place.quiver(&["-c", sql]), served.quiver(&["-c", sql]));
        assert_eq!(remote.err, local.err, "{sql}");
        assert_eq!((local.status, remote.status), (1, 1), "{sql}: {}", local.err);
        let file = scripts.write("wrong.sql", &format!("select 1;\n\n{sql};\n"));
        let (local, remote) = (place.quiver(&["-f", &file]), served.quiver(&["-f", &file]));
        assert_eq!((remote.err, remote.out), (local.err, local.out), "{sql}");
    }
}

#[test]
fn a_file_of_the_client_takes_the_result() {
    let served = Served::new();
    served.quiver(&["-c", "create table t as select value as a, 'row ' || value as b from generate_series(1, 30000) as g (value)"]).ok();
    for name in ["out.parquet", "out.csv", "out.arrow"] {
        let file = served.place.path(name).display().to_string();
        served.quiver(&["export", "t", &file]).ok();
        let format = name.split_once('.').expect("a suffix").1;
        let table = format!("create external table t stored as {format} location '{file}' options ('format.has_header' 'true')");
        let table = if format == "csv" { table } else { table.split(" options").next().expect("a part").to_string() };
        let output = run(&["--format", "csv", "-c", &table, "-c", "select count(*), sum(a), max(b) from t"], "");
        assert_eq!(output.ok().lines().nth(1), Some("30000,450015000,row 9999"), "{name}");
    }
    let file = served.place.path("query.json").display().to_string();
    served.quiver(&["export", "--query", "select a from t where a = 7", &file]).ok();
    assert_eq!(fs::read_to_string(file).expect("the file"), "{\"a\":7}\n");
}

#[test]
fn files_of_the_client_are_imported_as_they_are_here() {
    let (place, served) = (Place::new(), Served::new());
    let csv = place.write("towns.csv", "zip,name,since\n02138,Cambridge,1630-01-01\n10001,\"New York\",\n");
    let more = place.write("more.csv", "zip,name,since\n00501,Holtsville,1900-05-06\n");
    let arguments: [&[&str]; 3] =
        [&["import", &csv], &["import", "--table", "towns", "--append", &more], &["import", "--table", "other", &csv, &more]];
    for args in arguments {
        let (local, remote) = (place.quiver(args), served.quiver(args));
        assert_eq!((local.status, remote.status), (0, 0), "{}{}", local.err, remote.err);
        let counted = |output: &Output| output.out.split(',').next().map(str::to_string);
        assert_eq!(counted(&remote), counted(&local));
    }
    for sql in ["describe towns", "select * from towns order by zip", "describe other", "select * from other order by zip"] {
        assert_eq!(served.quiver(&["-c", sql]).ok(), place.quiver(&["-c", sql]).ok(), "{sql}");
    }
    let again = served.quiver(&["import", &csv]);
    assert!(again.status == 1 && again.err.contains("towns"), "{}", again.err);
    let ordered = served.quiver(&["import", "--order-by", "zip", "--table", "sorted", &csv]);
    assert!(ordered.status == 1 && ordered.err.contains("CREATE TABLE"), "{}", ordered.err);
}

#[test]
fn an_import_that_breaks_off_leaves_nothing_on_the_server() {
    let (place, served) = (Place::new(), Served::new());
    let rows: String = (0..50_000).map(|n| format!("{n},row {n}\n")).collect();
    let file = place.write("bad.csv", &format!("n,s\n{rows}\"not a number\",x,y\n"));
    let output = served.quiver(&["import", "--table", "t", &file]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains("bad.csv"), "{}", output.err);
    assert!(served.quiver(&["-c", "\\dt"]).ok().contains("there are no tables"));
}

#[test]
fn a_script_is_read_from_a_pipe_and_stops_at_its_first_error() {
    let served = Served::new();
    let output = served.quiver_with(&["--format", "csv"], "select 1 as a;\nselect * from nowhere;\nselect 2 as b;\n");
    assert_eq!((output.out.as_str(), output.status), ("a\n1\n", 1));
}

#[test]
fn a_large_result_arrives_whole() {
    let served = Served::new();
    let sql = "select value as n, repeat('long ', 40) || value as s from generate_series(1, 100000) as g (value) order by n";
    let output = served.quiver(&["--format", "csv", "-c", sql]).ok();
    assert_eq!(output.lines().count(), 100_001);
    assert!(output.ends_with("100000\n"), "{:?}", &output[output.len() - 40..]);
}

#[test]
fn an_unreachable_server_is_one_clear_line() {
    let served = Served::new();
    let tls = served.uri.replace("grpc://", "grpc+tls://");
    let cases = [
        ("http://localhost:1", "error: --connect: expected grpc://HOST"),
        ("localhost", "error: --connect: expected grpc://HOST"),
        ("grpc://localhost:x", "error: --connect: expected a port"),
        ("grpc://127.0.0.1:1", "error: cannot connect to grpc://127.0.0.1:1: Connection refused"),
        ("grpc://no-such-host.invalid", "error: cannot connect to grpc://no-such-host.invalid:31337: "),
        (tls.as_str(), "error: cannot connect to grpc+tls://127.0.0.1:"),
    ];
    for (uri, start) in cases {
        let output = run(&["--connect", uri, "-c", "select 1"], "");
        assert_eq!((output.out.as_str(), output.status), ("", 1), "{uri}: {}", output.err);
        assert!(output.err.starts_with(start), "{uri}: {}", output.err);
        assert!(output.err.lines().filter(|line| !line.starts_with("hint: ")).count() == 1, "{uri}: {}", output.err);
    }
    let output = run(&["--connect", &tls, "-c", "select 1"], "");
    assert!(output.err.contains("hint: a server without TLS is reached by grpc://"), "{}", output.err);
}

#[test]
fn a_password_in_the_uri_is_refused_and_not_repeated() {
    let output = run(&["--connect", "grpc://ann:very-secret@localhost", "-c", "select 1"], "");
    assert_eq!(output.status, 1);
    assert!(output.err.contains("QUIVER_PASSWORD") && !output.err.contains("very-secret"), "{}", output.err);
}

#[test]
fn options_of_a_store_have_no_place_beside_a_server() {
    for options in [["--store", "x"], ["--memory-limit", "1G"], ["--threads", "2"]] {
        let mut args = vec!["--connect", "grpc://localhost"];
        args.extend(options);
        let output = run(&args, "select 1");
        assert_eq!(output.status, 2, "{}", output.err);
        assert!(output.err.contains(options[0]), "{}", output.err);
    }
    let output = run(&["--store", "x", "--user", "ann"], "select 1");
    assert!(output.status == 2 && output.err.contains("--connect"), "{}", output.err);
    let output = run(&["--connect", "grpc://localhost", "export", "--store", "x", "t", "f.csv"], "");
    assert_eq!(output.status, 2, "{}", output.err);
}

#[test]
fn commands_on_files_of_a_store_name_an_alternative_for_servers() {
    for args in
        [vec!["info"], vec!["check"], vec!["backup", "--to", "x"], vec!["restore", "--from", "x"], vec!["user", "list"], vec!["serve"]]
    {
        let mut all = vec!["--connect", "grpc://127.0.0.1:1"];
        all.extend(&args);
        let output = run(&all, "");
        assert_eq!(output.status, 2, "{}", output.err);
        assert!(output.err.contains(args[0]) && output.err.contains("hint: "), "{}", output.err);
    }
}

#[test]
fn a_secret_is_read_only_from_a_file_of_its_owner() {
    let place = Place::new();
    let file = place.write("secret", "sesame\n");
    let path = place.path("secret");
    let args = ["--connect", "grpc://127.0.0.1:1", "--user", "ann", "--password-file", &file, "-c", "select 1"];
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let output = run(&args, "");
    assert!(output.err.contains("others may read it") && output.err.contains("chmod 600"), "{}", output.err);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let output = run(&args, "");
    assert!(output.err.starts_with("error: cannot connect"), "{}", output.err);
}

#[test]
fn a_file_that_a_statement_names_is_the_servers() {
    let served = Served::new();
    let output = served.quiver(&["-c", "copy t from 'nowhere.csv'"]);
    assert!(output.status == 1 && output.err.contains("hint: "), "{}", output.err);
    let output = served.quiver(&["-c", "create external table e stored as csv location 'nowhere.csv'"]);
    assert!(output.status == 1 && output.err.contains("the server's"), "{}", output.err);
}

#[test]
fn the_shell_says_where_it_is_and_completes_tables_of_the_server() {
    let served = Served::new();
    let mut terminal = Terminal::open(&["--connect", &served.uri]);
    terminal.wait_for(&format!("connected to {}", served.uri));
    terminal.wait_for(PROMPT);
    terminal.press("\\conninfo\r");
    terminal.wait_for(&format!("server   {}", served.uri));
    terminal.press("create table wonderful (a int);\r");
    terminal.wait_for("CREATE TABLE (");
    terminal.press("select * from wonde\t");
    terminal.wait_for("wonderful");
    terminal.press("\u{3}\u{4}");
}

#[test]
fn ctrl_c_cancels_the_query_on_the_server_and_not_the_shell() {
    let served = Served::new();
    let mut terminal = Terminal::open(&["--connect", &served.uri]);
    terminal.wait_for(PROMPT);
    terminal.press(ENDLESS);
    terminal.wait_for("Ctrl-C cancels");
    terminal.press("\u{3}");
    terminal.wait_for("error: cancelled");
    terminal.press("select 7 * 6 as still_here;\r");
    terminal.wait_for("still_here │");
    terminal.press("\u{4}");
    assert_eq!(terminal.ended(), 0);
}

/// For a query, which runs while its rows are awaited, and for a change, which has run when it is answered.
#[test]
fn the_bar_says_what_was_touched_here_and_on_a_server() {
    let (place, served) = (Place::new(), Served::new());
    let table = ["-c", "create table t as select value as a from generate_series(1, 200000) as s (value)"];
    place.quiver(&table).ok();
    served.quiver(&table).ok();
    let store = place.store();
    let shows_progress = |shown: String| shown.contains(", touched ") && !shown.contains(", touched 0 B");
    for args in [["--store", store.as_str()], ["--connect", served.uri.as_str()]] {
        let mut terminal = Terminal::open(&args);
        terminal.wait_for(PROMPT);
        for start in ["", "create table u as "] {
            terminal.press(&format!("{start}select count(*) as n from t a, t b where a.a * b.a % 1000003 = -1;\r"));
            while !shows_progress(terminal.wait_for("Ctrl-C cancels")) {}
            terminal.press("\u{3}");
            terminal.wait_for("error: cancelled");
        }
        terminal.press("\u{4}");
        assert_eq!(terminal.ended(), 0);
    }
}

#[test]
fn a_shell_outlives_its_server_and_connects_again() {
    let served = Served::new();
    let uri = served.uri.clone();
    let mut terminal = Terminal::open(&["--connect", &uri]);
    terminal.wait_for(PROMPT);
    terminal.press("create table kept as select 1 as a;\r");
    terminal.wait_for("CREATE TABLE (");
    let (place, address) = served.killed();
    terminal.press("select 1;\r");
    terminal.wait_for(&format!("error: the connection to {uri} is gone: "));
    terminal.wait_for("settings and an open transaction are lost");
    terminal.press("select 2;\r");
    terminal.wait_for(&format!("error: cannot connect to {uri}: "));
    let _again = Served::on(place, &address);
    terminal.press("select a as found from kept;\r");
    terminal.wait_for("(1 row, ");
    terminal.press("\u{4}");
    assert_eq!(terminal.ended(), 0);
}

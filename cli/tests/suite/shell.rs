//! The interactive shell, in a pseudo terminal.

use std::fs;

use crate::served::Served;
use crate::terminal::Terminal;

/// Runs for hours unless it is cancelled.
const ENDLESS: &str = "select count(*) from generate_series(1, 10000000) a, generate_series(1, 10000000) b where a.value + b.value = 0;\r";
const PROMPT: &str = "> ";

#[test]
fn the_banner_says_that_the_store_is_temporary() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for("a temporary store, gone when you leave");
    terminal.wait_for(PROMPT);
    terminal.press("\\q\r");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_store_that_is_new_is_said_to_be_new() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name).display().to_string());
    let mut terminal = Terminal::open(&["--store", &first]);
    terminal.wait_for(": new store ");
    terminal.wait_for(PROMPT);
    terminal.press("\u{4}");
    assert_eq!(terminal.ended(), 0);
    let mut terminal = Terminal::open(&["--store", &first]);
    assert!(!terminal.wait_for(PROMPT).contains("new store"));
    let mut terminal = Terminal::open(&["--store", &second, "-c", "select 1 as one"]);
    terminal.wait_for("note: ");
    terminal.wait_for("is a new store");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_file_is_a_table_of_a_shell_on_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("towns.csv");
    fs::write(&file, "name,people\nBerlin,4\n").expect("a file");
    let mut terminal = Terminal::open(&[&file.display().to_string()]);
    terminal.wait_for("towns, in a temporary store");
    terminal.wait_for(PROMPT);
    terminal.press("select people * 7 as sevenfold from towns;\r");
    terminal.wait_for("│        28 │");
    terminal.press("\\q\r");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_statement_may_span_lines_and_ends_with_a_semicolon() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("select 40 +\r");
    terminal.wait_for("...> ");
    terminal.press("2 as answer;\r");
    terminal.wait_for("answer");
    terminal.wait_for("│     42 │");
    terminal.wait_for("(1 row, ");
    terminal.press("\u{4}");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn ctrl_c_cancels_the_query_and_not_the_shell() {
    let mut terminal = Terminal::open(&[]);
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

#[test]
fn ctrl_c_rolls_back_what_a_server_was_writing() {
    let served = Served::new();
    let mut terminal = Terminal::open(&["--connect", &served.uri]);
    terminal.wait_for(PROMPT);
    for start in ["create table c as select value", "select value into volatile c"] {
        terminal.press(&format!("{start} from generate_series(1, 1000000000000) as g (value) where value < 0;\r"));
        terminal.wait_for("Ctrl-C cancels");
        terminal.press("\u{3}");
        terminal.wait_for("error: cancelled");
        // In the same session, so it runs after the other one.
        terminal.press("select count(*) * 7 + 40 as left_behind from information_schema.tables where table_name = 'c';\r");
        terminal.wait_for("left_behind");
        terminal.wait_for("│          40 │");
        let running = "select count(*) as n from system.queries where statement like '%as g (' || 'value)%'";
        assert_eq!(served.quiver(&["--format", "csv", "-c", running]).ok(), "n\n0\n");
    }
    terminal.press("\u{4}");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn ctrl_c_at_the_prompt_clears_the_line() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("select nonsense");
    terminal.wait_for("nonsense");
    terminal.press("\u{3}");
    terminal.wait_for(PROMPT);
    terminal.press("select 1 as fresh;\r");
    terminal.wait_for("fresh");
    terminal.wait_for("(1 row, ");
}

#[test]
fn an_error_does_not_end_the_shell() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("select * from nowhere;\r");
    terminal.wait_for("error: ");
    terminal.press("select 1 as alive;\r");
    terminal.wait_for("(1 row, ");
}

#[test]
fn a_new_table_is_completed_at_once() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("create table wonderful (a int);\r");
    terminal.wait_for("CREATE TABLE (");
    terminal.press("select * from wonde\t");
    terminal.wait_for("wonderful");
    terminal.press("\u{3}\u{4}");
}

#[test]
fn a_column_is_completed_before_its_table_is_named() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("create table t as select 7 as wonderful_column;\r");
    terminal.wait_for("CREATE TABLE (");
    terminal.press("select wonde\t");
    terminal.wait_for("wonderful_column");
    terminal.press("\u{3}\u{4}");
}

#[test]
fn what_follows_a_statement_that_fails_is_said_not_to_run() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("select nope; select 40 + 2 as answer;\r");
    let shown = terminal.wait_for("what follows it was not run");
    assert!(shown.contains("column \"nope\" does not exist") && !shown.contains("│     42 │"), "{shown}");
    terminal.press("select 1 as one;\r");
    let next = terminal.wait_for("(1 row, ");
    assert!(!next.contains("not run") && !next.contains("│     42 │"), "{next}");
}

#[test]
fn files_are_completed_after_commands_and_in_quotes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("wonderful.sql"), "select 42 as answer;").expect("a file");
    let start = format!("{}/wonde", directory.path().display());
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    for typed in [format!("\\i {start}"), format!("copy t from '{start}"), format!("summarize '{start}")] {
        terminal.press(&format!("{typed}\t"));
        terminal.wait_for("wonderful.sql");
        terminal.press("\u{3}");
        terminal.wait_for(PROMPT);
    }
}

#[test]
fn a_long_result_shows_its_ends_and_says_so() {
    let mut terminal = Terminal::open_with(&[], &[("PAGER", "cat")]);
    terminal.wait_for(PROMPT);
    terminal.press("select value as n from generate_series(1, 100000);\r");
    terminal.wait_for("·");
    terminal.wait_for("100000 │");
    terminal.wait_for("(100,000 rows, 40 shown, ");
}

#[test]
fn a_result_larger_than_the_screen_goes_through_the_pager() {
    let mut terminal = Terminal::open_with(&[], &[("PAGER", "sed 's/^/paged: /'")]);
    terminal.wait_for(PROMPT);
    terminal.press("select value as n from generate_series(1, 100);\r");
    terminal.wait_for("paged: ");
    terminal.press("\\pset pager off\r");
    terminal.wait_for("pager is off");
    terminal.press("select value as n from generate_series(1, 100);\r");
    assert!(!terminal.wait_for("(100 rows, ").contains("paged: "));
}

#[test]
fn a_table_that_is_a_little_too_wide_is_narrowed_and_not_paged() {
    let mut terminal = Terminal::open_with(&[], &[("PAGER", "sed 's/^/paged: /'")]);
    terminal.wait_for(PROMPT);
    terminal.press("select 1234567 as n, repeat('wide ', 40) as w, 'a' as a_name_of_thirty_characters_xxx;\r");
    let shown = terminal.wait_for("(1 row, ");
    assert!(!shown.contains("paged: ") && shown.contains("│ 1234567 │ wide wide ") && shown.contains("…"), "{shown}");
    let lines: Vec<&str> = shown.lines().filter(|line| line.starts_with('│')).collect();
    assert!(lines.len() == 3 && lines.iter().all(|line| line.chars().count() == 100), "{shown}");
    let numbers: Vec<String> = (0..20).map(|index| format!("1234567890 as n{index}")).collect();
    for command in ["\\pset pager on\r", "\\pset pager off\r"] {
        terminal.press(command);
        terminal.wait_for("pager is o");
        terminal.press(&format!("select {};\r", numbers.join(", ")));
        let shown = terminal.wait_for("(1 row, ");
        assert!(!shown.contains("paged: ") && shown.contains("14 more") && shown.contains("│ 1234567890 │ … "), "{shown}");
    }
}

#[test]
fn the_history_is_kept_in_the_state_directory() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("select 1 as remember_me;\r");
    terminal.wait_for("(1 row, ");
    let path = terminal.state_directory().join("quiver/history");
    let history = fs::read_to_string(path).expect("the history");
    assert_eq!(history, "select 1 as remember_me;\n");
}

#[test]
fn words_that_newcomers_type_are_understood() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("help\r");
    terminal.wait_for("\\conninfo");
    terminal.press(".tables\r");
    terminal.wait_for("there are no tables or views");
    terminal.press("exit\r");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_command_works_inside_of_a_statement_that_is_typed() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("select 4 as four\r");
    terminal.wait_for("...> ");
    terminal.press("\\x\r");
    terminal.wait_for("expanded is on");
    terminal.wait_for("select 4 as four");
    terminal.press(", 2 as two;\r");
    terminal.wait_for("four | 4");
    terminal.wait_for("two  | 2");
    terminal.press("\\q\r");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn ctrl_c_ends_a_watched_statement_and_not_the_shell() {
    let mut terminal = Terminal::open(&[]);
    terminal.wait_for(PROMPT);
    terminal.press("select 40 + 2 as answer \\watch 0.01\r");
    for _ in 0..3 {
        terminal.wait_for("│     42 │");
    }
    terminal.press("\u{3}");
    terminal.wait_for(PROMPT);
    terminal.press("select 7 * 6 as still_here;\r");
    terminal.wait_for("still_here │");
    terminal.press("\\q\r");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_signal_to_end_at_the_prompt_removes_the_temporary_store() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let path = temporary.path().display().to_string();
    let mut terminal = Terminal::open_with(&[], &[("TMPDIR", &path)]);
    terminal.wait_for(PROMPT);
    terminal.press("create table t as select 1 as a;\r");
    terminal.wait_for("CREATE TABLE (");
    assert_ne!(fs::read_dir(&path).expect("the directory").count(), 0);
    terminal.terminate();
    assert_eq!(terminal.ended(), 143);
    assert_eq!(fs::read_dir(&path).expect("the directory").count(), 0);
}

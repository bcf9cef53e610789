//! `quiver backup` of a store that another process writes to.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::quiver::{Place, command};

/// A timeout that is longer than anything here, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell in another process that has the store open.
pub struct Shell {
    pub process: Child,
    keys: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Shell {
    pub fn open(place: &Place, switches: &[&str]) -> Shell {
        let store = place.store();
        let mut shell = command(&[&["--store", &store, "--format", "csv"], switches].concat());
        let mut process = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (keys, lines) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()).lines());
        let mut shell = Shell { process, keys, lines };
        shell.run("\\echo open");
        assert_eq!(shell.next(), "open");
        shell
    }

    pub fn run(&mut self, line: &str) {
        writeln!(self.keys.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn next(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Leaves as a user does.
    pub fn close(mut self) {
        drop(self.keys.take());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn with_table() -> Place {
    let place = Place::new();
    place.quiver(&["-c", "create table t as select * from generate_series(1, 50000)"]).ok();
    place
}

fn begin_backup(place: &Place, to: &str) -> Child {
    let mut asker = command(&["backup", "--store", &place.store(), "--to", to]);
    asker.current_dir(place.path("")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A backup into it blocks, because a pipe without a reader stands in place of one of its files.
fn stuck(place: &Place) -> PathBuf {
    let pipe = place.path("backup/quiver-backup.new");
    fs::create_dir(place.path("backup")).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    pipe
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn are_taken(place: &Place, count: usize) {
    let is_mark = |file: &fs::DirEntry| file.path().extension().is_some_and(|kind| kind == "taken");
    let marks = || fs::read_dir(place.path("store/requests")).into_iter().flatten().flatten().filter(is_mark).count();
    wait_until("requests are taken", || marks() == count);
}

fn query(place: &Place, store: &str, sql: &str) -> String {
    place.run(&["--store", store, "--format", "csv", "-c", sql]).ok()
}

/// Restores and checks a backup. Returns how many of the numbers from 0 its two tables have, which must be the same for both.
fn numbers_in(place: &Place, backup: &str, store: &str) -> u64 {
    place.run(&["restore", "--from", backup, "--store", store]).ok();
    let output = place.run(&["check", "--store", store]).ok();
    assert!(output.contains("no problems"), "{output}");
    let sql = "select count(*), count(distinct n), coalesce(max(n), -1) + 1 from";
    let [a, b] = ["a", "b"].map(|table| query(place, store, &format!("{sql} {table}")));
    assert_eq!(a.lines().nth(1), b.lines().nth(1), "half of a transaction");
    let counts: Vec<u64> = a.lines().nth(1).unwrap().split(',').map(|count| count.parse().unwrap()).collect();
    assert!(counts[0] == counts[1] && counts[1] == counts[2], "a row is missing: {a}");
    counts[0]
}

#[test]
fn a_store_under_constant_writes_is_backed_up_and_the_next_backup_is_incremental() {
    let place = with_table();
    let mut shell = Shell::open(&place, &[]);
    shell.run("create table a (n bigint); create table b (n bigint);");
    let (stop, mut keys) = (AtomicBool::new(false), shell.keys.take().unwrap());
    let is_stopped = &stop;
    let (first, second, last) = std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut number = 0;
            while !is_stopped.load(Ordering::Relaxed) {
                let sql = format!("begin; insert into a values ({number}); insert into b values ({number}); commit;");
                // The lines are long, so that the pipe buffers only few of them.
                writeln!(keys, "{sql:2000}").unwrap();
                number += 1;
            }
            (keys, number)
        });
        let first = place.quiver(&["backup", "--to", "kept/backup"]);
        let rows = numbers_in(&place, "kept/backup", "first");
        let second = place.quiver(&["backup", "--to", "kept/backup"]);
        stop.store(true, Ordering::Relaxed);
        let (keys, last) = writer.join().unwrap();
        shell.keys = Some(keys);
        ((first, rows), second, last)
    });
    let (output, rows) = (first.0.ok(), first.1);
    assert!(output.starts_with("version ") && output.contains("4 files linked (") && output.contains(" files copied ("), "{output}");
    let output = second.ok();
    assert!(output.contains("4 files unchanged (") && !output.contains("linked"), "{output}");
    let rows_then = numbers_in(&place, "kept/backup", "second");
    assert!(rows < rows_then && rows_then <= last, "{rows}, then {rows_then}, of {last}");
    shell.close();
    assert!(!place.path("store/requests").exists());
    assert_eq!(query(&place, "store", "select count(*) as n from a"), format!("n\n{last}\n"));
}

#[test]
fn a_process_without_maintenance_still_makes_requested_backups() {
    let place = with_table();
    let shell = Shell::open(&place, &["--no-maintenance"]);
    assert_eq!(place.quiver(&["-q", "backup", "--copy", "--to", "it's a backup"]).ok(), "");
    let output = place.quiver(&["backup", "--to", "store/x"]);
    assert_eq!(output.status, 1);
    assert!(output.err.starts_with("error: ") && output.err.contains("it is inside the store"), "{}", output.err);
    shell.close();
    place.run(&["restore", "--from", "it's a backup", "--store", "restored"]).ok();
    assert_eq!(query(&place, "restored", "select count(*) as n from t"), "n\n50000\n");
}

#[test]
fn a_process_that_is_killed_while_it_makes_a_backup_is_named_or_the_backup_made_without_it() {
    let place = with_table();
    let shell = Shell::open(&place, &[]);
    let pipe = stuck(&place);
    let asker = begin_backup(&place, "backup");
    are_taken(&place, 1);
    std::thread::sleep(Duration::from_millis(300));
    // The client that waits for it goes on waiting.
    fs::remove_file(pipe).unwrap();
    let holder = shell.process.id();
    drop(shell);
    let output = asker.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    if !output.status.success() {
        assert!(err.contains(&format!("process {holder}")) && err.contains("ended before it had made the backup"), "{err}");
        assert!(err.contains("open it for writing once") && err.contains("hint: then run the backup again"), "{err}");
        place.quiver(&["-c", "select 1"]).ok();
        place.quiver(&["backup", "--to", "backup"]).ok();
    }
    assert!(!place.path("store/requests").exists(), "{out}");
    place.run(&["restore", "--from", "backup", "--store", "restored"]).ok();
    assert_eq!(query(&place, "restored", "select count(*) as n from t"), "n\n50000\n");
}

#[test]
fn a_process_that_is_closed_leaves_the_backup_to_the_waiting_client() {
    let place = with_table();
    let mut shell = Shell::open(&place, &[]);
    let pipe = stuck(&place);
    let asker = begin_backup(&place, "backup");
    are_taken(&place, 1);
    std::thread::sleep(Duration::from_millis(300));
    shell.run("insert into t values (0);");
    drop(shell.keys.take());
    // It waits for the backup to stop, which it does when there is a reader.
    std::thread::sleep(Duration::from_secs(1));
    let released = place.path("released");
    fs::rename(pipe, &released).unwrap();
    read_all(&released);
    shell.close();
    let output = asker.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    place.run(&["restore", "--from", "backup", "--store", "restored"]).ok();
    assert_eq!(query(&place, "restored", "select count(*) as n from t"), "n\n50001\n");
}

#[test]
fn ctrl_c_withdraws_the_request_and_a_killed_asker_leaves_no_trace() {
    let place = with_table();
    let mut shell = Shell::open(&place, &[]);
    let pipe = stuck(&place);
    let asker = begin_backup(&place, "backup");
    are_taken(&place, 1);
    let killed = begin_backup(&place, "another");
    are_taken(&place, 2);
    signal(&killed, libc::SIGKILL);
    killed.wait_with_output().unwrap();
    signal(&asker, libc::SIGINT);
    let output = asker.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).trim()), (Some(130), "error: cancelled"));
    wait_until("the requests are gone", || !place.path("store/requests").exists());
    // The shell goes on, and so does the thread that is blocked on the pipe.
    shell.run("select count(*) as n from t;");
    assert_eq!((shell.next(), shell.next()), ("n".to_string(), "50000".to_string()));
    read_all(&pipe);
    let output = place.quiver(&["backup", "--to", "third"]).ok();
    assert!(output.contains("4 files linked"), "{output}");
    assert!(!place.path("another").exists(), "a request is done only while somebody waits");
    shell.close();
}

#[test]
fn a_request_that_is_garbage_is_removed_and_the_next_one_answered() {
    let place = with_table();
    let shell = Shell::open(&place, &[]);
    let requests = place.path("store/requests");
    fs::create_dir(&requests).unwrap();
    fs::write(requests.join("1-1.json"), vec![0xff; 200_000]).unwrap();
    fs::write(requests.join("1-2.done"), "").unwrap();
    place.quiver(&["backup", "--to", "backup"]).ok();
    wait_until("the garbage is gone", || !requests.exists());
    shell.close();
}

fn signal(process: &Child, number: i32) {
    // SAFETY: a child that was not waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(process.id() as i32, number) }, 0);
}

fn read_all(pipe: &Path) {
    let mut reader = fs::File::open(pipe).unwrap();
    let _ = std::io::Read::read_to_end(&mut reader, &mut Vec::new());
}

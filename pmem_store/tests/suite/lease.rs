//! Readers beside the process that writes: what they see, and which files stay for them.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use pmem_store::requests::{Answer, Inbox, PendingRequest, Request, RequestState};
use pmem_store::{Store, StoreError, StoreOptions};

use crate::child::{child, in_child};
use crate::helpers::*;
use crate::restore::{clear, insert, last, seal, values, values_at};

const STORE: &str = "QUIVER_TEST_STORE";

/// A store whose table `t` has 0..100 in a segment, without 0..10, and 100..110 in a log.
fn filled() -> (tempfile::TempDir, Store) {
    let (dir, store) = store_with(&[ints(0..100)]);
    delete(&store, "t", 0..10);
    insert(&store, 100..110);
    (dir, store)
}

fn rows_of_filled() -> Vec<i64> {
    (10..110).collect()
}

fn ask(store: &Path) -> PendingRequest {
    PendingRequest::submit(store, &Request::Lease).unwrap()
}

/// Serves all requests that wait, as the process that writes does.
fn serve(store: &Store) {
    let mut inbox = Inbox::new(store.path());
    for waiting in inbox.look() {
        let loan = store.lend(&waiting.id).unwrap();
        assert!(inbox.answer(&waiting.id, &Answer::Lease { version: loan.version }));
    }
}

fn open_leased(store: &Path, request: PendingRequest) -> Result<Store, StoreError> {
    loop {
        match request.look().unwrap() {
            RequestState::Done(Answer::Lease { version }) => {
                return Store::open_leased(store, StoreOptions::default(), request.into_lease(version));
            }
            RequestState::Done(answer) => panic!("{answer:?}"),
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn reader_of(store: &Store) -> Store {
    let request = ask(store.path());
    serve(store);
    open_leased(store.path(), request).unwrap()
}

/// Everything that takes files away.
fn churn(store: &Store) {
    insert(store, 1_000..1_010);
    seal(store);
    clear(store);
    append(store, "t", &[ints(0..3)]);
    store.set_retention_ms(0).unwrap();
}

#[test]
fn a_reader_beside_a_writer_sees_the_version_of_its_lease() {
    let (dir, store) = filled();
    let version = last(&store);
    let reader = reader_of(&store);
    assert!(reader.is_read_only() && last(&reader) == version);
    assert_eq!(values(&reader), rows_of_filled());
    churn(&store);
    assert_eq!(values(&store), [0, 1, 2]);
    assert_eq!((last(&reader), values(&reader)), (version, rows_of_filled()));
    assert!(matches!(reader.begin(), Err(StoreError::ReadOnly(_))));
    assert_eq!(reader.check_with(true, |_| {}).unwrap().problems, Vec::<String>::new());
    // The next reader sees what was committed since.
    assert_eq!(values(&reader_of(&store)), [0, 1, 2]);
    drop(reader);
    assert!(!dir.path().join("requests").exists());
}

#[test]
fn rows_that_are_not_durable_yet_are_in_a_lease() {
    let (_dir, store) = filled();
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(table(&store, "t").record().id, ints(110..120)).unwrap();
    transaction.set_durability(pmem_store::Durability::Async);
    transaction.commit("INSERT").unwrap();
    assert_eq!(values(&reader_of(&store)), (10..120).collect::<Vec<_>>());
}

#[test]
fn a_reader_opens_files_that_the_writer_has_given_up_since() {
    let (dir, store) = filled();
    let before = last(&store);
    delete(&store, "t", [50]);
    let reader = reader_of(&store);
    churn(&store);
    drop_table(&store, "t");
    // Neither has been opened by the reader before.
    assert_eq!(values(&reader).len(), 99);
    assert_eq!(values_at(&reader, before), rows_of_filled());
    drop(reader);
    append_to_another(&store);
    assert_eq!(segment_files(dir.path()).len(), 1, "only that of the other table is left");
}

/// A commit, which removes what nobody reads any more.
fn append_to_another(store: &Store) {
    create_table(store, "other", &ints(0..1).schema());
    append(store, "other", &[ints(0..1)]);
    store.set_retention_ms(0).unwrap();
}

#[test]
fn files_of_a_lease_stay_for_as_many_writers_as_come() {
    let (dir, store) = filled();
    store.set_retention_ms(0).unwrap();
    let reader = reader_of(&store);
    let other = reader_of(&store);
    clear(&store);
    drop(store);
    assert!(dir.path().join("dirty").exists(), "files are left for the readers");
    let store = open(dir.path());
    assert_eq!(values(&store), Vec::<i64>::new());
    append(&store, "t", &[ints(0..5)]);
    assert_eq!(values(&reader), rows_of_filled());
    drop_table(&store, "t");
    drop((store, reader));
    let store = open(dir.path());
    assert_eq!(values(&other), rows_of_filled());
    drop(other);
    drop(store);
    assert_eq!(segment_files(dir.path()), Vec::<std::path::PathBuf>::new());
    assert!(!dir.path().join("dirty").exists() && !dir.path().join("requests").exists());
}

/// This is no test by itself: it is the other process of the tests below. Lines of its input are what it does.
#[test]
fn a_child_process_does_what_its_input_says() {
    if !in_child() {
        return;
    }
    let path = std::env::var(STORE).expect("set by the parent");
    let path = Path::new(&path);
    let (mut writer, mut reader) = (None, None);
    for line in std::io::stdin().lines() {
        match line.expect("a line").as_str() {
            "write" => writer = Some(open(path)),
            "serve" => serve(writer.as_ref().expect("it writes")),
            "churn" => {
                let store = writer.as_ref().expect("it writes");
                churn(store);
                // Sealed and not named when the process is killed.
                let mut appender = store.appender(table(store, "t").record().id, ints(0..1).schema()).expect("an appender");
                appender.write(ints(0..10)).expect("rows");
                appender.finish().expect("segments");
            }
            "read" => reader = Some(open_leased(path, ask(path)).expect("a lease")),
            other => panic!("{other}"),
        }
        println!("\ndone {}", reader.as_ref().map_or(0, |reader| values(reader).len()));
    }
}

struct Other {
    process: Child,
    output: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Other {
    fn start(store: &Path) -> Other {
        let mut command = child("lease::a_child_process_does_what_its_input_says");
        let mut process = command.env(STORE, store).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the test binary starts");
        let output = BufReader::new(process.stdout.take().expect("piped")).lines();
        Other { process, output }
    }

    fn begin(&mut self, line: &str) {
        writeln!(self.process.stdin.as_mut().expect("piped"), "{line}").expect("the child reads");
    }

    /// The number of rows that the child reads.
    fn end(&mut self) -> usize {
        let done = |line: std::io::Result<String>| line.ok()?.strip_prefix("done ")?.parse::<usize>().ok();
        self.output.by_ref().find_map(done).expect("the child goes on")
    }

    fn run(&mut self, line: &str) {
        self.begin(line);
        self.end();
    }

    fn kill(&mut self) {
        self.process.kill().expect("kill");
        self.process.wait().expect("wait");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn files_of_a_lease_stay_when_the_writer_is_killed_and_the_store_recovered() {
    let (dir, store) = filled();
    store.set_retention_ms(0).unwrap();
    drop(store);
    let mut writer = Other::start(dir.path());
    writer.run("write");
    let request = ask(dir.path());
    writer.run("serve");
    let reader = open_leased(dir.path(), request).unwrap();
    writer.run("churn");
    writer.kill();
    let store = open(dir.path());
    assert_eq!(values(&store), [0, 1, 2]);
    // The ids of what the killed process had not committed are given again.
    append(&store, "t", &[ints(3..5)]);
    insert(&store, 5..7);
    seal(&store);
    assert_eq!(values(&store), (0..7).collect::<Vec<_>>());
    assert_eq!(values(&reader), rows_of_filled());
    drop(reader);
    drop(store);
    assert!(!dir.path().join("dirty").exists() && !dir.path().join("requests").exists());
    assert_eq!(segment_files(dir.path()).len(), 3);
    assert_eq!(open(dir.path()).check(|_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_lease_ends_with_a_reader_that_is_killed() {
    let (dir, store) = filled();
    store.set_retention_ms(0).unwrap();
    let mut reader = Other::start(dir.path());
    reader.begin("read");
    while !dir.path().join("requests").exists() || Inbox::new(dir.path()).look().is_empty() {
        assert!(reader.process.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    serve(&store);
    assert_eq!(reader.end(), 100);
    drop_table(&store, "t");
    assert_eq!(segment_files(dir.path()).len(), 2, "a segment and a log are read");
    reader.kill();
    append_to_another(&store);
    assert_eq!(segment_files(dir.path()).len(), 1, "only that of the other table is left");
    drop(store);
    drop(open(dir.path()));
    assert!(!dir.path().join("requests").exists());
}

#[test]
fn a_store_that_is_only_read_gives_no_lease() {
    let (dir, store) = filled();
    drop(store);
    let store = open_read_only(dir.path()).unwrap();
    assert!(matches!(store.lend("1-1"), Err(StoreError::ReadOnly(_))));
}

//! Backups of a store that is open for writing, asked for from outside. That another process asks is in cli/tests.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use engine::backup::{self, BackupReport, back_up};
use engine::{Engine, EngineError};
use pmem_store::requests::{Answer, BackupRequest, Inbox, PendingRequest, Request, RequestState};
use pmem_store::{Store, StoreOptions};

use super::helpers::{Db, Ran, numbers, options, wait};

/// Longer than any engine takes to see a request, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn ask(db: &Db, to: &str) -> Result<BackupReport, EngineError> {
    back_up(&db.store_path(), Path::new(&db.file(to)), false, PATIENCE, &mut |_| ControlFlow::Continue(()))
}

fn with_rows() -> Db {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    db
}

/// The count of the rows of `t` in a backup.
fn rows_in(db: &Db, name: &str) -> String {
    let to = db.file(&format!("{name}-restored"));
    backup::restore(Path::new(&db.file(name)), Path::new(&to), false, &mut |_| ControlFlow::Continue(())).unwrap();
    let engine = Engine::open(Path::new(&to), options()).unwrap();
    let session = engine.session().unwrap();
    let (batches, report) = wait(async { session.execute("SELECT count(*) FROM t").await?.collect().await }).unwrap();
    Ran { batches, report, kind: engine::StatementKind::Query }.rows().remove(0)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn has_requests(db: &Db) -> bool {
    db.store_path().join("requests").exists()
}

#[test]
fn who_has_the_store_open_makes_the_backup_also_without_maintenance() {
    let db = with_rows();
    let first = ask(&db, "backup").unwrap();
    assert_eq!((first.linked.files, first.unchanged.files, first.path.as_path()), (4, 0, Path::new(&db.file("backup"))));
    db.run("INSERT INTO t SELECT * FROM t LIMIT 7");
    let second = ask(&db, "backup").unwrap();
    assert_eq!((second.linked.files, second.unchanged.files), (0, 4));
    assert!(second.version > first.version);
    assert_eq!(rows_in(&db, "backup"), "50007");
    let names: Vec<_> = fs::read_dir(db.file("backup")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name == "requests") && !has_requests(&db), "{names:?}");
}

#[test]
fn what_is_wrong_with_the_place_of_a_backup_is_said_to_who_asked() {
    let db = with_rows();
    let error = ask(&db, "store/inside").unwrap_err().to_string();
    assert!(error.contains("it is inside the store"), "{error}");
    let other = with_rows();
    ask(&other, "backup").unwrap();
    let theirs = other.file("backup");
    let error = back_up(&db.store_path(), Path::new(&theirs), false, PATIENCE, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("is the backup of another store"), "{error}");
    assert!(!has_requests(&db));
}

#[test]
fn several_may_ask_at_once_also_for_the_same_place() {
    let db = with_rows();
    std::thread::scope(|scope| {
        let askers: Vec<_> = ["a", "b", "b", "c", "a"].iter().map(|to| scope.spawn(|| ask(&db, to).unwrap())).collect();
        askers.into_iter().for_each(|asker| drop(asker.join().unwrap()));
    });
    assert_eq!(["a", "b", "c"].map(|name| rows_in(&db, name)), ["50000", "50000", "50000"]);
    assert!(!has_requests(&db));
}

#[test]
fn a_holder_that_says_nothing_is_named_with_the_statement_to_run_there() {
    let dir = tempfile::tempdir().unwrap();
    let (store, to) = (dir.path().join("store"), dir.path().join("it's"));
    // As an older version: nobody looks for requests.
    let _holder = Store::open(&store, StoreOptions::default()).unwrap();
    let error = back_up(&store, &to, false, Duration::from_millis(300), &mut |_| ControlFlow::Continue(())).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&format!("process {}", std::process::id())) && text.contains("within 0.3 s"), "{text}");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.starts_with("in that process, BACKUP TO '/") && hint.contains("it''s' makes"), "{hint}");
    assert!(!store.join("requests").exists() && !to.exists());
}

#[test]
fn a_request_that_nobody_can_place_names_the_statement_too() {
    let db = with_rows();
    fs::write(db.store_path().join("requests"), b"in the way").unwrap();
    let error = ask(&db, "backup").unwrap_err();
    assert!(error.to_string().contains("cannot be asked for a backup: cannot write a request"), "{error}");
    assert!(error.hint().unwrap_or_default().contains("BACKUP TO"));
}

#[test]
fn who_asked_makes_the_backup_itself_when_the_store_is_closed_meanwhile() {
    let dir = with_rows().closed();
    let (path, to) = (dir.path().join("store"), dir.path().join("backup"));
    let holder = Store::open(&path, StoreOptions::default()).unwrap();
    let (holder, looks) = (std::sync::Mutex::new(Some(holder)), AtomicUsize::new(0));
    let report = back_up(&path, &to, false, PATIENCE, &mut |_| {
        if looks.fetch_add(1, Ordering::Relaxed) == 2 {
            drop(holder.lock().unwrap().take());
        }
        ControlFlow::Continue(())
    });
    assert_eq!(report.unwrap().linked.files, 4);
    assert!(!path.join("requests").exists());
}

#[test]
fn another_holder_goes_on_with_what_the_last_one_has_taken() {
    let dir = with_rows().closed();
    let path = dir.path().join("store");
    let mut last = Inbox::new(&path);
    let request = Request::Backup(BackupRequest { to: dir.path().join("backup"), copies: false });
    let pending_request = PendingRequest::submit(&path, &request).unwrap();
    assert_eq!(last.look().len(), 1);
    let _engine = Engine::open(&path, options()).unwrap();
    wait_until("there is an answer", || matches!(pending_request.look().unwrap(), RequestState::Done(_)));
    assert!(matches!(pending_request.look().unwrap(), RequestState::Done(Answer::Done(report)) if report.linked.files == 4));
}

/// A target that keeps a backup waiting: nobody reads the pipe in the place of a file that it makes.
fn stuck(db: &Db) -> PathBuf {
    let to = PathBuf::from(db.file("stuck"));
    fs::create_dir(&to).unwrap();
    let status = std::process::Command::new("mkfifo").arg(to.join("quiver-backup.new")).status().unwrap();
    assert!(status.success());
    to
}

#[test]
fn a_backup_that_takes_long_is_waited_for_and_a_second_one_is_acknowledged_meanwhile() {
    let db = with_rows();
    let to = stuck(&db);
    let short = Duration::from_secs(2);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| back_up(&db.store_path(), &to, false, short, &mut |_| ControlFlow::Continue(())));
        let second = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            back_up(&db.store_path(), Path::new(&db.file("second")), false, short, &mut |_| ControlFlow::Continue(()))
        });
        std::thread::sleep(short + Duration::from_millis(1_000));
        assert!(!first.is_finished() && !second.is_finished());
        // Whoever waits for a reader goes on; the pipe cannot be synced, which is an error.
        let mut reader = fs::File::open(to.join("quiver-backup.new")).unwrap();
        let _ = std::io::Read::read_to_end(&mut reader, &mut Vec::new());
        assert!(first.join().unwrap().is_err());
        assert_eq!(second.join().unwrap().unwrap().linked.files, 4);
    });
}

#[test]
fn a_request_that_is_withdrawn_is_not_begun() {
    let db = with_rows();
    let error = back_up(&db.store_path(), Path::new(&db.file("backup")), false, PATIENCE, &mut |_| ControlFlow::Break(()));
    assert!(backup::is_stopped(&error.unwrap_err()));
    assert!(!has_requests(&db));
    // When one that comes after it is answered, it was seen or gone.
    ask(&db, "another").unwrap();
    assert!(!Path::new(&db.file("backup")).exists());
}

#[test]
fn garbage_among_requests_disturbs_nobody() {
    let db = with_rows();
    let requests = db.store_path().join("requests");
    fs::create_dir(&requests).unwrap();
    fs::write(requests.join("1-1.json"), vec![b'x'; 1 << 20]).unwrap();
    fs::write(requests.join("1-2.json"), b"\xff\xfe{").unwrap();
    let file = fs::File::open(requests.join("1-2.json")).unwrap();
    file.lock().unwrap();
    assert_eq!(ask(&db, "backup").unwrap().linked.files, 4);
    assert!(!requests.join("1-1.json").exists());
    let answer = requests.join("1-2.done");
    wait_until("it is answered", || answer.exists());
    assert!(fs::read_to_string(answer).unwrap().contains("cannot be understood"));
    drop(file);
    let db = db.reopened();
    assert!(!has_requests(&db));
}

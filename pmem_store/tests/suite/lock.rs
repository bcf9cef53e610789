//! Which processes may open a store together, and the errors that the others get.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use pmem_store::lock::{LOCK_FILE, LockError, LockKind, StoreLock};
use pmem_store::region::{Mode, RegionKind, detect_mode};

use crate::child::{child, in_child, rerun};

const STORE: &str = "QUIVER_TEST_STORE";
const HOLD: &str = "lock::a_child_process_holds_a_lock_until_its_input_ends";

/// This is no test by itself: it is the other process of the tests below.
#[test]
fn a_child_process_holds_a_lock_until_its_input_ends() {
    if !in_child() {
        return;
    }
    let kind = if std::env::var_os("QUIVER_TEST_SHARED").is_some() { LockKind::Shared } else { LockKind::Exclusive };
    let store = std::env::var(STORE).expect("set by the parent");
    let _lock = StoreLock::acquire(Path::new(&store), kind).expect("lock");
    println!("\nlocked");
    let _ = std::io::stdin().lines().count();
}

/// The process, and its output, which must stay open until the process ends.
struct Other {
    process: Child,
    _output: Lines<BufReader<ChildStdout>>,
}

fn holder(store: &Path, kind: LockKind) -> Other {
    let mut command = child(HOLD);
    command.env(STORE, store).stdin(Stdio::piped()).stdout(Stdio::piped());
    if kind == LockKind::Shared {
        command.env("QUIVER_TEST_SHARED", "1");
    }
    let mut process = command.spawn().expect("the test binary starts again");
    let mut output = BufReader::new(process.stdout.take().expect("piped")).lines();
    assert!(output.any(|line| line.is_ok_and(|line| line == "locked")), "the child took no lock");
    Other { process, _output: output }
}

fn refused(store: &Path, kind: LockKind) -> LockError {
    StoreLock::acquire(store, kind).expect_err("somebody else holds the lock")
}

#[test]
fn a_second_writer_is_told_the_process_that_has_the_store_open() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut other = holder(dir.path(), LockKind::Exclusive);
    let error = refused(dir.path(), LockKind::Exclusive);
    let message = error.to_string();
    assert!(message.contains(&format!("is in use by process {} (suite", other.process.id())), "{message}");
    assert!(message.contains("--exact lock::") && message.ends_with("; close it first"), "{message}");
    let LockError::InUse { holders, .. } = error else { panic!("{error}") };
    assert!(holders[0].since_unix_s.is_some_and(|since| since > 1_700_000_000));
    other.process.kill().expect("kill");
    other.process.wait().expect("wait");
    StoreLock::acquire(dir.path(), LockKind::Exclusive).expect("a lock ends with its process, however it ends");
}

#[test]
fn a_writer_is_told_a_reader_and_that_reading_is_possible() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut others = [holder(dir.path(), LockKind::Shared), holder(dir.path(), LockKind::Shared)];
    let mine = StoreLock::acquire(dir.path(), LockKind::Shared).expect("readers share");
    drop(mine);
    let message = refused(dir.path(), LockKind::Exclusive).to_string();
    assert!(others.iter().any(|other| message.contains(&format!("process {} ", other.process.id()))), "{message}");
    assert!(message.contains("and 1 more; close it, or open the store read-only"), "{message}");
    for other in &mut others {
        drop(other.process.stdin.take());
        other.process.wait().expect("wait");
    }
}

#[test]
fn a_conflict_within_one_process_names_this_process() {
    let dir = tempfile::tempdir().expect("tempdir");
    let first = StoreLock::acquire(dir.path(), LockKind::Exclusive).expect("free");
    assert_eq!(first.kind(), LockKind::Exclusive);
    for kind in [LockKind::Exclusive, LockKind::Shared] {
        let message = refused(dir.path(), kind).to_string();
        assert!(message.contains(&format!("process {} ", std::process::id())), "{message}");
    }
    drop(first);
    StoreLock::acquire(dir.path(), LockKind::Shared).expect("free again");
}

#[test]
fn a_reader_of_a_directory_it_may_not_write_needs_no_lock_file() {
    if in_child() {
        let store = std::env::var(STORE).expect("set by the parent");
        let store = Path::new(&store);
        // SAFETY: gives up root in this child only, because root may write everywhere; without root
        // it fails, and the directory is read-only anyway.
        unsafe { libc::setuid(65534) };
        StoreLock::acquire(store, LockKind::Shared).expect("nothing to lock, nobody can write");
        assert!(matches!(StoreLock::acquire(store, LockKind::Exclusive), Err(LockError::Io { .. })));
        let mode = detect_mode(store, RegionKind::Auto).expect("by the file system alone");
        assert!(matches!(mode, Mode::Msync | Mode::Volatile));
        return;
    }
    let dir = tempfile::tempdir().expect("tempdir");
    let set = |mode| std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(mode)).expect("chmod");
    set(0o555);
    let test = "lock::a_reader_of_a_directory_it_may_not_write_needs_no_lock_file";
    let status = rerun(test, &[(STORE, dir.path().to_str().expect("UTF-8"))]);
    set(0o755);
    assert!(status.success());
    assert!(!dir.path().join(LOCK_FILE).exists());
}

#[test]
fn who_finds_a_server_is_told_its_address() {
    let dir = tempfile::tempdir().expect("tempdir");
    let lock = StoreLock::acquire(dir.path(), LockKind::Exclusive).expect("free");
    lock.announce("grpc://127.0.0.1:4711");
    let message = refused(dir.path(), LockKind::Exclusive).to_string();
    assert!(message.contains(&format!("in use by process {} (suite", std::process::id())), "{message}");
    assert!(message.ends_with("; ask that server with --connect grpc://127.0.0.1:4711, or close it first"), "{message}");
}

#[test]
fn closing_a_store_leaves_an_empty_lock_file() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join(LOCK_FILE);
    let lock = StoreLock::acquire(dir.path(), LockKind::Exclusive).expect("free");
    let record = std::fs::read_to_string(&path).expect("readable");
    assert!(record.starts_with(&format!("{} ", std::process::id())), "{record}");
    drop(lock);
    assert_eq!(std::fs::read(&path).expect("still there"), b"");
}

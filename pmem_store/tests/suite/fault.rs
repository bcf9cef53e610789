//! Lost pages become errors of the reader; everything else about SIGBUS stays as it was. Also the
//! mappings themselves.

use std::fs::OpenOptions;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

use pmem_store::fault::guarded_mappings;
use pmem_store::mapping::{Mapping, MappingError};

const FILE_BYTES: usize = 64 * 1024;
const CHILD: &str = "QUIVER_TEST_CHILD";

/// Whether this process was started by [`rerun`] for the part of a test that needs a process of its
/// own.
pub fn in_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// A command that runs one test of this binary (named "module::function") in a process of its own.
pub fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1");
    command
}

/// Runs [`child`] to its end, quietly if it ends well.
pub fn rerun(test: &str, environment: &[(&str, &str)]) -> ExitStatus {
    let output = child(test)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the test binary starts again");
    let stdout = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(101) {
        eprintln!(
            "{test} in a child: {stdout}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert!(stdout.contains("running 1 test"), "there is no test {test}");
    output.status
}

fn file_of_sevens(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, vec![7u8; FILE_BYTES]).expect("write");
    path
}

fn truncate(path: &Path, len: u64) {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|file| file.set_len(len))
        .expect("truncate");
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

/// Faults in a mapping that is not ours, with our handler installed.
fn fault_elsewhere() {
    no_core_file();
    let dir = tempfile::tempdir().expect("tempdir");
    let ours = Mapping::open(&file_of_sevens(dir.path(), "ours"), None).expect("map");
    let path = file_of_sevens(dir.path(), "foreign");
    let file = std::fs::File::open(&path).expect("open");
    // SAFETY: the file is truncated on purpose; the fault is what is tested.
    let foreign = unsafe { memmap2::Mmap::map(&file) }.expect("map");
    truncate(&path, 0);
    println!(
        "survived with {} and {}",
        sum(&foreign),
        sum(ours.slice(0, 1).expect("in range"))
    );
}

fn no_core_file() {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a valid limit; only this child process is concerned.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
}

/// Takes away the handler of Rust's runtime, which swallows the first signal that is not a fault.
fn default_action() {
    // SAFETY: the default action is always valid; only this child process is concerned.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}

#[test]
fn a_truncated_file_reads_as_zeros_and_is_marked_damaged() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "lost");
    let other = Mapping::open(&file_of_sevens(dir.path(), "other"), None).expect("map");
    let mapping = Mapping::open(&path, Some(FILE_BYTES as u64)).expect("map");
    assert_eq!(
        sum(mapping.slice(0, FILE_BYTES).expect("in range")),
        7 * FILE_BYTES as u64
    );
    truncate(&path, 0);
    assert!(!mapping.damaged(), "nothing was read since");
    assert_eq!(sum(mapping.slice(5000, 1).expect("in range")), 0);
    assert!(mapping.damaged());
    assert_eq!(sum(mapping.slice(0, FILE_BYTES).expect("in range")), 0);
    assert_eq!(
        sum(other.slice(0, FILE_BYTES).expect("in range")),
        7 * FILE_BYTES as u64
    );
    assert!(!other.damaged());
}

#[test]
fn pages_before_the_cut_are_still_read_as_they_are() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "half");
    let mapping = Mapping::open(&path, None).expect("map");
    truncate(&path, FILE_BYTES as u64 / 2);
    assert_eq!(
        sum(mapping.slice(0, FILE_BYTES / 2).expect("in range")),
        7 * FILE_BYTES as u64 / 2
    );
    assert!(!mapping.damaged());
    assert_eq!(sum(mapping.slice(FILE_BYTES / 2, 1).expect("in range")), 0);
    assert!(mapping.damaged());
}

#[test]
fn errno_is_the_same_before_and_after_a_fault() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "lost");
    let mapping = Mapping::open(&path, None).expect("map");
    truncate(&path, 0);
    // SAFETY: errno is thread-local and always there.
    unsafe { *libc::__errno_location() = 77 };
    let read = mapping.slice(0, 1).expect("in range")[0];
    // SAFETY: as above.
    assert_eq!((read, unsafe { *libc::__errno_location() }), (0, 77));
}

#[test]
fn a_fault_outside_our_mappings_still_ends_the_process() {
    const DEFAULT_ACTION: &str = "QUIVER_TEST_DEFAULT_ACTION";
    if in_child() {
        if std::env::var_os(DEFAULT_ACTION).is_some() {
            default_action();
        }
        return fault_elsewhere();
    }
    for environment in [&[][..], &[(DEFAULT_ACTION, "1")]] {
        let status = rerun(
            "fault::a_fault_outside_our_mappings_still_ends_the_process",
            environment,
        );
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
    }
}

#[test]
fn a_signal_sent_by_hand_still_ends_the_process() {
    if in_child() {
        no_core_file();
        default_action();
        let dir = tempfile::tempdir().expect("tempdir");
        let _ours = Mapping::open(&file_of_sevens(dir.path(), "ours"), None).expect("map");
        // SAFETY: ends this child process.
        unsafe { libc::raise(libc::SIGBUS) };
        return;
    }
    let status = rerun("fault::a_signal_sent_by_hand_still_ends_the_process", &[]);
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
}

#[test]
fn a_handler_that_was_there_before_gets_the_faults_that_are_not_ours() {
    extern "C" fn leave(_: libc::c_int) {
        // SAFETY: _exit may be called from a signal handler.
        unsafe { libc::_exit(42) };
    }
    if in_child() {
        let handler: extern "C" fn(libc::c_int) = leave;
        // SAFETY: the handler has the signature `signal` wants.
        unsafe { libc::signal(libc::SIGBUS, handler as *const () as usize) };
        return fault_elsewhere();
    }
    let test = "fault::a_handler_that_was_there_before_gets_the_faults_that_are_not_ours";
    assert_eq!(rerun(test, &[]).code(), Some(42));
}

#[test]
fn slots_of_dropped_mappings_are_used_again() {
    if in_child() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = file_of_sevens(dir.path(), "many");
        let lost = file_of_sevens(dir.path(), "lost");
        for _ in 0..3 {
            // More than fit into two chunks of the registry.
            let many: Vec<_> = (0..3000)
                .map(|_| Mapping::open(&path, None).expect("map"))
                .collect();
            std::fs::write(&lost, vec![7u8; FILE_BYTES]).expect("write");
            let last = Mapping::open(&lost, None).expect("map");
            assert_eq!(guarded_mappings(), 3001);
            truncate(&lost, 0);
            assert_eq!(sum(last.slice(0, 10).expect("in range")), 0);
            assert!(last.damaged() && !many.iter().any(|mapping| mapping.damaged()));
        }
        assert_eq!(guarded_mappings(), 0);
        return;
    }
    assert!(rerun("fault::slots_of_dropped_mappings_are_used_again", &[]).success());
}

#[test]
fn faults_find_their_mapping_while_others_come_and_go() {
    let dir = tempfile::tempdir().expect("tempdir");
    let stable = file_of_sevens(dir.path(), "stable");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let mapping = Mapping::open(&stable, None).expect("map");
                    assert_eq!(mapping.slice(100, 1).expect("in range"), [7]);
                    assert!(!mapping.damaged());
                }
            });
        }
        for thread in 0..2 {
            let dir = dir.path();
            scope.spawn(move || {
                for _ in 0..200 {
                    let path = file_of_sevens(dir, &format!("lost{thread}"));
                    let mapping = Mapping::open(&path, None).expect("map");
                    truncate(&path, 0);
                    assert_eq!(sum(mapping.slice(0, FILE_BYTES).expect("in range")), 0);
                    assert!(mapping.damaged());
                }
            });
        }
    });
}

#[test]
fn a_buffer_outlives_the_mapping_it_was_taken_from() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "file");
    let mapping = Mapping::open(&path, None).expect("map");
    let buffer = mapping.buffer(64, 128).expect("in range");
    let whole = mapping.whole();
    assert_eq!(
        buffer.as_ptr(),
        mapping.as_ptr().wrapping_add(64),
        "no copy"
    );
    assert!(
        mapping.contains(buffer.as_ptr(), 128) && mapping.contains(whole.as_ptr(), whole.len())
    );
    assert!(!mapping.contains(buffer.as_ptr(), FILE_BYTES));
    assert!(!mapping.contains(mapping.as_ptr().wrapping_sub(1), 1));
    let weak = Arc::downgrade(&mapping);
    drop((mapping, whole));
    std::fs::remove_file(&path).expect("a mapped file can be unlinked");
    assert_eq!(buffer.as_slice(), [7u8; 128]);
    drop(buffer);
    assert!(weak.upgrade().is_none(), "the last buffer unmaps");
}

#[test]
fn a_file_that_is_not_what_the_catalog_says_is_not_mapped() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "file");
    let error = Mapping::open(&path, Some(FILE_BYTES as u64 + 1)).expect_err("too short");
    assert!(
        matches!(
            error,
            MappingError::Length {
                expected: 65537,
                found: 65536,
                ..
            }
        ),
        "{error}"
    );
    truncate(&path, 0);
    assert!(matches!(
        Mapping::open(&path, None),
        Err(MappingError::Empty { .. })
    ));
    assert!(matches!(
        Mapping::open(dir.path(), None),
        Err(MappingError::NotAFile { .. })
    ));
    let absent = dir.path().join("absent");
    let error = Mapping::open(&absent, None)
        .expect_err("absent")
        .to_string();
    assert!(
        error.contains("absent") && error.contains("No such file"),
        "{error}"
    );
}

#[test]
fn slices_outside_the_file_are_errors() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mapping = Mapping::open(&file_of_sevens(dir.path(), "file"), None).expect("map");
    assert_eq!(
        mapping
            .slice(FILE_BYTES, 0)
            .expect("empty at the end")
            .len(),
        0
    );
    for (offset, len) in [
        (FILE_BYTES, 1),
        (0, FILE_BYTES + 1),
        (usize::MAX, 2),
        (2, usize::MAX),
    ] {
        assert!(matches!(
            mapping.slice(offset, len),
            Err(MappingError::OutOfBounds { .. })
        ));
        assert!(matches!(
            mapping.buffer(offset, len),
            Err(MappingError::OutOfBounds { .. })
        ));
    }
}

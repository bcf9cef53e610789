//! Lost pages become errors of the reader; all other SIGBUS signals behave as before.

mod signals;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use pmem_store::fault::guarded_mappings;
use pmem_store::mapping::Mapping;

use crate::child::{in_child, rerun};

pub const FILE_BYTES: usize = 64 * 1024;

pub fn file_of_sevens(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, vec![7u8; FILE_BYTES]).expect("write");
    path
}

pub fn truncate(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(len)).expect("truncate");
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

#[test]
fn a_truncated_file_reads_as_zeros_and_is_marked_damaged() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "lost");
    let other = Mapping::open(&file_of_sevens(dir.path(), "other"), None).expect("map");
    let mapping = Mapping::open(&path, Some(FILE_BYTES as u64)).expect("map");
    assert_eq!(sum(mapping.slice(0, FILE_BYTES).expect("in range")), 7 * FILE_BYTES as u64);
    truncate(&path, 0);
    assert!(!mapping.damaged(), "nothing was read since");
    assert_eq!(sum(mapping.slice(5000, 1).expect("in range")), 0);
    assert!(mapping.damaged());
    assert_eq!(sum(mapping.slice(0, FILE_BYTES).expect("in range")), 0);
    assert_eq!(sum(other.slice(0, FILE_BYTES).expect("in range")), 7 * FILE_BYTES as u64);
    assert!(!other.damaged());
}

#[test]
fn pages_before_the_cut_are_still_read_as_they_are() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "half");
    let mapping = Mapping::open(&path, None).expect("map");
    truncate(&path, FILE_BYTES as u64 / 2);
    assert_eq!(sum(mapping.slice(0, FILE_BYTES / 2).expect("in range")), 7 * FILE_BYTES as u64 / 2);
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
fn slots_of_dropped_mappings_are_used_again() {
    if in_child() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = file_of_sevens(dir.path(), "many");
        let lost = file_of_sevens(dir.path(), "lost");
        for _ in 0..3 {
            // They are more than fit into two chunks of the registry.
            let many: Vec<_> = (0..3000).map(|_| Mapping::open(&path, None).expect("map")).collect();
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

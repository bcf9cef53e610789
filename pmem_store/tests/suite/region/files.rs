//! The file of a region is new, fully reserved, and removed unless it was sealed.

use pmem_store::region::{PoisonFlag, RegionError, create};

use super::{CAPACITY, is_empty, kinds, mapped_kinds, region};
use crate::child::{in_child, rerun};

#[test]
fn an_existing_file_is_never_reused() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("a");
    std::fs::write(&path, b"precious").expect("write");
    for kind in kinds() {
        let error = create(&path, CAPACITY, kind, PoisonFlag::new()).err().expect("exists");
        assert!(matches!(error, RegionError::Exists { .. }), "{error}");
        assert_eq!(std::fs::read(&path).expect("read"), b"precious");
    }
}

#[test]
fn a_region_that_is_not_sealed_leaves_no_file() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in kinds() {
        drop(region(&dir.path().join("a"), kind));
        let empty = region(&dir.path().join("a"), kind).seal(0);
        assert!(matches!(empty, Err(RegionError::SealedEmpty { .. })));
        assert!(is_empty(dir.path()), "{kind:?}");
    }
}

#[test]
fn a_region_larger_than_the_disk_is_refused_and_leaves_no_file() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in mapped_kinds() {
        for capacity in [1 << 50, u64::MAX] {
            let error = create(&dir.path().join("a"), capacity, kind, PoisonFlag::new()).err().expect("no space");
            assert!(matches!(error, RegionError::NoSpace { .. }), "{error}");
            assert!(is_empty(dir.path()));
        }
    }
}

#[test]
fn a_reservation_the_system_refuses_leaves_no_file() {
    if in_child() {
        let limit = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
        // SAFETY: valid arguments; only this child process is concerned.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
        }
        let dir = tempfile::tempdir().expect("tempdir");
        for kind in mapped_kinds() {
            let error = create(&dir.path().join("a"), 4 << 20, kind, PoisonFlag::new()).err().expect("no space");
            assert!(matches!(error, RegionError::NoSpace { .. }), "{error}");
            assert!(is_empty(dir.path()));
        }
        return;
    }
    assert!(rerun("region::files::a_reservation_the_system_refuses_leaves_no_file", &[]).success());
}

#[test]
fn all_bytes_of_a_region_are_reserved_when_it_is_created() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in mapped_kinds() {
        let path = dir.path().join("a");
        let _region = region(&path, kind);
        let blocks = path.metadata().expect("exists").blocks();
        assert!(blocks * 512 >= CAPACITY, "{kind:?} has {blocks} blocks");
    }
}

#[test]
fn a_region_that_is_gone_is_no_longer_mapped() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in mapped_kinds() {
        let path = dir.path().join(format!("{kind:?}"));
        let is_mapped = || {
            let maps = std::fs::read_to_string("/proc/self/maps").expect("readable");
            maps.contains(path.to_str().expect("UTF-8"))
        };
        let dropped = region(&path, kind);
        assert!(is_mapped(), "{kind:?}");
        drop(dropped);
        assert!(!is_mapped(), "{kind:?}, dropped");
        let mut sealed = region(&path, kind);
        sealed.write(0, b"x").expect("write");
        sealed.seal(1).expect("seal");
        assert!(!is_mapped(), "{kind:?}, sealed");
    }
}

//! The promises of a directory, and settings that would break them.

use std::path::Path;
use std::time::{Duration, Instant};

use pmem_store::region::{Mode, RegionError, RegionKind, detect_mode, refuse_forced_pmem};

use super::{has_libpmem, is_empty, kinds, region, write_and_seal};
use crate::child::{in_child, rerun};

#[test]
fn finding_the_mode_leaves_nothing_behind() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in kinds() {
        let mode = detect_mode(dir.path(), kind).expect("detect");
        assert!(is_empty(dir.path()));
        if kind != RegionKind::Simulated {
            assert_eq!(mode, region(&dir.path().join("a"), kind).mode(), "{kind:?}");
        }
    }
    let fastest = (0..5).map(|_| {
        let started = Instant::now();
        detect_mode(dir.path(), RegionKind::Auto).expect("detect");
        started.elapsed()
    });
    assert!(fastest.min() < Some(Duration::from_millis(5)));
    assert!(matches!(detect_mode(&dir.path().join("absent"), RegionKind::Auto), Err(RegionError::FileSystem { .. })));
}

#[test]
fn a_file_system_in_memory_is_volatile() {
    let shm = Path::new("/dev/shm");
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    if !mounts.lines().any(|line| line.split(' ').nth(1) == Some("/dev/shm") && line.contains(" tmpfs ")) {
        return eprintln!("no tmpfs at /dev/shm here: not tested");
    }
    let dir = tempfile::tempdir_in(shm).expect("tempdir");
    for kind in kinds() {
        assert_eq!(detect_mode(dir.path(), kind).expect("detect"), Mode::Volatile);
        assert_eq!(region(&dir.path().join("a"), kind).mode(), Mode::Volatile);
    }
    assert_eq!(Mode::Volatile.to_string(), "volatile");
}

#[test]
fn an_environment_that_loses_data_is_refused() {
    let test = "region::mode::an_environment_that_loses_data_is_refused";
    if !in_child() {
        refuse_forced_pmem(false).expect("a clean environment");
        for (variable, value) in [("PMEM_IS_PMEM_FORCE", "1"), ("PMEM_NO_FLUSH", "1")] {
            assert!(rerun(test, &[(variable, value), ("QUIVER_TEST_REFUSED", "1")]).success());
        }
        return assert!(rerun(test, &[("PMEM_IS_PMEM_FORCE", "0")]).success());
    }
    let refused = refuse_forced_pmem(false);
    if std::env::var_os("QUIVER_TEST_REFUSED").is_none() {
        return refused.expect("0 is the safe value");
    }
    let message = refused.expect_err("unsafe").to_string();
    assert!(message.contains("PMEM_") && message.contains("=1, which loses acknowledged data"), "{message}");
    refuse_forced_pmem(true).expect("tests may");
}

/// It tests the code path of persistent memory, not its durability: that needs the hardware or a virtual
/// machine.
#[test]
fn the_dax_path_writes_the_same_bytes() {
    if !has_libpmem() {
        return;
    }
    if !in_child() {
        let status = rerun("region::mode::the_dax_path_writes_the_same_bytes", &[("PMEM_IS_PMEM_FORCE", "1")]);
        return assert!(status.success());
    }
    let dir = tempfile::tempdir().expect("tempdir");
    if detect_mode(dir.path(), RegionKind::Plain).expect("detect") == Mode::Msync {
        assert_eq!(detect_mode(dir.path(), RegionKind::Auto).expect("detect"), Mode::Dax);
        assert_eq!(region(&dir.path().join("a"), RegionKind::Libpmem).mode(), Mode::Dax);
    }
    let plain = write_and_seal(&dir.path().join("plain"), RegionKind::Plain);
    assert_eq!(write_and_seal(&dir.path().join("dax"), RegionKind::Libpmem), plain);
}

/// Other files under the library's name: one that is no library, and a library without these
/// functions.
#[test]
fn a_library_that_cannot_be_used_is_named_or_done_without() {
    let test = "region::mode::a_library_that_cannot_be_used_is_named_or_done_without";
    const REASON: &str = "QUIVER_TEST_REASON";
    let dir = tempfile::tempdir().expect("tempdir");
    if let Some(reason) = std::env::var_os(REASON).filter(|_| in_child()) {
        let error = detect_mode(dir.path(), RegionKind::Libpmem).expect_err("no libpmem");
        let reason = reason.to_str().expect("UTF-8");
        let is_named = matches!(error, RegionError::NoLibpmem { .. })
            && error.to_string().contains(reason)
            && error.to_string().contains("install it");
        assert!(is_named, "{error}");
        assert_ne!(detect_mode(dir.path(), RegionKind::Auto).expect("detect"), Mode::Dax);
        write_and_seal(&dir.path().join("auto"), RegionKind::Auto);
        return;
    }
    let library = dir.path().join("libpmem.so.1");
    let succeeds = |reason: &str| {
        let path = dir.path().to_str().expect("UTF-8");
        rerun(test, &[("LD_LIBRARY_PATH", path), (REASON, reason)]).success()
    };
    std::fs::write(&library, "no library").expect("write");
    assert!(succeeds("libpmem.so.1: file too short"));
    std::fs::remove_file(&library).expect("remove");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("readable");
    let libc =
        maps.lines().filter_map(|line| line.split_whitespace().last()).find(|path| path.contains("/libc.so") || path.contains("/libc-"));
    std::os::unix::fs::symlink(libc.expect("a libc"), &library).expect("link");
    assert!(succeeds("libpmem.so.1 has no pmem_map_file, so it is too old"));
}

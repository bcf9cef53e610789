//! Every kind of region: what is sealed is what was written, and what cannot be kept is refused.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pmem_store::region::simulated::{CrashLimits, Event, Trace};
use pmem_store::region::{
    Mode, PoisonFlag, Region, RegionError, RegionKind, create, detect_mode, refuse_forced_pmem,
    sync_directory,
};

use crate::fault::{in_child, rerun};

const CAPACITY: u64 = 100_000;

fn has_libpmem() -> bool {
    let found = !matches!(
        detect_mode(&std::env::temp_dir(), RegionKind::Libpmem),
        Err(RegionError::NoLibpmem { .. })
    );
    if !found {
        eprintln!("libpmem is not installed here: its part of the test did not run");
    }
    found
}

fn kinds() -> Vec<RegionKind> {
    let mut kinds = vec![RegionKind::Auto, RegionKind::Plain, RegionKind::Simulated];
    kinds.extend(has_libpmem().then_some(RegionKind::Libpmem));
    kinds
}

fn region(path: &Path, kind: RegionKind) -> Box<dyn Region> {
    create(path, CAPACITY, kind, PoisonFlag::new()).expect("create")
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).expect("readable").next().is_none()
}

/// Writes short and long runs, seals, and returns what is in the file.
fn write_and_seal(path: &Path, kind: RegionKind) -> Vec<u8> {
    let mut region = region(path, kind);
    let long: Vec<u8> = (0..50_000u32).map(|i| (i % 251) as u8).collect();
    region.write(0, b"QUIVER").expect("write");
    region.write(4096 + 3, &long).expect("write");
    region.flush(0, 60_000).expect("flush");
    region
        .publish_u64(64, 0x0102_0304_0506_0708)
        .expect("publish");
    region.flush(64, 8).expect("flush");
    assert_eq!(
        &region.as_slice()[4099..54_099],
        &long[..],
        "read back before sealing"
    );
    assert_eq!(region.capacity(), CAPACITY);
    region.seal(54_099).expect("seal");
    std::fs::read(path).expect("read")
}

fn seals_what_was_written(kind: RegionKind) {
    let dir = tempfile::tempdir().expect("tempdir");
    let sealed = write_and_seal(&dir.path().join("a"), kind);
    sync_directory(dir.path()).expect("sync");
    assert_eq!(sealed.len(), 54_099);
    assert_eq!(&sealed[..6], b"QUIVER");
    assert_eq!(sealed[64..72], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(sealed[4099 + 252], 1);
    assert!(sealed[72..4099].iter().all(|&byte| byte == 0));
}

#[test]
fn a_libpmem_region_seals_what_was_written() {
    if has_libpmem() {
        seals_what_was_written(RegionKind::Libpmem);
    }
}

#[test]
fn a_plain_region_seals_what_was_written() {
    seals_what_was_written(RegionKind::Plain);
}

#[test]
fn all_kinds_of_region_write_the_same_bytes() {
    let dir = tempfile::tempdir().expect("tempdir");
    let files = kinds().into_iter().enumerate();
    let files: Vec<_> = files
        .map(|(i, kind)| write_and_seal(&dir.path().join(i.to_string()), kind))
        .collect();
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_published_value_is_stored_little_endian() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in kinds() {
        let mut region = region(&dir.path().join("a"), kind);
        region.publish_u64(8, 1).expect("publish");
        assert_eq!(region.as_slice()[8..16], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert!(matches!(
            region.publish_u64(12, 1),
            Err(RegionError::Misaligned { offset: 12, .. })
        ));
    }
}

#[test]
fn writes_outside_the_capacity_are_refused() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in kinds() {
        let mut region = region(&dir.path().join("a"), kind);
        region.write(CAPACITY - 1, b"x").expect("the last byte");
        for offset in [CAPACITY, u64::MAX] {
            let error = region.write(offset, b"x").expect_err("outside");
            assert!(
                matches!(
                    error,
                    RegionError::OutOfBounds {
                        len: 1,
                        capacity: CAPACITY,
                        ..
                    }
                ),
                "{error}"
            );
            assert!(matches!(
                region.publish_u64(offset, 1),
                Err(RegionError::OutOfBounds { .. })
            ));
            assert!(matches!(
                region.flush(offset, 1),
                Err(RegionError::OutOfBounds { .. })
            ));
        }
        assert!(matches!(
            region.seal(CAPACITY + 1),
            Err(RegionError::OutOfBounds { .. })
        ));
    }
}

#[test]
fn a_region_can_be_written_by_another_thread_than_the_one_that_made_it() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in kinds() {
        let path = dir.path().join(format!("{kind:?}"));
        let mut region = region(&path, kind);
        let thread = std::thread::spawn(move || {
            region.write(0, b"elsewhere").expect("write");
            region.seal(9).expect("seal");
        });
        thread.join().expect("no panic");
        assert_eq!(std::fs::read(&path).expect("read"), b"elsewhere");
    }
}

#[test]
fn an_existing_file_is_never_reused() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("a");
    std::fs::write(&path, b"precious").expect("write");
    for kind in kinds() {
        let error = create(&path, CAPACITY, kind, PoisonFlag::new())
            .err()
            .expect("exists");
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
    for kind in kinds()
        .into_iter()
        .filter(|&kind| kind != RegionKind::Simulated)
    {
        for capacity in [1 << 50, u64::MAX] {
            let error = create(&dir.path().join("a"), capacity, kind, PoisonFlag::new())
                .err()
                .expect("no space");
            assert!(matches!(error, RegionError::NoSpace { .. }), "{error}");
            assert!(is_empty(dir.path()));
        }
    }
}

#[test]
fn a_reservation_the_system_refuses_leaves_no_file() {
    if in_child() {
        let limit = libc::rlimit {
            rlim_cur: 1 << 20,
            rlim_max: 1 << 20,
        };
        // SAFETY: valid arguments; only this child process is concerned.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
        }
        let dir = tempfile::tempdir().expect("tempdir");
        for kind in kinds()
            .into_iter()
            .filter(|&kind| kind != RegionKind::Simulated)
        {
            let error = create(&dir.path().join("a"), 4 << 20, kind, PoisonFlag::new())
                .err()
                .expect("no space");
            assert!(matches!(error, RegionError::NoSpace { .. }), "{error}");
            assert!(is_empty(dir.path()));
        }
        return;
    }
    assert!(
        rerun(
            "region::a_reservation_the_system_refuses_leaves_no_file",
            &[]
        )
        .success()
    );
}

#[test]
fn all_bytes_of_a_region_are_reserved_when_it_is_created() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in kinds()
        .into_iter()
        .filter(|&kind| kind != RegionKind::Simulated)
    {
        let path = dir.path().join("a");
        let _region = region(&path, kind);
        let blocks = path.metadata().expect("exists").blocks();
        assert!(blocks * 512 >= CAPACITY, "{kind:?} has {blocks} blocks");
    }
}

#[test]
fn a_failed_flush_stops_all_writing_of_the_store() {
    let dir = tempfile::tempdir().expect("tempdir");
    let poison = PoisonFlag::new();
    let new = |name: &str| {
        create(
            &dir.path().join(name),
            CAPACITY,
            RegionKind::Simulated,
            Arc::clone(&poison),
        )
    };
    let (mut failing, mut other) = (
        new("failing").expect("create"),
        new("other").expect("create"),
    );
    failing.write(0, b"x").expect("write");
    failing.trace().expect("simulated").fail_next_flush();
    let error = failing.flush(0, 1).expect_err("the disk failed");
    assert!(
        matches!(
            error,
            RegionError::Flush {
                offset: 0,
                len: 1,
                ..
            }
        ),
        "{error}"
    );

    let refused = |result: Result<(), RegionError>| {
        let error = result.expect_err("poisoned");
        assert!(
            matches!(error, RegionError::Poisoned { .. }) && error.to_string().contains("failing"),
            "{error}"
        );
    };
    refused(failing.flush(0, 1));
    refused(failing.write(0, b"x"));
    refused(other.write(0, b"x"));
    refused(other.publish_u64(0, 1));
    refused(other.flush(0, 1));
    refused(other.seal(1));
    refused(new("third").map(|_| ()));
    assert!(
        poison
            .reason()
            .is_some_and(|reason| reason.contains("failing"))
    );
}

#[test]
fn a_region_whose_file_was_truncated_is_refused_at_the_next_flush() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in kinds()
        .into_iter()
        .filter(|&kind| kind != RegionKind::Simulated)
    {
        let path = dir.path().join("a");
        let poison = PoisonFlag::new();
        let mut region = create(&path, CAPACITY, kind, Arc::clone(&poison)).expect("create");
        OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(0))
            .expect("truncate");
        region.write(0, &[1; 10_000]).expect("the process lives");
        let error = region
            .flush(0, 10_000)
            .expect_err("nothing of it is in the file");
        assert!(matches!(error, RegionError::Flush { .. }), "{error}");
        assert!(matches!(region.seal(1), Err(RegionError::Poisoned { .. })));
    }
}

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
    assert!(matches!(
        detect_mode(&dir.path().join("absent"), RegionKind::Auto),
        Err(RegionError::FileSystem { .. })
    ));
}

#[test]
fn a_file_system_in_memory_is_volatile() {
    let shm = Path::new("/dev/shm");
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    if !mounts
        .lines()
        .any(|line| line.split(' ').nth(1) == Some("/dev/shm") && line.contains(" tmpfs "))
    {
        return eprintln!("no tmpfs at /dev/shm here: not tested");
    }
    let dir = tempfile::tempdir_in(shm).expect("tempdir");
    for kind in kinds() {
        assert_eq!(
            detect_mode(dir.path(), kind).expect("detect"),
            Mode::Volatile
        );
        assert_eq!(region(&dir.path().join("a"), kind).mode(), Mode::Volatile);
    }
    assert_eq!(Mode::Volatile.to_string(), "volatile");
}

#[test]
fn an_environment_that_loses_data_is_refused() {
    let test = "region::an_environment_that_loses_data_is_refused";
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
    assert!(
        message.contains("PMEM_") && message.contains("=1, which loses acknowledged data"),
        "{message}"
    );
    refuse_forced_pmem(true).expect("tests may");
}

/// The code path of persistent memory, not its durability: that needs the hardware or a virtual
/// machine.
#[test]
fn the_dax_path_writes_the_same_bytes() {
    if !has_libpmem() {
        return;
    }
    if !in_child() {
        let status = rerun(
            "region::the_dax_path_writes_the_same_bytes",
            &[("PMEM_IS_PMEM_FORCE", "1")],
        );
        return assert!(status.success());
    }
    let dir = tempfile::tempdir().expect("tempdir");
    if detect_mode(dir.path(), RegionKind::Plain).expect("detect") == Mode::Msync {
        assert_eq!(
            detect_mode(dir.path(), RegionKind::Auto).expect("detect"),
            Mode::Dax
        );
        assert_eq!(
            region(&dir.path().join("a"), RegionKind::Libpmem).mode(),
            Mode::Dax
        );
    }
    let plain = write_and_seal(&dir.path().join("plain"), RegionKind::Plain);
    assert_eq!(
        write_and_seal(&dir.path().join("dax"), RegionKind::Libpmem),
        plain
    );
}

fn simulated(capacity: u64, workload: impl FnOnce(&mut dyn Region)) -> Trace {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("a");
    let mut region =
        create(&path, capacity, RegionKind::Simulated, PoisonFlag::new()).expect("create");
    workload(region.as_mut());
    region.trace().expect("simulated")
}

#[test]
fn crash_images_hold_all_that_was_flushed_and_any_part_of_the_rest() {
    let trace = simulated(32, |region| {
        region.write(0, &[1; 8]).expect("write");
        region.flush(0, 8).expect("flush");
        region.write(8, &[2; 16]).expect("write");
    });
    assert_eq!(trace.events().len(), 4);
    assert_eq!(trace.events()[2], Event::Fence);
    let images: Vec<_> = trace.crash_images_within(CrashLimits::default()).collect();
    let before: HashSet<_> = images
        .iter()
        .filter(|image| image.fences == 0)
        .map(|image| image.bytes[..24].to_vec())
        .collect();
    let after: HashSet<_> = images
        .iter()
        .filter(|image| image.fences == 1)
        .map(|image| image.bytes[..24].to_vec())
        .collect();
    let image = |parts: [u8; 3]| {
        parts
            .iter()
            .flat_map(|&byte| [byte; 8])
            .collect::<Vec<u8>>()
    };
    assert_eq!(before, HashSet::from([image([0, 0, 0]), image([1, 0, 0])]));
    let all = [[1, 0, 0], [1, 2, 0], [1, 0, 2], [1, 2, 2]].map(image);
    assert_eq!(after, HashSet::from(all));
}

#[test]
fn a_crash_image_may_hold_any_value_a_place_had_since_its_flush() {
    let trace = simulated(8, |region| {
        for value in 1..=3 {
            region.publish_u64(0, value).expect("publish");
        }
        region.flush(0, 8).expect("flush");
        region.publish_u64(0, 4).expect("publish");
    });
    let values: Vec<u8> = trace.crash_images().map(|image| image[0]).collect();
    assert_eq!(values, [0, 3, 2, 1, 3, 4]);
}

#[test]
fn a_flush_of_other_bytes_promises_nothing() {
    let trace = simulated(16, |region| {
        region.write(0, &[1; 8]).expect("write");
        region.flush(8, 8).expect("flush");
        region.flush(0, 0).expect("flush");
    });
    let last: HashSet<u8> = trace
        .crash_images_within(CrashLimits::default())
        .filter(|image| image.fences == 2)
        .map(|image| image.bytes[0])
        .collect();
    assert_eq!(last, HashSet::from([0, 1]));
}

#[test]
fn crash_images_are_bounded_and_the_same_every_time() {
    let trace = simulated(10_001, |region| {
        for round in 0..20u8 {
            region.write(0, &[round; 10_001]).expect("write");
            region.flush(0, 10_001).expect("flush");
        }
    });
    for images_max in [0, 1, 2, 7, 41, 42, 300] {
        let limits = CrashLimits {
            seed: 7,
            images_max,
        };
        let images: Vec<_> = trace.crash_images_within(limits).collect();
        assert!(
            (1..=images_max.max(1)).contains(&images.len()),
            "{} of {images_max}",
            images.len()
        );
        assert!(images.iter().all(|image| image.bytes.len() == 10_001));
        assert_eq!(images.last().map(|image| image.fences), Some(20));
        assert!(trace.crash_images_within(limits).eq(images));
    }
}

/// The order every commit of a store relies on: what a published value announces is there wherever
/// the value is.
#[test]
fn what_is_flushed_before_it_is_announced_is_never_missing() {
    let workload = |flush_first: bool| {
        simulated(128, |region| {
            region.write(8, &[9; 100]).expect("write");
            if flush_first {
                region.flush(8, 100).expect("flush");
            }
            region.publish_u64(0, 1).expect("publish");
            region.flush(0, 128).expect("flush");
        })
    };
    let broken = |trace: Trace| {
        trace
            .crash_images()
            .any(|image| image[0] == 1 && image[8..108] != [9; 100])
    };
    assert!(!broken(workload(true)));
    assert!(
        broken(workload(false)),
        "the simulation notices the missing flush"
    );
}

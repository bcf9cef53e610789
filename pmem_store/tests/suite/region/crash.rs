//! What a loss of power may leave of a region, according to the simulation.

use std::collections::HashSet;

use pmem_store::region::simulated::{CrashLimits, Event, Trace};
use pmem_store::region::{PoisonFlag, Region, RegionKind, create};

fn simulated(capacity: u64, workload: impl FnOnce(&mut dyn Region)) -> Trace {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("a");
    let mut region = create(&path, capacity, RegionKind::Simulated, PoisonFlag::new()).expect("create");
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
    let before: HashSet<_> = images.iter().filter(|image| image.fences == 0).map(|image| image.bytes[..24].to_vec()).collect();
    let after: HashSet<_> = images.iter().filter(|image| image.fences == 1).map(|image| image.bytes[..24].to_vec()).collect();
    let image = |parts: [u8; 3]| parts.iter().flat_map(|&byte| [byte; 8]).collect::<Vec<u8>>();
    assert_eq!(before, HashSet::from([image([0, 0, 0]), image([1, 0, 0])]));
    let all = [[1, 0, 0], [1, 2, 0], [1, 0, 2], [1, 2, 2]].map(image);
    assert_eq!(after, HashSet::from(all));
}

#[test]
fn bytes_made_in_place_may_be_lost_until_they_are_flushed() {
    let trace_of = |is_flushed: bool| {
        simulated(256, |region| {
            region.write_with(64, 8, &mut |bytes| bytes.fill(7)).expect("in range");
            if is_flushed {
                region.flush(64, 8).expect("flush");
            }
        })
    };
    let has_all = |image: &Vec<u8>| image[64..72] == [7; 8];
    assert!(trace_of(false).crash_images().any(|image| !has_all(&image)));
    let images: Vec<Vec<u8>> = trace_of(true).crash_images().collect();
    assert!(images.last().is_some_and(has_all));
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
    let last: HashSet<u8> =
        trace.crash_images_within(CrashLimits::default()).filter(|image| image.fences == 2).map(|image| image.bytes[0]).collect();
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
        let limits = CrashLimits { seed: 7, images_max };
        let images: Vec<_> = trace.crash_images_within(limits).collect();
        assert!((1..=images_max.max(1)).contains(&images.len()), "{} of {images_max}", images.len());
        assert!(images.iter().all(|image| image.bytes.len() == 10_001));
        assert_eq!(images.last().map(|image| image.fences), Some(20));
        assert!(trace.crash_images_within(limits).eq(images));
    }
}

/// Every commit of a store relies on this order: what a published value announces is there whenever
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
    let broken = |trace: Trace| trace.crash_images().any(|image| image[0] == 1 && image[8..108] != [9; 100]);
    assert!(!broken(workload(true)));
    assert!(broken(workload(false)), "the simulation notices the missing flush");
}

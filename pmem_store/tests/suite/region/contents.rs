//! Every kind of region seals what was written, from any thread.

use pmem_store::region::{RegionError, RegionKind};

use super::{CAPACITY, has_libpmem, kinds, region, write_and_seal};

fn seals_what_was_written(kind: RegionKind) {
    let dir = tempfile::tempdir().expect("tempdir");
    let sealed = write_and_seal(&dir.path().join("a"), kind);
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
    let files: Vec<_> = files.map(|(i, kind)| write_and_seal(&dir.path().join(i.to_string()), kind)).collect();
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn bytes_made_in_place_are_sealed_as_written_ones() {
    let dir = tempfile::tempdir().expect("tempdir");
    for (number, kind) in kinds().into_iter().enumerate() {
        let path = dir.path().join(number.to_string());
        let mut region = region(&path, kind);
        region.write(0, &[1; 300]).expect("write");
        region.write_with(100, 100, &mut |bytes| bytes[10..].fill(2)).expect("in range");
        let mut is_called = false;
        let outside = region.write_with(CAPACITY - 1, 2, &mut |_| is_called = true).expect_err("outside");
        assert!(matches!(outside, RegionError::OutOfBounds { .. }) && !is_called, "{outside}");
        region.seal(300).expect("seal");
        let sealed = std::fs::read(&path).expect("read");
        let expected = [[1; 110].as_slice(), &[2; 90], &[1; 100]].concat();
        assert_eq!(sealed, expected, "{kind:?}");
    }
}

#[test]
fn a_published_value_is_stored_little_endian() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in kinds() {
        let mut region = region(&dir.path().join("a"), kind);
        region.publish_u64(8, 1).expect("publish");
        assert_eq!(region.as_slice()[8..16], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert!(matches!(region.publish_u64(12, 1), Err(RegionError::Misaligned { offset: 12, .. })));
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
            assert!(matches!(error, RegionError::OutOfBounds { len: 1, capacity: CAPACITY, .. }), "{error}");
            assert!(matches!(region.publish_u64(offset, 1), Err(RegionError::OutOfBounds { .. })));
            assert!(matches!(region.flush(offset, 1), Err(RegionError::OutOfBounds { .. })));
        }
        assert!(matches!(region.seal(CAPACITY + 1), Err(RegionError::OutOfBounds { .. })));
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

//! Nothing is written after a flush has failed.

use std::fs::OpenOptions;
use std::sync::Arc;

use pmem_store::region::{PoisonFlag, RegionError, RegionKind, create};

use super::{CAPACITY, mapped_kinds};

#[test]
fn a_failed_flush_stops_all_writing_of_the_store() {
    let dir = tempfile::tempdir().expect("tempdir");
    let poison = PoisonFlag::new();
    let new = |name: &str| create(&dir.path().join(name), CAPACITY, RegionKind::Simulated, Arc::clone(&poison));
    let (mut failing, mut other) = (new("failing").expect("create"), new("other").expect("create"));
    failing.write(0, b"x").expect("write");
    failing.trace().expect("simulated").fail_next_flush();
    let error = failing.flush(0, 1).expect_err("the disk failed");
    assert!(matches!(error, RegionError::Flush { offset: 0, len: 1, .. }), "{error}");

    let refused = |result: Result<(), RegionError>| {
        let error = result.expect_err("poisoned");
        assert!(matches!(error, RegionError::Poisoned { .. }) && error.to_string().contains("failing"), "{error}");
        assert_eq!(error.to_string().matches("open the store again").count(), 1, "{error}");
    };
    refused(failing.flush(0, 1));
    refused(failing.write(0, b"x"));
    refused(other.write(0, b"x"));
    refused(other.publish_u64(0, 1));
    refused(other.flush(0, 1));
    refused(other.seal(1));
    refused(new("third").map(|_| ()));
    assert!(poison.reason().is_some_and(|reason| reason.contains("failing")));
}

#[test]
fn a_region_whose_file_was_truncated_is_refused_at_the_next_flush() {
    let dir = tempfile::tempdir().expect("tempdir");
    for kind in mapped_kinds() {
        let path = dir.path().join("a");
        let poison = PoisonFlag::new();
        let mut region = create(&path, CAPACITY, kind, Arc::clone(&poison)).expect("create");
        OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(0)).expect("truncate");
        region.write(0, &[1; 10_000]).expect("the process lives");
        let error = region.flush(0, 10_000).expect_err("nothing of it is in the file");
        assert!(matches!(error, RegionError::Flush { .. }), "{error}");
        assert!(matches!(region.seal(1), Err(RegionError::Poisoned { .. })));
    }
}
